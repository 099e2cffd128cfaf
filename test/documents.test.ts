/** Documents at addresses with policies beside them: who is trusted, what is shown, by which way they come, and what a reload changes. */

import { readFileSync } from "node:fs"
import { createServer as createHttps } from "node:https"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { listening, proxy } from "./http/forward-proxy.ts"
import { eventually } from "./http/raw-client.ts"
import { origin } from "./origin.ts"
import { connect2 } from "./outside/mcp/clients.ts"
import { type KeyName, keySet, token } from "./tokens.ts"

const at = (name: string) => join(import.meta.dirname, "http/fixtures/tls", name)

const issuer = "https://issuer.example"
const bearer = (key: KeyName) => `Bearer ${token(key, { iss: issuer, exp: 4_102_444_800 })}`

const provider = (url: string, policies: string) =>
  `{ mode: strict, issuer: "${issuer}", jwks: { url: "${url}"${policies === "" ? "" : `, policies: ${policies}`} } }`

/** One route for each set of policies, by its number as a path. */
const configuration = (url: string, ...all: ReadonlyArray<string>) => `
gateways: { default: { port: 8080 } }
routes:${all
  .map(
    (policies, index) => `
- matches: [{ path: { exact: "/${index}" } }]
  policies: { jwtAuth: ${provider(url, policies)}, directResponse: { status: 200 } }`
  )
  .join("")}
`

const lines = () => {
  const said: Array<string> = []
  return { said, log: (line: string) => void said.push(line) }
}

const started = (text: string, log?: (line: string) => void) =>
  Effect.map(start(text, { ephemeral: true, host: "127.0.0.1", log }), (gateway) => {
    const ask = (path: string, key: KeyName = "rsa-1") =>
      Effect.promise(async () => {
        const { status } = await send(gateway.port(8080)!, { path, headers: { authorization: bearer(key) } })
        return status
      })
    return { gateway, ask }
  })

describe("a document at an address", () => {
  it.live("is fetched from a server that an authority of one's own vouches for, if its policies say so", () =>
    Effect.gen(function* () {
      const server = createHttps(
        { cert: readFileSync(at("server.pem")), key: readFileSync(at("server.key")) },
        (_, response) => response.end(keySet("rsa-1"))
      )
      const port = yield* listening(server)
      const { said, log } = lines()
      const trusting = `{ backendTLS: { root: "${at("authority.pem")}" } }`
      const { ask } = yield* started(configuration(`https://localhost:${port}/keys`, trusting, "", "{}"), log)
      assert.strictEqual(yield* ask("/0"), 200)
      assert.strictEqual(yield* ask("/1"), 503)
      assert.strictEqual(yield* ask("/2"), 503)
      assert.isTrue(said.some((line) => line.includes("key set not loaded") && line.includes("not trusted")))
    })
  )

  it.live("is shown the key that stands beside its address, and is another one for whoever shows another", () =>
    Effect.gen(function* () {
      // Whoever shows nothing, or something else, is told of other keys.
      const known: Readonly<Record<string, KeyName>> = { "Bearer one": "rsa-1", "Bearer two": "ec-256" }
      const server = yield* origin(({ headers }) => ({
        body: keySet(known[headers.authorization ?? ""] ?? "ed-1")
      }))
      const shows = (key: string) => `{ backendAuth: { key: ${key} }, requestHeaderModifier: { set: { x-a: b } } }`
      const { said, log } = lines()
      const { ask, gateway } = yield* started(
        configuration(`http://${server.address}/keys?of=all`, shows("one"), shows("two"), ""),
        log
      )
      const held = Effect.gen(function* () {
        const found: Array<string> = []
        for (const path of ["/0", "/1", "/2"])
          for (const key of ["rsa-1", "ec-256", "ed-1"] as const)
            if ((yield* ask(path, key)) === 200) found.push(`${path} ${key}`)
        return found
      })
      const each = ["/0 rsa-1", "/1 ec-256", "/2 ed-1"]
      assert.deepStrictEqual(yield* held, each)
      assert.deepStrictEqual(
        server.received.map(({ path, headers }) => [path, headers.authorization, headers["x-a"]]).sort(),
        [
          ["/keys?of=all", "Bearer one", "b"],
          ["/keys?of=all", "Bearer two", "b"],
          ["/keys?of=all", undefined, undefined]
        ].sort()
      )
      assert.deepStrictEqual(
        said.filter((line) => line.includes("one") && line.includes("key set")),
        []
      )

      // What stays is not fetched again, and what changed is fetched as the new configuration says.
      const before = server.received.length
      yield* gateway.reload(configuration(`http://${server.address}/keys?of=all`, shows("two"), shows("three"), ""))
      assert.deepStrictEqual(yield* held, ["/0 ec-256", "/1 ed-1", "/2 ed-1"])
      assert.deepStrictEqual(
        server.received.slice(before).map(({ headers }) => headers.authorization),
        ["Bearer three"]
      )
    })
  )

  it.live("is fetched through a proxy, which is shown its own key", () =>
    Effect.gen(function* () {
      const server = yield* origin({ body: keySet("rsa-1") })
      const through = yield* proxy({ authorization: "Bearer for-the-proxy" })
      const tunnel = (mode: string) =>
        `{ backendTunnel: { proxy: { backend: /out }, mode: ${mode} }, backendAuth: { key: for-the-issuer } }`
      const text = `${configuration(`http://${server.address}/keys`, tunnel("auto"), tunnel("connect"))}
backends:
- name: out
  host: "localhost:${through.port}"
  policies: { backendAuth: { key: for-the-proxy } }
`
      const { ask } = yield* started(text)
      assert.deepStrictEqual([yield* ask("/0"), yield* ask("/1")], [200, 200])
      assert.deepStrictEqual(through.lines().sort(), [`CONNECT ${server.address}`, `GET http://${server.address}/keys`])
      assert.deepStrictEqual(
        server.received.map(({ headers }) => headers.authorization),
        ["Bearer for-the-issuer", "Bearer for-the-issuer"]
      )
    })
  )

  it.live("stays as it is when its server takes too long for its policies", () =>
    Effect.gen(function* () {
      const { said, log } = lines()
      const server = yield* origin({ silent: true })
      const { ask } = yield* started(
        configuration(`http://${server.address}/keys`, "{ http: { requestTimeout: 50ms } }"),
        log
      )
      assert.strictEqual(yield* ask("/0"), 503)
      yield* Effect.promise(() => eventually(() => said.some((line) => line.includes("upstream call timeout"))))
    })
  )

  it.live("describes an interface, for those who may know", () =>
    Effect.gen(function* () {
      const described = (title: string) =>
        JSON.stringify({
          openapi: "3.0.0",
          info: { title, version: "1" },
          paths: { "/a": { get: { operationId: title } } }
        })
      const api = yield* httpBackend((request, response) =>
        response.end(described(request.headers.authorization === "Bearer of-the-house" ? "inside" : "outside"))
      )
      const port = portOf(api.address())
      const target = (name: string, policies: string) =>
        `{ name: ${name}, openapi: { host: "127.0.0.1:${port}", schema: { url: "http://127.0.0.1:${port}/openapi"${policies} } } }`
      const gateway = yield* start(
        `
mcp:
  port: 8080
  targets:
  - ${target("a", ", policies: { backendAuth: { key: of-the-house } }")}
  - ${target("b", "")}
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      yield* Effect.promise(async () => {
        const client = await connect2(new URL(`http://127.0.0.1:${gateway.port(8080)}/mcp`))
        const { tools } = await client.listTools()
        assert.deepStrictEqual(tools.map(({ name }) => name).sort(), ["a_inside", "b_outside"])
        await client.close()
      })
    })
  )
})
