import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { until } from "../../program.ts"
import { everythingStdio, httpTarget } from "./everything.ts"
import { type ModernFixture, startModernFixture } from "./fixture-modern.ts"
import { startRelay } from "./relay-server.ts"

let fixtures: ReadonlyArray<ModernFixture> = []
beforeAll(async () => {
  fixtures = [await startModernFixture(), await startModernFixture()]
})
afterAll(async () => {
  for (const fixture of fixtures) await fixture.close()
})

const connect = async (url: URL, mode: "auto" | { pin: string }) => {
  const client = new Client(
    { name: "client", version: "1.0.0" },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode } }
  )
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }))
  const transport = new StreamableHTTPClientTransport(url)
  await client.connect(transport)
  return { client, transport }
}

const textOf = (result: { readonly content?: unknown }) =>
  (result.content as ReadonlyArray<{ readonly text: string }>)[0]?.text

for (const [name, count] of [
  ["one target", 1],
  ["two targets", 2]
] as const)
  for (const mode of ["auto", { pin: "2026-07-28" }] as const)
    describe(`revision 2026-07-28 with ${name}, ${typeof mode === "string" ? mode : "pinned"}`, () => {
      const prefix = count === 1 ? "" : "b_"
      const uri = count === 1 ? "test://note" : "b+test://note"
      const start = async () => {
        const targets = fixtures.slice(0, count).map(({ port }, index) => httpTarget("ab"[index]!, port))
        const relay = await startRelay({ targets })
        return { relay, ...(await connect(relay.url, mode)) }
      }
      const owner = () => fixtures[count - 1]!

      it("is discovered, and works without a session", async () => {
        const { relay, client, transport } = await start()
        assert.strictEqual(client.getProtocolEra(), "modern")
        assert.isUndefined(transport.sessionId)
        const names = (await client.listTools()).tools.map(({ name }) => name)
        assert.deepStrictEqual(names, count === 1 ? ["echo", "greet"] : ["a_echo", "a_greet", "b_echo", "b_greet"])
        assert.strictEqual(
          textOf(await client.callTool({ name: `${prefix}echo`, arguments: { message: "x" } })),
          "Echo: x"
        )
        assert.strictEqual(owner().seen.at(-1), "tools/call echo")
        const { contents } = await client.readResource({ uri })
        assert.strictEqual(contents[0]?.uri, uri)
        assert.strictEqual(relay.relay.sessions(), 0)
        await client.close()
        await relay.close()
      })

      it("asks the client by a result, and goes on with its answer", async () => {
        const { relay, client } = await start()
        assert.strictEqual(textOf(await client.callTool({ name: `${prefix}greet`, arguments: {} })), "Hello Ada")
        await client.close()
        await relay.close()
      })

      it("tells of changes to those who listen", async () => {
        const { relay, client } = await start()
        const heard: Array<string> = []
        client.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("tools"))
        client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri))
        const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
        for (const { toolsChanged } of fixtures.slice(0, count)) toolsChanged()
        owner().resourceUpdated("test://note")
        owner().resourceUpdated("test://other")
        await until("the changes", () => heard.length === count + 1)
        assert.deepStrictEqual(heard, [...Array.from({ length: count }, () => "tools"), uri])
        await subscription.close()
        await client.close()
        await relay.close()
      })
    })

describe("a client of both generations", () => {
  it("falls back to the handshake where a target knows nothing newer", async () => {
    const relay = await startRelay({ targets: [httpTarget("new", fixtures[0]!.port), everythingStdio("old")] })
    const { client, transport } = await connect(relay.url, "auto")
    assert.strictEqual(client.getProtocolEra(), "legacy")
    assert.isString(transport.sessionId)
    assert.strictEqual(textOf(await client.callTool({ name: "new_echo", arguments: { message: "x" } })), "Echo: x")
    assert.strictEqual(textOf(await client.callTool({ name: "old_echo", arguments: { message: "y" } })), "Echo: y")
    await client.close()
    await relay.close()
  })
})
