/** An HTTP interface behind the proxy, called by the official clients as if it were an MCP server. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { type OriginRequest, origin } from "./origin.ts"
import { connect1, connect2 } from "./outside/mcp/clients.ts"
import { everythingStdio } from "./outside/mcp/everything.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-openapi-"))
afterAll(() => rmSync(folder, { recursive: true }))

const file = join(folder, "pets.yaml")
writeFileSync(
  file,
  `
openapi: 3.0.0
info: { title: Pets, version: "1" }
servers: [{ url: /api }]
paths:
  /pets/{id}:
    get:
      operationId: get-pet
      summary: One pet
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: authorization, in: header, schema: { type: string } }
`
)

const answers = ({ path }: OriginRequest) =>
  path === "/api/pets/rex"
    ? { headers: { "content-type": "application/json" }, body: '{"name":"Rex"}' }
    : path === "/api/pets/boom"
      ? { status: 500, body: "out of pets" }
      : path === "/api/pets/cut"
        ? { closes: true }
        : { status: 404, body: "no such pet" }

const configuration = (port: number, more = "", settings = "") => `
mcp:
  port: 8080
  ${settings}
  targets:
  - { name: pets, openapi: { host: "127.0.0.1:${port}", schema: { file: "${file}" } } }
  ${more}
`

const started = (text: string) => start(text, { ephemeral: true, host: "127.0.0.1" })

describe("an HTTP interface as an MCP server", () => {
  for (const [generation, connect] of [
    ["SDK 1.x", connect1],
    ["client 2.x", connect2]
  ] as const)
    it.live(`${generation}: its operations are tools, and their answers results`, () =>
      Effect.gen(function* () {
        const pets = yield* origin(answers)
        const gateway = yield* started(configuration(pets.port))
        yield* Effect.promise(async () => {
          const client = await connect(new URL(`http://127.0.0.1:${gateway.port(8080)}/mcp`))
          assert.strictEqual(client.serverName(), "Pets")
          assert.deepStrictEqual(
            (await client.listTools()).tools.map(({ name }) => name),
            ["get-pet"]
          )
          const call = (id: string) => client.callTool("get-pet", { path: { id }, header: { authorization: "own" } })
          assert.deepInclude(await call("rex"), {
            content: [{ type: "text", text: '{"name":"Rex"}' }],
            structuredContent: { name: "Rex" }
          })
          assert.deepInclude(await call("tom"), {
            structuredContent: { code: 404, message: "no such pet" },
            isError: true
          })
          const failure = (id: string) => call(id).then(() => undefined, String)
          assert.match(
            (await failure("boom"))!,
            /Upstream API call for tool 'get-pet' failed with status 500: out of pets/
          )
          assert.match((await failure(".."))!, /a path parameter is \. or \.\./)
          assert.match((await failure("cut"))!, /upstream call failed/)
          await client.ping()
          await client.close()
        })
        const [first] = pets.received
        assert.deepStrictEqual(
          [first?.method, first?.path, first?.headers.accept, first?.headers.authorization],
          ["GET", "/api/pets/rex", "application/json", "own"]
        )
        assert.isUndefined(first?.headers["mcp-protocol-version"])
      })
    )

  it.live("stands beside other servers", () =>
    Effect.gen(function* () {
      const pets = yield* origin(answers)
      const other = everythingStdio("other")
      const { cmd, args } = (other as Extract<typeof other, { kind: "stdio" }>).command
      const gateway = yield* started(
        configuration(pets.port, `- { name: other, stdio: { cmd: "${cmd}", args: ${JSON.stringify(args)} } }`)
      )
      yield* Effect.promise(async () => {
        const client = await connect1(new URL(`http://127.0.0.1:${gateway.port(8080)}/mcp`))
        const names = (await client.listTools()).tools.map(({ name }) => name)
        assert.includeMembers(names, ["pets_get-pet", "other_echo"])
        await client.listPrompts()
        await client.listResources()
        await client.setLogLevel("debug")
        assert.include(JSON.stringify(await client.callTool("other_echo", { message: "hi" })), "Echo: hi")
        await client.callTool("pets_get-pet", { path: { id: "rex" } })
        await client.close()
      })
      assert.deepStrictEqual(
        pets.received.map(({ path }) => path),
        ["/api/pets/rex"]
      )
    })
  )

  it.live(
    "without sessions: one request to the interface for one call, with the client's own credential and not that of an argument",
    () =>
      Effect.gen(function* () {
        const pets = yield* origin(answers)
        const gateway = yield* started(configuration(pets.port, "", "statefulMode: stateless"))
        const params = { name: "get-pet", arguments: { path: { id: "rex" }, header: { authorization: "argument" } } }
        const { status, body } = yield* Effect.promise(() =>
          send(gateway.port(8080)!, {
            method: "POST",
            path: "/mcp",
            headers: {
              "content-type": "application/json",
              accept: "application/json, text/event-stream",
              authorization: "Bearer mine"
            },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
          })
        )
        assert.strictEqual(status, 200)
        assert.include(body, '"structuredContent":{"name":"Rex"}')
        assert.deepStrictEqual(
          pets.received.map(({ headers }) => headers.authorization),
          ["Bearer mine"]
        )
      })
  )

  it.effect("that cannot be read is told at the start, with its place", () =>
    Effect.gen(function* () {
      const text = (schema: string) =>
        `mcp: { port: 8080, targets: [{ name: p, openapi: { host: "h:1", schema: ${schema} } }] }`
      const table: ReadonlyArray<readonly [schema: string, problem: RegExp]> = [
        ["{ file: /nowhere/pets.yaml }", /mcp\.targets\[0\]\.openapi\.schema: cannot read \/nowhere\/pets\.yaml/],
        ['"openapi: 3.0.0\\npaths: [}"', /schema: the OpenAPI document is neither JSON nor YAML/],
        ['\'{"openapi":"3.0.0","paths":{"/x":{"get":{}}}}\'', /cannot be used: operation_id is required for \/x/],
        ["{ url: nowhere }", /schema\.url: expected an http or https URL/]
      ]
      for (const [schema, problem] of table) assert.match((yield* Effect.flip(started(text(schema)))).message, problem)
    })
  )
})
