import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"
import { serving } from "../../../test/mcp-fake-target.ts"
import { listening, postHeaders, type Rehearsal, rehearse } from "../../../test/mcp-rehearsal.ts"
import type { McpRequest } from "./contract.ts"
import { rebindingMessage } from "./dns-rebinding.ts"

interface Case {
  readonly name: string
  readonly request?: { readonly method: string; readonly headers?: Record<string, string>; readonly body?: string }
  readonly post?: string
  readonly oversized?: true
  readonly headers?: Record<string, string>
  readonly session?: "live"
  readonly backend?: "stateful" | "stateless"
  readonly status: number
  readonly text?: string
  readonly id?: string | number
  readonly error?: unknown
}

const cases = parse(readFileSync(new URL("http-server.cases.yaml", import.meta.url), "utf8")) as ReadonlyArray<Case>

const target = () => serving("t", true, { "tools/list": { tools: [] }, ping: {} })

const bodyOf = ({ post, request, oversized }: Case): Uint8Array => {
  const text = post ?? request?.body ?? ""
  const padded = oversized === true ? text.replace("OVERSIZED", "x".repeat(2 * 1024 * 1024)) : text
  const bytes = new TextEncoder().encode(padded)
  const at = padded.indexOf("BROKEN")
  if (at >= 0) bytes[at] = 0xff
  return bytes
}

const answer = (relay: Rehearsal, one: Case, session: string) => {
  const headers = {
    ...(one.post === undefined ? {} : postHeaders),
    ...one.request?.headers,
    ...one.headers,
    ...(one.session === "live" && session !== "" ? { "mcp-session-id": session } : {})
  }
  return relay.ask({
    method: one.request?.method ?? "POST",
    headers: Object.entries(headers).flat(),
    body: bodyOf(one)
  })
}

describe("streamable HTTP server", () => {
  for (const one of cases)
    for (const mode of one.backend === undefined ? (["stateful", "stateless"] as const) : [one.backend])
      it(`${one.name} (${mode}): ${one.status}`, async () => {
        const relay = await rehearse([target()], { statefulMode: mode })
        const session = mode === "stateful" ? relay.initialize() : ""
        const response = answer(relay, one, session)
        assert.strictEqual(response.status, one.status, response.text())
        assert.isFalse(response.headers.has("mcp-session-id"))
        // RFC 9110 15.5.6.
        if (one.status === 405)
          assert.strictEqual(response.headers.get("allow"), mode === "stateful" ? "GET, POST, DELETE" : "POST")
        if (one.text !== undefined) {
          assert.strictEqual(response.text(), one.text)
          if (one.text !== "") assert.strictEqual(response.headers.get("content-type"), "text/plain")
        }
        if (one.error !== undefined) {
          assert.strictEqual(response.headers.get("content-type"), "application/json")
          assert.deepStrictEqual(JSON.parse(response.text()), { jsonrpc: "2.0", id: one.id, error: one.error })
        }
        assert.strictEqual(relay.relay.sessions(), mode === "stateful" ? 1 : 0)
        await relay.close()
      })

  it("answers initialize with an event stream that carries the session", async () => {
    const relay = await rehearse([target()])
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } }
    const response = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params })
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
    assert.strictEqual(response.headers.get("cache-control"), "no-cache")
    assert.isString(response.headers.get("mcp-session-id"))
    assert.match(response.text(), /^event: message\ndata: \{.*\}\n\n$/)
    assert.strictEqual(response.facts.sessionId, response.headers.get("mcp-session-id"))
    await relay.close()
  })

  it("takes notifications and replies with 202 and nothing else", async () => {
    const relay = await rehearse([target()])
    const session = { "mcp-session-id": relay.initialize() }
    for (const message of [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: "hg_t_n_1", result: {} },
      { jsonrpc: "2.0", error: { code: 1, message: "m" } }
    ]) {
      const response = relay.post(message, session)
      assert.strictEqual(response.status, 202)
      assert.strictEqual(response.text(), "")
      assert.strictEqual(response.headers.size, 0)
    }
    await relay.close()
  })

  it("serves a batch of 2025-03-26 on one stream, and takes one of notifications with 202", async () => {
    const relay = await rehearse([target()])
    const session = { "mcp-session-id": relay.initialize(), "mcp-protocol-version": "2025-03-26" }
    const response = relay.post(
      [
        { jsonrpc: "2.0", id: 1, method: "ping" },
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", id: 2, method: "tools/list" },
        { jsonrpc: "2.0", id: 3, method: "nobody/knows" }
      ],
      session
    )
    assert.strictEqual(response.status, 200)
    assert.isTrue(response.ended())
    assert.deepStrictEqual(
      response.messages().map(({ id, result, error }) => ({ id, result, code: (error as { code?: number })?.code })),
      [
        { id: 1, result: {}, code: undefined },
        { id: 2, result: { tools: [] }, code: undefined },
        { id: 3, result: undefined, code: -32601 }
      ]
    )
    assert.strictEqual(relay.post([{ jsonrpc: "2.0", method: "notifications/initialized" }], session).status, 202)
    await relay.close()
  })

  it("refuses other hosts and origins with DNS-rebinding protection, before everything else", async () => {
    const relay = await rehearse([target()], { dnsRebindingProtection: true })
    const table: ReadonlyArray<readonly [authority: string, origins: ReadonlyArray<string>, refused: boolean]> = [
      ["localhost", [], false],
      ["LOCALHOST:3000", ["http://localhost:3000"], false],
      ["127.0.0.1:1", ["https://127.0.0.1"], false],
      ["[::1]:80", ["http://[::1]:80"], false],
      ["evil.example.com", [], true],
      ["localhost.evil.com", [], true],
      ["localhost@evil.com", [], true],
      ["localhost", ["http://evil.example.com"], true],
      ["localhost", ["null"], true],
      ["localhost", ["http://user@localhost"], true],
      ["localhost", ["http://localhost/path"], true],
      ["localhost", ["ftp://localhost"], true],
      ["localhost", ["http://localhost", "http://localhost"], true]
    ]
    for (const [authority, origins, refused] of table) {
      const headers = origins.flatMap((origin) => ["Origin", origin])
      const response = relay.ask({ method: "PUT", authority, headers })
      assert.strictEqual(response.status, refused ? 403 : 405, `${authority} ${origins}`)
      if (refused) assert.strictEqual(response.text(), rebindingMessage)
    }
    await relay.close()
  })

  it("protects listeners on loopback by default, and what comes over loopback from pages under a name of their own", async () => {
    const only = { port: 3000, only: true }
    const open = { port: 3000, only: false }
    const local = { authority: "localhost:3000" }
    const evil = { authority: "evil.example:3000" }
    const table: ReadonlyArray<
      readonly [
        setting: boolean | undefined,
        request: Partial<McpRequest>,
        origin: string | undefined,
        refused: boolean
      ]
    > = [
      [undefined, { ...local, loopback: only }, undefined, false],
      [undefined, { ...local, loopback: only }, "http://localhost:5173", false],
      [undefined, { ...local, loopback: only }, "https://evil.example", true],
      [undefined, { ...evil, loopback: only }, undefined, true],
      [undefined, { ...local, loopback: only, allowedOrigin: true }, "https://app.example", false],
      [undefined, { ...evil, loopback: only, allowedOrigin: true }, "https://app.example", true],
      [undefined, { ...evil, loopback: only, namedHost: true }, undefined, false],
      [undefined, { ...evil, loopback: only, namedHost: true }, "https://EVIL.example:3000", false],
      [undefined, { ...evil, loopback: only, namedHost: true }, "https://other.example", true],
      [undefined, { ...evil, loopback: open }, undefined, false],
      [undefined, { ...evil, loopback: open }, "http://evil.example:3000", true],
      [undefined, { ...evil, loopback: open }, "HTTP://evil.example:3000", true],
      [undefined, { ...evil, loopback: open, namedHost: true }, "http://evil.example:3000", false],
      [undefined, { ...evil, loopback: open, allowedOrigin: true }, "http://evil.example:3000", false],
      // By way of a proxy on this machine.
      [undefined, { ...evil, loopback: open }, "https://evil.example", false],
      [undefined, { authority: "mcp.example", loopback: open }, "http://mcp.example", false],
      [undefined, { authority: "mcp.example", loopback: { port: 80, only: false } }, "http://mcp.example", true],
      [undefined, { ...local, loopback: open }, "https://evil.example", false],
      [undefined, evil, "http://evil.example:3000", false],
      [false, { ...evil, loopback: only }, "http://evil.example:3000", false],
      [true, evil, undefined, true],
      [true, { ...evil, namedHost: true }, undefined, false],
      [true, local, "https://evil.example", true]
    ]
    for (const [setting, request, origin, refused] of table) {
      const relay = await rehearse([target()], { dnsRebindingProtection: setting })
      const response = relay.ask({ method: "PUT", ...request, headers: origin === undefined ? [] : ["Origin", origin] })
      assert.strictEqual(response.status, refused ? 403 : 405, JSON.stringify([setting, request, origin]))
      await relay.close()
    }
  })

  it("ends a session with DELETE: at the targets, and for the id", async () => {
    const http = serving("t", false, {})
    const relay = await rehearse([http])
    const id = relay.initialize()
    const headers = ["mcp-session-id", id, "Authorization", "Bearer x"]
    assert.strictEqual(relay.ask({ method: "DELETE", headers }).status, 202)
    assert.deepStrictEqual(http.connections[0]?.farewell, ["authorization", "Bearer x"])
    assert.strictEqual(relay.relay.sessions(), 0)
    // The text of the id alone could bring the session back.
    assert.strictEqual(relay.post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-session-id": id }).status, 404)
    assert.strictEqual(relay.ask(listening(id)).status, 404)
    await relay.close()
  })

  it("a session is unknown to other principals and through other listeners", async () => {
    const relay = await rehearse([target()])
    const id = relay.initialize()
    const request = { headers: Object.entries({ ...postHeaders, "mcp-session-id": id }).flat() }
    const body = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert.strictEqual(relay.ask({ ...request, body }).status, 200)
    assert.strictEqual(relay.ask({ ...request, body, principal: "mallory" }).status, 404)
    assert.strictEqual(relay.ask({ ...request, body, listener: "other" }).status, 404)
    assert.strictEqual(relay.ask({ ...listening(id), principal: "mallory" }).status, 404)
    // Somebody else's DELETE does as if, and does nothing.
    assert.strictEqual(relay.ask({ ...request, method: "DELETE", principal: "mallory" }).status, 202)
    assert.strictEqual(relay.ask({ ...request, body }).status, 200)
    const other = await rehearse([target()], { backend: "elsewhere" })
    assert.strictEqual(other.ask({ ...request, body }).status, 404)
    await relay.close()
    await other.close()
  })

  it("limits the number of sessions", async () => {
    const relay = await rehearse([target()], {
      limits: { ...(await import("./config.ts")).defaultLimits, sessions: 2 }
    })
    relay.initialize()
    relay.initialize()
    const params = { protocolVersion: "2025-11-25", capabilities: {} }
    const refused = relay.post({ jsonrpc: "2.0", id: 1, method: "initialize", params })
    assert.strictEqual(refused.status, 503)
    assert.deepStrictEqual(JSON.parse(refused.text()), {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32603, message: "too many sessions of this backend (maxSessions: 2)" }
    })
    await relay.close()
  })
})
