/** The time limits of a route before MCP servers: what a client is told of a call that hangs, and what its target is. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { connect1, connect2 } from "./outside/mcp/clients.ts"
import { startHanging } from "./outside/mcp/fixture-hanging.ts"
import { root, until } from "./program.ts"

const hanging = Effect.acquireRelease(Effect.promise(startHanging), ({ close }) => Effect.promise(close))

const overHttp = (port: number) => `{ name: t, mcp: { host: "http://127.0.0.1:${port}/mcp" } }`
const overStdio = `{ name: t, stdio: { cmd: "${process.execPath}", args: ["${join(root, "test/outside/mcp/fixture-hanging.ts")}"] } }`

/** Only what hangs goes through the limit: everything else may take as long as the machine needs. */
const configuration = (target: string, timeout: string) => `
gateways: { default: { port: 8080 } }
backends: [{ name: tools, mcp: { targets: [${target}] } }]
routes:
- { name: limited, matches: [{ path: { pathPrefix: /limited } }], policies: { timeout: ${timeout} }, backends: [{ backend: /tools }] }
- { name: free, backends: [{ backend: /tools }] }
`

const started = (text: string, lines: Array<string>) =>
  Effect.map(start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) }), (gateway) => ({
    gateway,
    port: gateway.port(8080)!
  }))

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const post = (port: number, path: string, session: string | undefined, message: object) =>
  send(port, {
    method: "POST",
    path,
    headers: session === undefined ? headers : { ...headers, "mcp-session-id": session },
    body: JSON.stringify({ jsonrpc: "2.0", ...message })
  })

const initialize = async (port: number): Promise<string> => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  const answer = await post(port, "/free", undefined, { id: 0, method: "initialize", params })
  return String(answer.headers["mcp-session-id"])
}

const tool = (id: unknown, name: string) => ({ id, method: "tools/call", params: { name, arguments: {} } })

const limits = [
  { timeout: "{ requestTimeout: 100ms }", message: "request timeout" },
  { timeout: "{ requestTimeout: 1h, backendRequestTimeout: 100ms }", message: "upstream call timeout" }
]

for (const { timeout, message } of limits)
  for (const kind of ["stdio", "HTTP"] as const)
    describe(`a call of a target over ${kind} that hangs, with timeout: ${timeout}`, () => {
      it.live("fails in JSON-RPC, is cancelled at the target, and leaves the session usable", () =>
        Effect.gen(function* () {
          const lines: Array<string> = []
          const server = yield* hanging
          const { port } = yield* started(
            configuration(kind === "stdio" ? overStdio : overHttp(server.port), timeout),
            lines
          )
          yield* Effect.promise(async () => {
            const session = await initialize(port)
            const answer = await post(port, "/limited", session, tool("call-7", "hang"))
            assert.strictEqual(answer.status, 504)
            assert.strictEqual(answer.headers["content-type"], "application/json")
            assert.deepStrictEqual(JSON.parse(answer.body), {
              jsonrpc: "2.0",
              id: "call-7",
              error: { code: -32603, message }
            })
            const cancelled = `"call-7" cancelled: ${message}`
            const told = () => (kind === "HTTP" ? server.told : lines.map((line) => line.split("\t").at(-1)!))
            await until("the cancellation", () => told().some((line) => line.startsWith(cancelled)))
            if (kind === "HTTP") await until("the end of the stream", () => server.told.includes("closed"))
            const after = await post(port, "/free", session, tool("call-7", "answer"))
            assert.strictEqual(after.status, 200)
            assert.include(after.body, "here I am")
            const line = lines.find((one) => one.includes("http.status=504"))
            assert.include(line, "mcp.error.code=-32603")
            assert.match(line ?? "", new RegExp(`error="${message}" reason=Timeout`))
          })
        })
      )
    })

for (const [name, connect] of Object.entries({ "SDK 1.x": connect1, "client 2.x": connect2 }))
  describe(`the official client (${name}) of a route with a time limit`, () => {
    it.live("hears of the limit, and goes on", () =>
      Effect.gen(function* () {
        const server = yield* hanging
        const { port } = yield* started(configuration(overHttp(server.port), "{ requestTimeout: 2s }"), [])
        yield* Effect.promise(async () => {
          const client = await connect(new URL(`http://127.0.0.1:${port}/limited`))
          const told = await client.callTool("hang", {}).then(
            () => "nothing",
            (error: unknown) => String(error)
          )
          assert.include(told, "request timeout")
          await until("the cancellation", () => server.told.some((line) => line.includes("cancelled: request timeout")))
          const after = await client.callTool("answer", {})
          assert.deepStrictEqual(after["content"], [{ type: "text", text: "here I am" }])
          await client.close()
        })
      })
    )
  })
