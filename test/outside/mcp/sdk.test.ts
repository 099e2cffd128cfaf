import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { until } from "../../program.ts"
import { connect1, connect2, type OfficialClient } from "./clients.ts"
import { type EverythingServer, everythingStdio, httpTarget, startEverything } from "./everything.ts"
import { startFixture } from "./fixture-http.ts"
import { type RelayServer, startRelay } from "./relay-server.ts"

const firstText = (result: Readonly<Record<string, unknown>>) =>
  (result["content"] as ReadonlyArray<{ readonly text?: string }>)[0]?.text ?? ""

let everything: EverythingServer
beforeAll(async () => {
  everything = await startEverything()
})
afterAll(() => everything.close())

const clients = { "SDK 1.x": connect1, "client 2.x": connect2 }
const federations = {
  "one target over stdio": { targets: () => [everythingStdio("one")], prefix: "", uri: "" },
  "one target over HTTP": { targets: () => [httpTarget("one", everything.port)], prefix: "", uri: "" },
  "two targets, over stdio and HTTP": {
    targets: () => [everythingStdio("one"), httpTarget("two", everything.port)],
    prefix: "two_",
    uri: "two+"
  }
}

for (const [clientName, connect] of Object.entries(clients))
  for (const [federationName, { targets, prefix, uri }] of Object.entries(federations))
    describe(`${clientName} with ${federationName}`, () => {
      let relay: RelayServer
      let client: OfficialClient
      beforeAll(async () => {
        relay = await startRelay({ targets: targets() })
        client = await connect(relay.url)
      })
      afterAll(async () => {
        await client.close()
        await relay.close()
      })

      it("finds the server and its items", async () => {
        assert.strictEqual(client.serverName(), prefix === "" ? "mcp-servers/everything" : "headgate")
        assert.isString(client.sessionId())
        assert.isDefined(client.capabilities()?.["logging"])
        // Tools that need the client's help are offered only if the server heard of its capabilities.
        await until("the roots", () => client.asked.includes("roots/list"))
        const names = (await client.listTools()).tools.map(({ name }) => name)
        for (const name of [
          "echo",
          "get-sum",
          "trigger-sampling-request",
          "trigger-elicitation-request",
          "get-roots-list"
        ])
          assert.include(names, `${prefix}${name}`)
        assert.include(
          (await client.listPrompts()).prompts.map(({ name }) => name),
          `${prefix}simple-prompt`
        )
        assert.strictEqual(new Set(names).size, names.length)
      })

      it("calls tools, with progress", async () => {
        assert.strictEqual(firstText(await client.callTool(`${prefix}echo`, { message: "hällo" })), "Echo: hällo")
        const progress: Array<number> = []
        const slow = await client.callTool(
          `${prefix}trigger-long-running-operation`,
          { duration: 0.4, steps: 4 },
          (step) => progress.push(step)
        )
        assert.match(firstText(slow), /completed/)
        assert.deepStrictEqual(progress, [1, 2, 3, 4])
      })

      it("calls side by side without mixing answers", async () => {
        const sums = await Promise.all(
          Array.from({ length: 20 }, (_, a) => client.callTool(`${prefix}get-sum`, { a, b: 1000 }))
        )
        for (const [a, sum] of sums.entries()) assert.include(firstText(sum), String(a + 1000))
      })

      it("is asked by the server: sampling, elicitation", async () => {
        const sampling = await client.callTool(`${prefix}trigger-sampling-request`, { prompt: "p", maxTokens: 10 })
        assert.include(JSON.stringify(sampling), "sampled")
        const elicitation = await client.callTool(`${prefix}trigger-elicitation-request`, {})
        assert.include(JSON.stringify(elicitation), "Ada")
        assert.includeMembers([...client.asked], ["sampling/createMessage", "elicitation/create"])
      })

      it("reads resources, and hears of their changes", async () => {
        const { resources } = await client.listResources()
        const own = resources.find((resource) => resource.uri.startsWith(`${uri}demo:`))!
        const { contents } = await client.readResource(own.uri)
        assert.strictEqual(contents[0]?.uri, own.uri)
        await client.subscribe(own.uri)
        await client.callTool(`${prefix}toggle-subscriber-updates`, {})
        await until("an update", () => client.updates.includes(own.uri))
        await client.callTool(`${prefix}toggle-subscriber-updates`, {})
      })

      it("gets prompts and completions", async () => {
        const { messages } = await client.getPrompt(`${prefix}args-prompt`, { city: "Ulm" })
        assert.include(JSON.stringify(messages), "Ulm")
        assert.include(await client.complete(`${prefix}completable-prompt`, "department", "E"), "Engineering")
      })

      it("sets the log level and gets the log, and everyone is alive", async () => {
        await client.ping()
        await client.setLogLevel("debug")
        await client.callTool(`${prefix}toggle-simulated-logging`, {})
        await until("a log message", () => client.logs.length > 0)
        await client.callTool(`${prefix}toggle-simulated-logging`, {})
      })

      it("ends its session", async () => {
        assert.strictEqual(relay.relay.sessions(), 1)
        await client.terminate()
        assert.strictEqual(relay.relay.sessions(), 0)
        assert.deepStrictEqual(relay.warnings, [])
      })
    })

describe("the transport of 2024-11-05", () => {
  it("serves an old client, in front of new and old targets", async () => {
    const fixture = await startFixture()
    const relay = await startRelay({
      targets: [everythingStdio("one"), httpTarget("two", everything.port), httpTarget("three", fixture.port, "sse")]
    })
    const client = new Client({ name: "old", version: "1" }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }))
    await client.connect(new SSEClientTransport(new URL("/sse", relay.url)))
    for (const prefix of ["one", "two"]) {
      const echo = await client.callTool({ name: `${prefix}_echo`, arguments: { message: "x" } })
      assert.strictEqual(firstText(echo), "Echo: x")
    }
    const asked = await client.callTool({ name: "three_test_elicitation", arguments: { message: "?" } })
    assert.include(firstText(asked), "Ada")
    assert.strictEqual(relay.relay.sessions(), 1)
    await client.close()
    await until("the end of the session", () => relay.relay.sessions() === 0)
    await relay.close()
    await fixture.close()
  })
})

describe("a relayed server is the server itself", () => {
  it("lists, calls and errors are equal, directly and through the relay", async () => {
    const relay = await startRelay({ targets: [httpTarget("one", everything.port)] })
    const direct = await connect1(new URL(`http://127.0.0.1:${everything.port}/mcp`))
    const relayed = await connect1(relay.url)
    const both = [direct, relayed] as const
    for (const client of both) await until("the roots", () => client.asked.includes("roots/list"))
    const table: ReadonlyArray<(client: OfficialClient) => Promise<unknown>> = [
      (client) => Promise.resolve(client.capabilities()),
      (client) => client.listTools(),
      (client) => client.listPrompts(),
      (client) => client.listResources(),
      (client) => client.callTool("get-structured-content", { location: "Chicago" }),
      (client) => client.callTool("get-tiny-image", {}),
      (client: OfficialClient) =>
        client.callTool("get-annotated-message", { messageType: "success", includeImage: true }),
      (client) => client.callTool("no-such-tool", {}).catch((error: unknown) => String(error)),
      (client) => client.readResource("demo://nothing").catch((error: unknown) => String(error))
    ]
    for (const what of table) {
      const [one, two] = await Promise.all(both.map(what))
      assert.deepStrictEqual(two, one)
    }
    for (const client of both) await client.close()
    await relay.close()
  })

  it("an error of the relay is an MCP error for the client, not a broken connection", async () => {
    const relay = await startRelay(
      { targets: [httpTarget("one", everything.port)] },
      { authorize: ({ name }) => name !== "echo" }
    )
    for (const connect of [connect1, connect2]) {
      const client = await connect(relay.url)
      assert.notInclude(
        (await client.listTools()).tools.map(({ name }) => name),
        "echo"
      )
      const denied = await client.callTool("echo", { message: "x" }).then(
        () => undefined,
        (error: { readonly code?: number; readonly message: string }) => error
      )
      assert.strictEqual(denied?.code, -32602)
      assert.include(denied?.message, "Unknown tool: echo")
      await client.close()
    }
    await relay.close()
  })
})
