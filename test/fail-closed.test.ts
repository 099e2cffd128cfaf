/** Brings about every row of `docs/fail-closed.md`: what is declared is what a client gets. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { allFailedReadings, textOf } from "../src/main/pages/fail-closed.ts"
import { type Sent, send } from "./client.ts"

/** Something that cannot be read: an expression over it, which yields a bool where it can, and what of the request is odd. */
interface Oddity {
  readonly expression: string
  readonly headers?: Readonly<Record<string, string>>
  /** Behind the ordinary path. */
  readonly path?: string
  /** In place of the ordinary body. */
  readonly body?: string | Uint8Array
}

const inHeader = (read: string, value: string): Oddity => ({ expression: read, headers: { "x-value": value } })
const value = 'request.headers["x-value"]'
const json = `json(${value}).a == 1`
const deep = `${"[".repeat(260)}${"]".repeat(260)}`
const noText = inHeader(json, '{"a":1')
const aBody = { expression: "size(request.body) == 0" }
const muchWork = `lists.range(9000).all(x, lists.range(9000).all(y, ${value} != ""))`
const tooMuch = { ...inHeader(muchWork, "a") }

/** How to bring it about, by the text of the row. */
const oddities: Readonly<Record<string, Oddity>> = {
  "a body over the limit, as it is without its content codings": {
    ...aBody,
    headers: { "content-encoding": "gzip" },
    body: gzipSync(Buffer.alloc(4 * 1024 * 1024))
  },
  "a body in a content coding that is not known, or in more than four": {
    ...aBody,
    headers: { "content-encoding": "odd" }
  },
  "a body that is not of its content coding": { ...aBody, headers: { "content-encoding": "gzip" } },
  "a body whose content type names a charset other than UTF-8": {
    ...aBody,
    headers: { "content-type": "application/json; charset=utf-7" }
  },
  "a text that is not what the expression reads it as: JSON, UTF-8, base64, a number, an address, a time": noText,
  "JSON with two members of one name": inHeader(json, '{"a":1,"b":{"c":1,"\\u0063":2}}'),
  "a number that is too large, or a division by zero": inHeader(`int(${value}) > 5`, "99999999999999999999"),
  "JSON with more than 250 levels, and more work over a body than one evaluation may do": {
    ...inHeader(`${json} || size(request.body) < 0`, deep)
  },
  "more work without a body than one evaluation may do": tooMuch,
  "what the expression of a location reads: JSON, base64 or other text that is none": noText,
  "more than the expression of a location may do": tooMuch,
  "what a condition reads: JSON, base64 or other text that is none": noText,
  "more than a condition may do": tooMuch,
  "a path that it decides in one way as it is, and in another with what is encoded in it decoded": {
    expression: 'request.path.contains("%2F")',
    path: "/a%2Fb"
  },
  "a body of one of these that is no JSON object in UTF-8: a form, other text": {
    expression: 'llmRequest.user == "eve"',
    body: Buffer.from('{"model":"m","messages":[],"user":"\xff"}', "latin1")
  },
  "a conversation that is not UTF-8": {
    expression: "",
    body: Buffer.from('{"model":"m","messages":[{"role":"user","content":"\xff"}]}', "latin1")
  },
  "a path that is no conversation's, unless the configuration forwards it: `passthrough` of the model, an entry in `ai.routes`":
    { expression: "", path: "/anything" },
  "a JSON-RPC message with two members of one name": {
    expression: 'mcp.tool.name == "rm"',
    body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm"},"params":{"name":"ls"}}'
  },
  "parameters of an MCP request with two members of one name": {
    expression: 'mcp.tool.name == "rm"',
    body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm","n\\u0061me":"ls"}}'
  },
  "JSON with two members of one name, or with more than 250 levels": {
    expression: 'llmRequest.user == "eve"',
    body: '{"model":"m","messages":[],"user":"eve","user":"ada"}'
  }
}

interface Decider {
  /** The configuration in which it decides by an expression. */
  readonly config: (expression: string, backend: number) => string
  readonly path?: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

const quoted = (expression: string) => `'${expression}'`
const asText = (expression: string) => quoted(`(${expression}) ? "yes" : "no"`)
const routed = (policies: string) => (expression: string, backend: number) =>
  `
gateways: { default: { port: 8080 } }
routes:
  - policies: ${policies.replace("EXPRESSION", () => quoted(expression)).replace("TEXT", () => asText(expression))}
    backends: [{ host: "127.0.0.1:${backend}" }]
`
const located = (policy: string, rest: string) => ({
  config: routed(`{ ${policy}: { mode: optional, ${rest}: { expression: TEXT } } }`),
  body: "{}"
})

const chat = '{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
const issuer = `issuer: https://issuer.example, audiences: [a], jwks: '{"keys":[]}'`

const deciders: Readonly<Record<string, Decider>> = {
  authorization: { config: routed("{ authorization: { rules: [{ deny: EXPRESSION }] } }"), body: "{}" },
  localRateLimit: {
    config: routed("{ localRateLimit: [{ maxTokens: 9, tokensPerFill: 9, fillInterval: 1h, key: TEXT }] }"),
    body: "{}"
  },
  conditional: {
    config: routed("{ directResponse: { conditional: [{ condition: EXPRESSION, status: 418 }] } }"),
    body: "{}"
  },
  dynamic: {
    config: (expression, backend) => `
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ dynamic: { target: '(${expression}) ? "127.0.0.1:${backend}" : "127.0.0.1:${backend}"' } }] }]
`,
    body: "{}"
  },
  apiKey: located("apiKey", 'keys: [{ key: "k" }], location'),
  basicAuth: located("basicAuth", 'htpasswd: "cy:{SHA}I7dElEdfX4dJgLdnbVEeI9iG2mQ=", authorizationLocation'),
  jwtAuth: located("jwtAuth", `${issuer}, location`),
  mcpAuthentication: located(
    "mcpAuthentication",
    `${issuer}, resourceMetadata: { resource: "https://a.example/mcp" }, authorizationLocation`
  ),
  mcpAuthorization: {
    config: (expression, backend) => `
mcp:
  port: 8080
  statefulMode: stateless
  targets: [{ name: tools, mcp: { host: "http://127.0.0.1:${backend}/mcp" } }]
  policies: { mcpAuthorization: { rules: [{ deny: ${quoted(expression)} }] } }
`,
    path: "/mcp",
    headers: { accept: "application/json, text/event-stream" },
    body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"…","arguments":{}}}'
  },
  "llm.models.authorization": {
    config: (expression) => `
llm:
  port: 8080
  models:
    - { name: m, provider: mock, authorization: { rules: [{ deny: ${quoted(expression)} }] } }
    - { name: "*", provider: mock }
`,
    path: "/v1/chat/completions",
    body: chat
  },
  "llm.guardrails": {
    config: () => `
llm:
  port: 8080
  models: [{ name: m, provider: mock }]
  guardrails: { request: [{ regex: { rules: [{ builtin: email }] } }] }
`,
    path: "/v1/chat/completions",
    body: chat
  },
  "llm.virtualModels.conditional": {
    config: (expression) => `
llm:
  port: 8080
  models: [{ name: small, provider: mock }]
  virtualModels:
    - name: m
      routing: { conditional: { targets: [{ model: small, when: ${quoted(expression)} }, { model: small }] } }
`,
    path: "/v1/chat/completions",
    body: chat
  }
}

describe("what cannot be read is refused", () => {
  for (const reading of allFailedReadings) {
    const { by, what, refusal } = reading
    it.live(`${by}: ${what}`, () =>
      Effect.gen(function* () {
        const decider = deciders[by]
        const oddity = oddities[what]
        assert.isDefined(decider, `tell in this file how ${by} decides`)
        assert.isDefined(oddity, `tell in this file how to bring about: ${what}`)
        let reached = 0
        const backend = createServer((request, response) => {
          reached++
          request.resume()
          response.end("reached")
        })
        yield* Effect.promise(() => new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve)))
        yield* Effect.addFinalizer(() => Effect.sync(() => backend.close()))
        const gateway = yield* start(decider!.config(oddity!.expression, (backend.address() as AddressInfo).port), {
          ephemeral: true,
          host: "127.0.0.1"
        })
        const ask = (sent: Sent) =>
          Effect.promise(() =>
            send(gateway.port(8080)!, {
              method: "POST",
              path: oddity!.path === undefined ? (decider!.path ?? "/") : `${decider!.path ?? ""}${oddity!.path}`,
              body: decider!.body,
              ...sent,
              headers: { "content-type": "application/json", ...decider!.headers, ...sent.headers }
            })
          )
        const answer = yield* ask({
          headers: oddity!.headers,
          ...(oddity!.path && { path: oddity!.path }),
          ...(oddity!.body && { body: oddity!.body })
        })
        assert.strictEqual(answer.status, refusal.status)
        assert.include(answer.body, textOf(reading))
        if (textOf(reading) === "") assert.strictEqual(answer.body, "")
        assert.strictEqual(reached, 0)
      })
    )
  }
})
