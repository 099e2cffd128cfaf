/** A gateway that holds secrets, requests of every outcome that bring their own, and a backend whose answers hold some, too. */
import { createHash } from "node:crypto"
import type { OriginAnswer } from "../origin.ts"
import { keySet, token } from "../tokens.ts"
import type { AttackCase } from "./attack.ts"

const secret = (of: string) => `sk-live-${createHash("sha256").update(of).digest("hex").slice(0, 24)}`

/** What the configuration holds in confidence. */
export const held = {
  client: secret("client"),
  other: secret("other"),
  model: secret("model"),
  header: secret("header"),
  response: secret("response"),
  forwarded: secret("forwarded"),
  session: createHash("sha256").update("session").digest("hex")
}
/** What clients and backends send in confidence. */
const sent = secret("sent")
const issuer = "https://issuer.example"
const believed = token("rsa-1", { iss: issuer, exp: 4_000_000_000, sub: "ada" })
const forged = token("rsa-2", { iss: issuer, exp: 4_000_000_000, sub: "ada" }, { kid: "rsa-1" })
const unknown = token("rsa-2", { iss: issuer, exp: 4_000_000_000, sub: "ada" })

const jwt = (text: string) => text.split(".")[2]!.slice(0, 24)
const mcpSession = "upstream-session-7f3a91c2e8"

export const secrets: ReadonlyArray<string> = [
  ...Object.values(held),
  sent,
  ...[believed, forged, unknown].map(jwt),
  mcpSession,
  ...Object.values(held).map((each) => Buffer.from(each).toString("base64url").slice(2, 24))
]

export const configuration = (upstream: string, down: number, port: number) => `
config:
  session: { key: $SESSION }
  sensitiveHeaders: [x-internal]
gateways: { default: { port: ${port} } }
llm:
  gateways: default
  policies:
    apiKey: { mode: strict, keys: [{ key: ${held.client} }] }
  models:
  - name: demo
    provider: { custom: { formats: [{ type: completions }] } }
    params: { apiKey: $MODEL_KEY, baseUrl: "http://${upstream}" }
    guardrails: { request: [{ regex: { action: reject, rules: [{ pattern: forbidden }] } }] }
mcp:
  gateways: default
  targets: [{ name: files, mcp: { host: "http://${upstream}/mcp-server" } }]
routes:
- name: keyed
  matches: [{ path: { pathPrefix: /keyed } }]
  policies:
    apiKey: { mode: strict, keys: [{ key: ${held.client}, metadata: { user: ada } }, { key: $OTHER }] }
    requestHeaderModifier: { set: { authorization: "Bearer ${held.forwarded}", x-internal: ${held.header} } }
    responseHeaderModifier: { set: { x-internal: ${held.response} } }
  backends: [{ host: "${upstream}" }]
- name: named
  matches: [{ path: { pathPrefix: /named } }]
  policies: { apiKey: { mode: strict, location: { header: { name: x-team-key } }, keys: [{ key: ${held.client} }] } }
  backends: [{ host: "${upstream}" }]
- name: queried
  matches: [{ path: { pathPrefix: /queried } }]
  policies: { apiKey: { mode: strict, location: { queryParameter: { name: ticket } }, keys: [{ key: ${held.client} }] } }
  backends: [{ host: "${upstream}" }]
- name: baked
  matches: [{ path: { pathPrefix: /baked } }]
  policies: { apiKey: { mode: strict, location: { cookie: { name: crumb } }, keys: [{ key: ${held.client} }] } }
  backends: [{ host: "${upstream}" }]
- name: tokens
  matches: [{ path: { pathPrefix: /tokens } }]
  policies:
    jwtAuth: { mode: strict, issuer: "${issuer}", jwks: '${keySet("rsa-1")}' }
    authorization: { rules: [{ deny: 'request.uri.contains("denied")' }] }
  backends: [{ host: "${upstream}" }]
- name: open
  matches: [{ path: { pathPrefix: /open } }]
  backends: [{ host: "${upstream}" }]
- name: redirected
  matches: [{ path: { pathPrefix: /redirected } }]
  policies: { requestRedirect: { authority: { full: b.example } } }
- name: limited
  matches: [{ path: { pathPrefix: /limited } }]
  policies: { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1h }] }
  backends: [{ host: "${upstream}" }]
- name: slow
  matches: [{ path: { pathPrefix: /slow } }]
  policies: { timeout: { requestTimeout: 50ms } }
  backends: [{ host: "${upstream}" }]
- name: down
  matches: [{ path: { pathPrefix: /down } }]
  backends: [{ host: "127.0.0.1:${down}" }]
`

export interface Ask extends AttackCase {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly status: number
  /** What leaves the gateway in its own time, or is there to be asked for, is looked at, too. */
  readonly afterwards?: true
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
const json = { "content-type": "application/json" }
const chat = (content: string) => JSON.stringify({ model: "demo", messages: [{ role: "user", content }] })
const mcp = { ...json, accept: "application/json, text/event-stream" }
const rpc = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
const handshake = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }

const parameters = [
  "access_token",
  "id_token",
  "refresh_token",
  "token",
  "code",
  "client_secret",
  "api_key",
  "apiKey",
  "key",
  "sig",
  "signature",
  "password",
  "X-Amz-Signature",
  "X-Amz-Credential",
  "X-Amz-Security-Token",
  "X-Goog-Signature",
  "access%5Ftoken",
  "user[password]",
  "ticket"
]

export const asks: ReadonlyArray<Ask> = [
  { title: "a key that is known", path: "/keyed/a", headers: bearer(held.client), status: 200 },
  { title: "the key of another", path: "/keyed/a", headers: bearer(held.other), status: 200 },
  { title: "a key that nobody knows", path: "/keyed/a", headers: bearer(sent), status: 401 },
  { title: "no key", path: "/keyed/a", status: 401 },
  { title: "a key in the wrong header", path: "/keyed/a", headers: { "x-api-key": sent }, status: 401 },
  { title: "a key in a header of its own", path: "/named/a", headers: { "x-team-key": held.client }, status: 200 },
  { title: "a wrong key in a header of its own", path: "/named/a", headers: { "x-team-key": sent }, status: 401 },
  { title: "a key in the query", path: `/queried/a?x=1&ticket=${held.client}`, status: 200 },
  { title: "a wrong key in the query", path: `/queried/a?ticket=${sent}`, status: 401 },
  {
    title: "a key in the query and for the backend",
    path: `/queried/a?ticket=${held.client}&api_key=${sent}`,
    status: 200
  },
  { title: "a key in a cookie", path: "/baked/a", headers: { cookie: `a=b; crumb=${held.client}` }, status: 200 },
  { title: "a wrong key in a cookie", path: "/baked/a", headers: { cookie: `crumb=${sent}` }, status: 401 },
  { title: "a token", path: "/tokens/a", headers: bearer(believed), status: 200 },
  { title: "a forged token", path: "/tokens/a", headers: bearer(forged), status: 401 },
  { title: "a token of an unknown key", path: "/tokens/a", headers: bearer(unknown), status: 401 },
  { title: "text in place of a token", path: "/tokens/a", headers: bearer(sent), status: 401 },
  {
    title: "a token that is denied by its address",
    path: `/tokens/denied?access_token=${sent}`,
    headers: bearer(believed),
    status: 403
  },
  ...parameters.map((name) => ({
    title: `?${name}= that passes`,
    path: `/open/a?x=1&${name}=${sent}&y=2`,
    status: 200
  })),
  ...parameters.map((name) => ({ title: `?${name}= that is refused`, path: `/none?${name}=${sent}`, status: 401 })),
  ...[
    `next=https%3A%2F%2Fada%3A${sent}%40b.example%2F`,
    `next=https%3A%2F%2Fb.example%2F%3Fcode%3D${sent}`,
    `next=%252Fb%253Fcode%253D${sent}`,
    `next=/b%23access_token%3D${sent}`,
    `x=1;token=${sent}`,
    `?token=${sent}`
  ].map((query) => ({
    title: `an address in the query: ${query.replace(sent, "…")}`,
    path: `/open/a?${query}`,
    status: 200
  })),
  { title: "a backend that is down", path: `/down/a?token=${sent}`, headers: bearer(sent), status: 503 },
  { title: "a backend that is late", path: `/slow/a?token=${sent}`, headers: bearer(sent), status: 504 },
  { title: "a backend that hangs up", path: `/open/closes?token=${sent}`, headers: bearer(sent), status: 503 },
  { title: "a backend that fails", path: `/open/fails?token=${sent}`, headers: bearer(sent), status: 500 },
  { title: "a redirect", path: `/redirected/a?token=${sent}`, headers: bearer(sent), status: 302 },
  { title: "a limit", path: `/limited/a?token=${sent}`, headers: bearer(sent), status: 429 },
  {
    title: "headers of many a provider",
    path: "/open/a",
    headers: { "api-key": sent, "x-goog-api-key": sent, cookie: `s=${sent}` },
    status: 200
  },
  {
    title: "a header that the configuration calls sensitive",
    path: "/open/a",
    headers: { "x-internal": sent },
    status: 200
  },
  {
    title: "a referer with a code",
    path: "/open/a",
    headers: { referer: `https://a.example/?code=${sent}#token=${sent}` },
    status: 200
  },
  {
    title: "a referer with a password",
    path: "/open/a",
    headers: { referer: `https://ada:${sent}@a.example/` },
    status: 200
  },
  { title: "a password in the target", path: `http://ada:${sent}@a.example/open/a`, status: 400 },
  { title: "cookies and addresses in an answer", path: "/open/sets", status: 302 },
  {
    title: "a model",
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...json, ...bearer(held.client) },
    body: chat("hi"),
    status: 200
  },
  {
    title: "a model, without a key",
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...json, ...bearer(sent) },
    body: chat("hi"),
    status: 401
  },
  {
    title: "a model, with a key in the query",
    method: "POST",
    path: `/v1/chat/completions?key=${sent}`,
    headers: { ...json, ...bearer(held.client) },
    body: chat("hi"),
    status: 200
  },
  {
    title: "a model that a guard keeps from hearing",
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...json, ...bearer(held.client) },
    body: chat("forbidden"),
    status: 403
  },
  {
    title: "a model that does not exist",
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...json, ...bearer(held.client) },
    body: chat("hi").replace("demo", "none"),
    status: 404
  },
  {
    title: "a model that fails",
    method: "POST",
    path: "/v1/chat/completions",
    headers: { ...json, ...bearer(held.client) },
    body: chat("fail"),
    status: 500
  },
  { title: "the list of models", path: `/v1/models?token=${sent}`, headers: bearer(held.client), status: 200 },
  {
    title: "a method that there is not",
    method: "PUT",
    path: `/v1/models?token=${sent}`,
    headers: bearer(held.client),
    status: 405
  },
  {
    title: "an MCP session begins",
    method: "POST",
    path: "/mcp",
    headers: mcp,
    body: rpc("initialize", handshake),
    status: 200
  },
  {
    title: "an MCP session that is none",
    method: "POST",
    path: "/mcp",
    headers: { ...mcp, "mcp-session-id": sent },
    body: rpc("tools/list", {}),
    status: 404
  },
  {
    title: "an MCP session that goes on",
    method: "POST",
    path: "/mcp",
    headers: { ...mcp, "mcp-session-id": "%session%" },
    body: rpc("tools/list", {}),
    status: 200
  },
  {
    title: "a tool that fails",
    method: "POST",
    path: "/mcp",
    headers: { ...mcp, "mcp-session-id": "%session%", ...bearer(sent) },
    body: rpc("tools/call", { name: "a", arguments: {} }),
    status: 200
  },
  {
    title: "an MCP session in the query",
    path: `/sse?sessionId=${sent}`,
    method: "POST",
    headers: mcp,
    body: rpc("tools/list", {}),
    status: 404
  },
  {
    title: "an MCP session ends",
    method: "DELETE",
    path: "/mcp",
    headers: { "mcp-session-id": "%session%" },
    status: 202
  },
  { title: "spans, metrics and dumps of all of these", path: "/open/a", status: 200, afterwards: true }
]

export const answers = ({ path, body }: { readonly path: string; readonly body: string }): OriginAnswer => {
  if (path.startsWith("/mcp-server")) {
    if (body === "") return { status: 405 }
    const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string }
    if (id === undefined) return { status: 202 }
    const result =
      method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "f", version: "1" } }
        : { tools: [] }
    const answer = method === "tools/call" ? { error: { code: -32000, message: "no" } } : { result }
    return {
      headers: { ...json, "mcp-session-id": mcpSession },
      body: JSON.stringify({ jsonrpc: "2.0", id, ...answer })
    }
  }
  if (path.includes("completions"))
    return body.includes('"fail"')
      ? { status: 500, headers: json, body: '{"error":{"message":"no"}}' }
      : {
          headers: json,
          body: JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "hi" } }] })
        }
  if (path.includes("/closes")) return { closes: true }
  if (path.includes("/slow")) return { silent: true }
  if (path.includes("/fails")) return { status: 500, body: "no" }
  if (path.includes("/sets"))
    return {
      status: 302,
      headers: {
        "set-cookie": `s=${sent}`,
        "x-internal": sent,
        location: `https://b.example/cb?code=${sent}#access_token=${sent}`
      }
    }
  return { body: "done" }
}
