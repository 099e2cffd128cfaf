import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { connect1, connect2 } from "./outside/mcp/clients.ts"
import { type Program, shell, startQuickstart } from "./program.ts"

describe("the quickstart", () => {
  let program: Program
  beforeAll(async () => {
    program = await startQuickstart()
  })
  afterAll(() => program[Symbol.asyncDispose]())

  it("says which file it runs, and where it listens", () => {
    const printed = program.printed()
    assert.match(printed, /\tloaded config from examples\/quickstart\/config\.yaml\n/)
    assert.match(printed, /\tstarted bind bind=bind\/3000 address=\S+:3000\n/)
    assert.match(printed, /\tserving admin interface at http:\/\/localhost:15000\n/)
    assert.match(printed, /\tlistener established address=\S+:15020 component=stats\n/)
    assert.match(printed, /\tlistener established address=\S+:15021 component=readiness\n/)
  })

  it("prints two commands that work", async () => {
    const commands = [...program.printed().matchAll(/\ttry: (.*)\n/g)].map(([, command]) => command!)
    assert.strictEqual(commands.length, 2)
    const [chat, initialize] = await Promise.all(commands.map((command) => shell(`${command} --silent --fail`)))
    assert.strictEqual(chat!.code, 0, chat!.output)
    const completion = JSON.parse(chat!.output)
    assert.strictEqual(completion.object, "chat.completion")
    assert.isNotEmpty(completion.choices[0].message.content)
    assert.strictEqual(initialize!.code, 0, initialize!.output)
    assert.match(initialize!.output, /^event: message\ndata: .*"name":"mcp-servers\/everything"/)
  })

  it("serves the OpenAI client, streamed too, and counts what it uses", async () => {
    const client = new OpenAI({ baseURL: "http://localhost:3000/v1", apiKey: "quickstart-key", maxRetries: 0 })
    const stream = await client.chat.completions.create({
      model: "demo",
      messages: [{ role: "user", content: "Hello" }],
      stream: true,
      stream_options: { include_usage: true }
    })
    let text = ""
    let total = 0
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ""
      total = chunk.usage?.total_tokens ?? total
    }
    assert.isNotEmpty(text)
    assert.isAbove(total, 0)
    const { response } = await client.chat.completions
      .create({ model: "demo", messages: [{ role: "user", content: "Hello" }] })
      .withResponse()
    assert.isBelow(Number(response.headers.get("x-ratelimit-remaining")), 60)
    assert.isDefined((await client.models.list()).data)
  })

  it("listens on this machine alone", async () => {
    const addresses = [...program.printed().matchAll(/\baddress=(\S+)/g)].flatMap(([, shown]) => shown!.split(","))
    assert.isAtLeast(addresses.length, 4)
    for (const address of addresses) assert.match(address, /^(?:127\.0\.0\.1|\[::1\]|localhost):\d+$/)
  })

  it("refuses tools to whoever has no key", async () => {
    const refusal = await connect1(new URL("http://localhost:3000/mcp")).catch((error) => error)
    assert.match(String(refusal), /401|no API key/i)
  })

  it("refuses models to whoever has no key", async () => {
    const client = new OpenAI({ baseURL: "http://localhost:3000/v1", apiKey: "wrong", maxRetries: 0 })
    const refusal = await client.chat.completions
      .create({ model: "demo", messages: [{ role: "user", content: "Hello" }] })
      .catch((error) => error)
    assert.instanceOf(refusal, OpenAI.AuthenticationError)
  })

  it.each([
    ["1.x", connect1],
    ["2.x", connect2]
  ] as const)("serves the MCP client %s, without the tool that its rule hides", async (_, connect) => {
    const client = await connect(new URL("http://localhost:3000/mcp"), "quickstart-key")
    const names = (await client.listTools()).tools.map(({ name }) => name)
    assert.include(names, "echo")
    assert.notInclude(names, "get-env")
    assert.deepInclude(await client.callTool("echo", { message: "hello" }), {
      content: [{ type: "text", text: "Echo: hello" }]
    })
    const refusal = await client.callTool("get-env", {}).catch((error) => error)
    assert.match(String(refusal), /get-env/)
    await client.close()
  })

  it("ends when it is interrupted, and leaves no process behind", async () => {
    program.signal("SIGINT")
    await program.ended
    assert.include(program.printed(), "shutting down")
    // A signal of 0 asks whether anybody is left in the group.
    assert.throws(() => process.kill(-program.child.pid!, 0), /ESRCH/)
  })
})
