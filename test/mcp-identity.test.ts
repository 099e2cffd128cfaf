/** MCP backends that differ in nothing but in the credentials that their servers are shown: none takes over the sessions of another. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createHttps } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { portOf } from "./http/edge.ts"
import { eventsIn } from "./mcp-rehearsal.ts"

const fixtures = join(import.meta.dirname, "http/fixtures/tls")
const pem = (name: string) => readFileSync(join(fixtures, name), "utf8")

/** A server with one tool, which tells in its sessions what it is shown: everything in which credentials of these tests stand. */
const telling = (secured: boolean) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const answer = async (request: IncomingMessage, response: ServerResponse) => {
        let text = ""
        for await (const chunk of request) text += chunk
        const { id, method } = text === "" ? {} : JSON.parse(text)
        if (id === undefined) return void response.writeHead(202).end()
        const { authorization, "x-own": own, "proxy-authorization": ofProxy } = request.headers
        const certificate = secured ? (request.socket as TLSSocket).getPeerCertificate().fingerprint256 : undefined
        const shown = JSON.stringify([authorization, own, ofProxy, request.url, certificate])
        const info = {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "t", version: "1" }
        }
        const result = method === "initialize" ? info : shown
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "of-the-server" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
      }
      const options = {
        cert: pem("server.pem"),
        key: pem("server.key"),
        ca: pem("authority.pem"),
        requestCert: true,
        rejectUnauthorized: true
      }
      const server = secured ? createHttps(options, answer) : createServer(answer)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return { port: portOf(server.address()), close: () => server.closeAllConnections() ?? server.close() }
    }),
    ({ close }) => Effect.sync(close)
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "mcp-identity-"))
    for (const number of [1, 2]) writeFileSync(join(path, `key-${number}`), `secret-${number}`)
    return path
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const post = (port: number, path: string, message: object, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(() =>
    send(port, {
      method: "POST",
      path,
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message })
    })
  )

/** Begins a session; its id. */
const begin = (port: number, path: string) =>
  Effect.gen(function* () {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
    const { status, headers, body } = yield* post(port, path, { method: "initialize", params })
    assert.strictEqual(status, 200, body)
    return String(headers["mcp-session-id"])
  })

/** What the server was shown for a call of a session; where there is no such session, the status. */
const shown = (port: number, path: string, session: string) =>
  Effect.gen(function* () {
    const message = { method: "tools/call", params: { name: "tell", arguments: {} } }
    const { status, body } = yield* post(port, path, message, { "mcp-session-id": session })
    return status === 200 ? String(eventsIn(body)[0]!["result"]) : status
  })

/** Where a backend says which credential it shows. */
interface Parts {
  /** Policies of its route. */
  readonly route?: string
  /** Policies of the reference to it. */
  readonly backend?: string
  /** Its server, if not by the address alone. */
  readonly server?: string
  /** Policies of its target. */
  readonly policies?: string
}

/** A way of showing credentials. */
interface Way {
  /** What it takes to show the first, and the second. */
  readonly parts: (number: 1 | 2, at: { readonly port: number; readonly folder: string }) => Parts
  /** What else stands in the file. */
  readonly rest?: (port: number) => string
  readonly secured?: true
}

const clients = { 1: "client", 2: "client-renewed" }

const ways: Readonly<Record<string, Way>> = {
  "a key of the target": { parts: (number) => ({ policies: `backendAuth: { key: secret-${number} }` }) },
  "a key of the target in a file": {
    parts: (number, { folder }) => ({
      policies: `backendAuth: { key: { file: "${join(folder, `key-${number}`)}" } }`
    })
  },
  "a further key of the target": {
    parts: (number) => ({
      policies: `backendAuth: { credentials: [{ location: { header: { name: x-own } }, key: secret-${number} }] }`
    })
  },
  "a header that is set at the target": {
    parts: (number) => ({ policies: `requestHeaderModifier: { set: { authorization: "Bearer secret-${number}" } }` })
  },
  "a parameter of the target's address": {
    parts: (number, { port }) => ({ server: `{ host: "http://127.0.0.1:${port}/mcp?token=secret-${number}" }` })
  },
  "a certificate of the target": {
    parts: (number, { port }) => ({
      server: `{ host: "https://127.0.0.1:${port}/mcp" }`,
      policies: certificate(number)
    }),
    secured: true
  },
  "a key for the proxy on the way to the target": {
    parts: (number, { port }) => ({
      server: `{ host: "http://127.0.0.1:1/mcp" }`,
      policies: `backendTunnel: { proxy: { host: "127.0.0.1:${port}" }, policies: { backendAuth: { key: secret-${number} } } }`
    })
  },
  "a key for a named proxy on the way to the target": {
    parts: (number) => ({
      server: `{ host: "http://127.0.0.1:1/mcp" }`,
      policies: `backendTunnel: { proxy: { backend: /named-${number} } }`
    }),
    rest: named
  },
  "a key of the backend that the target names": {
    parts: (number) => ({ server: `{ backend: /named-${number}, path: /mcp }` }),
    rest: named
  },
  "a key of the backend": { parts: (number) => ({ backend: `backendAuth: { key: secret-${number} }` }) },
  "a certificate of the backend": {
    parts: (number, { port }) => ({
      server: `{ host: "https://127.0.0.1:${port}/mcp" }`,
      backend: certificate(number)
    }),
    secured: true
  },
  "a key of the route": { parts: (number) => ({ route: `backendAuth: { key: secret-${number} }` }) },
  "a header that is set at the route": {
    parts: (number) => ({ route: `requestHeaderModifier: { set: { authorization: "Bearer secret-${number}" } }` })
  }
}

function certificate(number: 1 | 2) {
  const at = (name: string) => join(fixtures, name)
  const client = clients[number]
  return `backendTLS: { root: ${at("authority.pem")}, cert: ${at(`${client}.pem`)}, key: ${at(`${client}.key`)} }`
}

function named(port: number) {
  const backend = (number: number) =>
    `- { name: named-${number}, host: "127.0.0.1:${port}", policies: { backendAuth: { key: secret-${number} } } }`
  return `backends:\n${backend(1)}\n${backend(2)}`
}

const route = (path: string, { route = "", backend = "", server, policies = "" }: Parts, port: number) => `
- matches: [{ path: { pathPrefix: ${path} } }]
  policies: { ${route} }
  backends:
  - mcp: { targets: [{ name: t, mcp: ${server ?? `{ host: "http://127.0.0.1:${port}/mcp" }`}${policies === "" ? "" : `, policies: { ${policies} }`} }] }
    policies: { ${backend} }`

describe("a session whose server is shown a key in a file", () => {
  it.live("goes on when that is renewed, with the new one", () =>
    Effect.gen(function* () {
      const { port: server } = yield* telling(false)
      const file = join(yield* folder, "key-1")
      const policies = `backendAuth: { key: { file: "${file}" } }`
      const text = `gateways: { default: { port: 8080 } }\nroutes:${route("/", { policies }, server)}`
      const gateway = yield* start(text, { ephemeral: true, host: "127.0.0.1" })
      const port = gateway.port(8080)!
      const session = yield* begin(port, "/")
      assert.include(yield* shown(port, "/", session), "secret-1")
      writeFileSync(file, "renewed")
      yield* gateway.reload(text)
      assert.include(yield* shown(port, "/", session), "renewed")
    })
  )
})

describe("a session of one of two MCP backends that differ in", () => {
  it.live.each(Object.entries(ways))("%s is never served by the other", ([, way]) =>
    Effect.gen(function* () {
      const at = { port: (yield* telling(way.secured === true)).port, folder: yield* folder }
      const routes = (...backends: ReadonlyArray<readonly [path: string, number: 1 | 2]>) => `
gateways: { default: { port: 8080 } }
routes:${backends.map(([path, number]) => route(path, way.parts(number, at), at.port)).join("")}
${way.rest?.(at.port) ?? ""}`
      const gateway = yield* start(routes(["/one", 1], ["/two", 2]), { ephemeral: true, host: "127.0.0.1" })
      const port = gateway.port(8080)!
      const one = yield* begin(port, "/one")
      const two = yield* begin(port, "/two")
      const first = yield* shown(port, "/one", one)
      const second = yield* shown(port, "/two", two)
      assert.isString(first)
      assert.isString(second)
      assert.notStrictEqual(first, second)
      assert.strictEqual(yield* shown(port, "/two", one), 404)
      // In another order they are the same backends.
      yield* gateway.reload(routes(["/two", 2], ["/one", 1]))
      assert.deepStrictEqual([yield* shown(port, "/one", one), yield* shown(port, "/two", two)], [first, second])
      // Each other's credentials are other backends.
      yield* gateway.reload(routes(["/one", 2], ["/two", 1]))
      assert.deepStrictEqual([yield* shown(port, "/one", one), yield* shown(port, "/two", two)], [404, 404])
      yield* gateway.reload(routes(["/one", 1], ["/two", 2]))
      const again = yield* begin(port, "/one")
      assert.strictEqual(yield* shown(port, "/one", again), first)
      // The one that stays does not take the place of the other.
      yield* gateway.reload(routes(["/one", 2]))
      assert.strictEqual(yield* shown(port, "/one", again), 404)
    })
  )
})
