import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { type OpenHeadgate, open } from "../src/main/library.ts"
import { connect1, connect2, type OfficialClient } from "./outside/mcp/clients.ts"
import { type EverythingServer, startEverything } from "./outside/mcp/everything.ts"

/** Two targets, and rules that tell them apart: everything of the one, a single tool of the other. */
const configuration = (port: number) => `
mcp:
  port: 3000
  targets:
    - name: local
      stdio:
        cmd: "${process.execPath}"
        args: [node_modules/@modelcontextprotocol/server-everything/dist/index.js]
    - name: remote
      mcp: { host: "http://127.0.0.1:${port}/mcp" }
  policies:
    mcpAuthorization:
      rules:
        - mcp.tool.target == "local"
        - mcp.tool.target == "remote" && mcp.tool.name == "get-sum"
        - mcp.prompt.target == "remote"
llm:
  port: 4000
  models: [{ name: "*", provider: mock }]
`

let everything: EverythingServer
let gateway: OpenHeadgate
beforeAll(async () => {
  everything = await startEverything()
  gateway = await open(configuration(everything.port), { ephemeral: true, host: "127.0.0.1" })
})
afterAll(async () => {
  await gateway.close()
  await everything.close()
})

for (const [name, connect] of Object.entries({ "SDK 1.x": connect1, "client 2.x": connect2 }))
  describe(`the MCP ${name} with two targets, over stdio and HTTP`, () => {
    let client: OfficialClient
    beforeAll(async () => {
      client = await connect(new URL(`http://127.0.0.1:${gateway.port(3000)}/mcp`))
    })
    afterAll(() => client.close())

    it("sees the names of both with their prefixes, as far as the rules allow", async () => {
      const tools = (await client.listTools()).tools.map((tool) => tool.name)
      assert.include(tools, "local_echo")
      assert.include(tools, "local_get-sum")
      assert.deepStrictEqual(
        tools.filter((tool) => tool.startsWith("remote_")),
        ["remote_get-sum"]
      )
      const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name)
      assert.isNotEmpty(prompts)
      assert.isTrue(prompts.every((prompt) => prompt.startsWith("remote_")))
    })

    it("calls what the rules allow on either target", async () => {
      assert.deepInclude(await client.callTool("local_echo", { message: "hello" }), {
        content: [{ type: "text", text: "Echo: hello" }]
      })
      const sum = await client.callTool("remote_get-sum", { a: 2, b: 3 })
      assert.match(JSON.stringify(sum["content"]), /\b5\b/)
    })

    it("is refused what they do not, as if it did not exist", async () => {
      const denied = await client.callTool("remote_echo", { message: "x" }).catch((error) => error)
      const unknown = await client.callTool("remote_nothing", {}).catch((error) => error)
      assert.instanceOf(denied, Error)
      assert.strictEqual(denied.message.replace("remote_echo", ""), unknown.message.replace("remote_nothing", ""))
      const prompt = await client.getPrompt("local_simple-prompt", {}).catch((error) => error)
      assert.instanceOf(prompt, Error)
    })
  })

describe("the OpenAI client with the built-in model", () => {
  const question = { model: "demo", messages: [{ role: "user" as const, content: "Hello" }] }
  const client = () =>
    new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port(4000)}/v1`, apiKey: "none", maxRetries: 0 })

  it("reads the same text streamed as whole", async () => {
    const whole = await client().chat.completions.create(question)
    const stream = client().chat.completions.stream({ ...question, stream_options: { include_usage: true } })
    const deltas: Array<string> = []
    stream.on("content", (delta) => deltas.push(delta))
    const streamed = await stream.finalChatCompletion()
    assert.isAbove(deltas.length, 1)
    assert.strictEqual(deltas.join(""), whole.choices[0]!.message.content)
    assert.strictEqual(streamed.choices[0]!.message.content, whole.choices[0]!.message.content)
    assert.deepStrictEqual(streamed.usage, whole.usage)
  })

  it("streams responses and makes embeddings", async () => {
    let text = ""
    for await (const event of await client().responses.create({ model: "demo", input: "Hello", stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta
      if (event.type === "response.completed") assert.strictEqual(event.response.output_text ?? text, text)
    }
    assert.isNotEmpty(text)
    const { data } = await client().embeddings.create({ model: "demo", input: ["a", "b"] })
    assert.strictEqual(data.length, 2)
    assert.isNotEmpty(data[0]!.embedding)
  })
})
