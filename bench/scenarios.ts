/** What is measured: how each proxy is started, which request it gets, and what it may cost in units of the base. */
import { generateKeyPairSync, sign } from "node:crypto"
import { join } from "node:path"
import { runtimeFlags } from "../bin/launch.mjs"
import { envoys } from "./envoy.ts"
import type { Http2Request } from "./load-http2.ts"

/** Where a proxy is to listen, and where its backend is. */
export interface Ports {
  readonly proxy: number
  readonly upstream: number
}

/** A proxy that is measured. */
export interface Peer {
  readonly name: string
  /** The program, which has to listen on `ports.proxy` of 127.0.0.1. One of node is started with the probe preloaded. */
  readonly proxy: (ports: Ports, folder: string) => { readonly command: string; readonly args: ReadonlyArray<string> }
  /** Files that it reads, by name in a folder of its own. */
  readonly files?: (ports: Ports) => Readonly<Record<string, string>>
}

export interface Scenario extends Peer {
  readonly request: Request
  /** The client speaks TLS, to the base as well. */
  readonly secure?: boolean
  /** Over TLS it speaks HTTP/2, to the base as well. */
  readonly http2?: boolean
  /** Asks the proxy for what the request needs before, such as a session: a request for each connection. */
  readonly begin?: (proxy: number, connections: number) => Promise<ReadonlyArray<Request>>
  /** What the origin answers. */
  readonly answer?: OriginAnswer
  /** What it may cost, in units of the base (design, 4.7). */
  readonly budget?: Budget
  /** Another program with the same task, as near as it can be told so. */
  readonly peer?: Peer
}

export interface Budget {
  /** What is wanted. */
  readonly goal?: number
  /** More is a fault. */
  readonly ceiling: number
}

export interface OriginAnswer {
  readonly type: string
  readonly body: string
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export const bytesOf = ({ method, path, headers = {}, body = "" }: Request): string => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === "" ? "" : `content-length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: bench.example\r\nuser-agent: bench\r\n${lines.join("")}${length}\r\n${body}`
}

/** The same request in HTTP/2. */
export const fieldsOf = ({ method, path, headers = {}, body = "" }: Request): Http2Request => {
  const length = body === "" ? [] : ["content-length", String(Buffer.byteLength(body))]
  const pseudo = [":method", method, ":scheme", "https", ":authority", "bench.example", ":path", path]
  return { fields: [...pseudo, "user-agent", "bench", ...Object.entries(headers).flat(), ...length], body }
}

const here = import.meta.dirname

const node = (file: string) => (ports: Ports) => ({
  command: process.execPath,
  args: [join(here, file), String(ports.proxy), String(ports.upstream)]
})

/** The proxy itself on a configuration; `config` yields the text of the file. */
export const headgate = (config: (ports: Ports) => string): Pick<Scenario, "proxy" | "files"> => ({
  proxy: (_, folder) => ({
    command: process.execPath,
    // As the launcher starts it.
    args: [...runtimeFlags, join(here, "../src/main/headgate.ts"), "-f", join(folder, "config.yaml")]
  }),
  files: (ports) => ({ "config.yaml": config(ports) })
})

const get: Request = { method: "GET", path: "/anything?some=query", headers: { accept: "application/json" } }
const post: Request = {
  method: "POST",
  path: "/anything",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ filler: "x".repeat(500) })
}

/** A scenario is measured against the base with the same request. */
export const base = ({
  request,
  secure = false,
  http2 = false
}: Pick<Scenario, "request" | "secure" | "http2">): Scenario => {
  const plain = node("base.ts")
  return {
    name: "base",
    proxy: (ports) => {
      const { command, args } = plain(ports)
      const tls = secure ? [certificate.cert, certificate.key] : []
      return { command, args: [...args, ...tls, ...(http2 ? ["h2"] : [])] }
    },
    request
  }
}

/** For localhost, with a key of P-256. */
const certificate = {
  cert: join(here, "../test/http/fixtures/tls/server.pem"),
  key: join(here, "../test/http/fixtures/tls/server.key")
}

/** Management servers off: another row, or a proxy of the developer, may use their ports. */
export const quiet = "config: {adminAddr: off, statsAddr: off, readinessAddr: off, logging: {level: request=warn}}"

const route = (ports: Ports, policies: string) => `${quiet}
gateways: {default: {port: ${ports.proxy}}}
routes:
- policies: ${policies}
  backends: [{host: "127.0.0.1:${ports.upstream}"}]
`

const secured = (ports: Ports) => `${quiet}
gateways: {default: {port: ${ports.proxy}, tls: {cert: "${certificate.cert}", key: "${certificate.key}"}}}
routes: [{backends: [{host: "127.0.0.1:${ports.upstream}"}]}]
`

/** As many routes as asked for, of which the request takes the last. */
const manyRoutes = (ports: Ports, count: number) => `${quiet}
gateways: {default: {port: ${ports.proxy}}}
backends: [{name: origin, host: "127.0.0.1:${ports.upstream}"}]
routes:
${Array.from({ length: count - 1 }, (_, i) => `- {matches: [{path: {pathPrefix: /route/${i}}}], backends: [{backend: /origin}]}`).join("\n")}
- {matches: [{path: {pathPrefix: /anything}}], backends: [{backend: /origin}]}
`

/** A key set and a token of it that outlives the run. */
const identity = (() => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const claims = {
    iss: "https://issuer.example",
    aud: "bench",
    sub: "alice",
    exp: 4_102_444_800,
    roles: ["admin", "user"]
  }
  const signed = `${part({ alg: "RS256", kid: "bench", typ: "JWT" })}.${part(claims)}`
  const token = `${signed}.${sign("RSA-SHA256", Buffer.from(signed), privateKey).toString("base64url")}`
  const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "RS256", use: "sig" }] }
  return { token, jwks: JSON.stringify(jwks) }
})()

/** Ten policies as the design counts them: those of a route that authenticates twice, authorises, limits and rewrites. */
const tenPolicies = `
    cors: {allowOrigins: ["https://app.example"], allowCredentials: true}
    apiKey: {mode: strict, location: {header: {name: x-api-key}}, keys: [{key: bench-key, metadata: {user: alice}}]}
    jwtAuth:
      mode: strict
      issuer: https://issuer.example
      audiences: [bench]
      jwks: '${identity.jwks}'
    authorization: {rules: ['"admin" in jwt.roles && request.path.startsWith("/any")', 'apiKey.user == jwt.sub']}
    localRateLimit: [{maxTokens: 1000000000, tokensPerFill: 1000000000, fillInterval: 1s}]
    requestHeaderModifier: {set: {x-one: "1"}, remove: [x-two]}
    responseHeaderModifier: {set: {x-three: "3"}}
    urlRewrite: {path: {prefix: /}}
    timeout: {requestTimeout: 30s}
    buffer: {request: {maxBytes: 65536}}`

const authenticated: Request = {
  ...get,
  headers: {
    ...get.headers,
    origin: "https://app.example",
    "x-api-key": "bench-key",
    authorization: `Bearer ${identity.token}`
  }
}

const completion = (message: unknown) => ({ id: "chatcmpl-1", created: 1, model: "bench", ...(message as object) })
const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }

/** 600 bytes. */
const chatAnswer: OriginAnswer = (() => {
  const shape = (content: string) =>
    JSON.stringify(
      completion({
        object: "chat.completion",
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage
      })
    )
  return { type: "application/json", body: shape("x".repeat(600 - shape("").length)) }
})()

/** 20 events that come at once. */
const chatEvents: OriginAnswer = (() => {
  const chunk = (delta: unknown, finish: string | null) =>
    completion({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })
  const events = [
    ...Array.from({ length: 17 }, (_, i) => chunk({ content: `word${i} ` }, null)),
    chunk({}, "stop"),
    completion({ object: "chat.completion.chunk", choices: [], usage })
  ]
  const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
  return { type: "text/event-stream", body: text }
})()

const chat = (stream: boolean): Request => ({
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "bench", stream, messages: [{ role: "user", content: "x".repeat(500) }] })
})

/** The origin answers JSON whatever it is asked; a model's answer is what its usage is read from. */
const llm = (ports: Ports) => `${quiet}
llm:
  port: ${ports.proxy}
  models: [{name: "*", provider: openai, params: {baseUrl: "http://127.0.0.1:${ports.upstream}/v1", apiKey: bench}}]
`

const mcpHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const mcp = (ports: Ports) => `${quiet}
mcp:
  port: ${ports.proxy}
  maxSessionsPerAddress: 1000
  targets: [{name: bench, mcp: {host: "http://127.0.0.1:${ports.upstream}/mcp"}}]
`

/** One child for all: a session whose requests differ by their ids. */
const mcpOverStdio = (ports: Ports) => `${quiet}
mcp:
  port: ${ports.proxy}
  targets: [{name: bench, stdio: {cmd: "${process.execPath}", args: ["${join(here, "stdio-server.ts")}"]}}]
`

const rpc = (method: string, params: unknown, headers: Readonly<Record<string, string>>, id = 1): Request => ({
  method: "POST",
  path: "/mcp",
  headers: { ...mcpHeaders, ...headers },
  body: JSON.stringify({ jsonrpc: "2.0", id, method, params })
})

const beginSession = async (proxy: number): Promise<Readonly<Record<string, string>>> => {
  const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } }
  const { method, headers, body } = rpc("initialize", client, {})
  const answer = await fetch(`http://127.0.0.1:${proxy}/mcp`, { method, headers: headers!, body: body! })
  await answer.text()
  return { "mcp-session-id": answer.headers.get("mcp-session-id")! }
}

/** An id may stand for one open request of a session, so each connection has its own. */
const sessions = (proxy: number, connections: number): Promise<ReadonlyArray<Request>> =>
  Promise.all(Array.from({ length: connections }, async () => toolCall(await beginSession(proxy))))

const oneSession = async (proxy: number, connections: number): Promise<ReadonlyArray<Request>> => {
  const session = await beginSession(proxy)
  return Array.from({ length: connections }, (_, i) => toolCall(session, undefined, i + 2))
}

const toolCall = (headers: Readonly<Record<string, string>>, meta?: unknown, id?: number): Request =>
  rpc("tools/call", { _meta: meta, name: "echo", arguments: { message: "x".repeat(100) } }, headers, id)

/** One request stands for itself since that revision: no handshake, no session. */
const modern = "2026-07-28"
const sessionless = toolCall(
  { "mcp-protocol-version": modern, "mcp-method": "tools/call", "mcp-name": "echo" },
  {
    "io.modelcontextprotocol/protocolVersion": modern,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {}
  }
)

/** 300 bytes, as an answer to any request with the id 1. */
const rpcAnswer: OriginAnswer = (() => {
  const shape = (text: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text }] } })
  return { type: "application/json", body: shape("x".repeat(300 - shape("").length)) }
})()

const envoy = envoys(identity.jwks)

export const scenarios: ReadonlyArray<Scenario> = [
  {
    name: "no policies",
    ...headgate((ports) => route(ports, "{}")),
    request: get,
    budget: { goal: 0.6, ceiling: 0.85 },
    peer: envoy.bare
  },
  {
    name: "no policies, POST 500 bytes",
    ...headgate((ports) => route(ports, "{}")),
    request: post,
    budget: { ceiling: 1.1 }
  },
  {
    name: "TLS in, HTTP/1.1",
    ...headgate(secured),
    request: get,
    secure: true,
    budget: { goal: 0.8, ceiling: 1.0 }
  },
  {
    name: "HTTP/2 in",
    ...headgate(secured),
    request: get,
    secure: true,
    http2: true,
    budget: { goal: 0.9, ceiling: 1.2 }
  },
  {
    name: "HTTP/2 in, POST 500 bytes",
    ...headgate(secured),
    request: post,
    secure: true,
    http2: true,
    budget: { ceiling: 1.2 }
  },
  {
    name: "ten policies",
    ...headgate((ports) => route(ports, tenPolicies)),
    request: authenticated,
    budget: { goal: 0.9, ceiling: 1.1 },
    peer: envoy.tenPolicies
  },
  {
    name: "LLM chat",
    ...headgate(llm),
    request: chat(false),
    answer: chatAnswer,
    budget: { goal: 0.8, ceiling: 1.1 }
  },
  {
    name: "LLM chat, streamed",
    ...headgate(llm),
    request: chat(true),
    answer: chatEvents,
    budget: { goal: 1.2, ceiling: 1.6 }
  },
  {
    name: "MCP tools/call over stdio",
    ...headgate(mcpOverStdio),
    request: toolCall({ "mcp-session-id": "bench" }),
    begin: oneSession,
    answer: rpcAnswer,
    budget: { goal: 1, ceiling: 1.3 }
  },
  {
    name: "MCP tools/call",
    ...headgate(mcp),
    request: toolCall({ "mcp-session-id": "bench" }),
    begin: sessions,
    answer: rpcAnswer
  },
  { name: "MCP tools/call, sessionless", ...headgate(mcp), request: sessionless, answer: rpcAnswer },
  { name: "10 routes", ...headgate((ports) => manyRoutes(ports, 10)), request: get },
  { name: "10,000 routes", ...headgate((ports) => manyRoutes(ports, 10_000)), request: get },
  { name: "edge, GET", proxy: node("edge.ts"), request: get, budget: { ceiling: 1.1 } },
  { name: "edge, POST 500 bytes", proxy: node("edge.ts"), request: post, budget: { ceiling: 1.1 } }
]
