/**
 * Every kind of call that the proxy makes for a request: each is told in its trace, is a client span below what made it, takes part in the
 * time of that, and is timed once by its kind.
 */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Request } from "../src/main/testing/arbitraries.ts"
import { whole } from "../src/main/testing/whole.ts"
import { traceProblems } from "../src/main/testing.ts"
import { watch } from "../src/main/trace.ts"
import { type Sent, send } from "./client.ts"
import { attributesOf, collector, type Span, startSampled } from "./collector.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { nowhere, origin } from "./origin.ts"
import { startFixture } from "./outside/mcp/fixture-http.ts"
import { root, until } from "./program.ts"

const json = { "content-type": "application/json" }
const chat = (path: string, stream: boolean): Sent => ({
  method: "POST",
  path: `${path}/v1/chat/completions`,
  headers: json,
  body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "hi" }] })
})
const tool = (path: string, name: string): Sent => ({
  method: "POST",
  path: `/${path}`,
  headers: { ...json, accept: "application/json, text/event-stream" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } })
})

interface Kind {
  readonly name: string
  readonly sent: Sent
  readonly status?: number
  /** Where its duration is counted, and how often. */
  readonly counted: readonly [kind: "Policy" | "Primary", subtype: "Guardrail" | "Http" | "Llm" | "Mcp", times: number]
  /** What its events carry, and how many calls they tell; of a stage, its node. */
  readonly told: readonly [scope: string | undefined, calls: number, node?: string]
}

/** The handshake with an MCP server is told, and is not what was asked for. */
const handshake = 2

const kinds: ReadonlyArray<Kind> = [
  {
    name: "a guard over a prompt",
    sent: chat("/prompt", false),
    counted: ["Policy", "Guardrail", 1],
    told: ["guardrail", 1, "guardRequest"]
  },
  {
    name: "a guard over an answer",
    sent: chat("/answer", false),
    counted: ["Policy", "Guardrail", 1],
    told: ["guardrail", 1, "guardResponse"]
  },
  {
    name: "a guard over a stream",
    sent: chat("/answer", true),
    counted: ["Policy", "Guardrail", 3],
    told: ["guardrail", 3, "guardResponse"]
  },
  {
    name: "metadata of an issuer",
    sent: { path: "/.well-known/oauth-authorization-server/issued" },
    counted: ["Policy", "Http", 1],
    told: ["http", 1, "mcpAuthentication.wellKnown"]
  },
  {
    name: "registration at an issuer",
    sent: {
      method: "POST",
      path: "/.well-known/oauth-authorization-server/issued/client-registration",
      headers: json,
      body: "{}"
    },
    counted: ["Policy", "Http", 1],
    told: ["http", 1, "mcpAuthentication.wellKnown"]
  },
  { name: "a backend", sent: { path: "/plain" }, counted: ["Primary", "Http", 1], told: [undefined, 1] },
  { name: "a provider", sent: chat("/model", false), counted: ["Primary", "Llm", 1], told: [undefined, 1] },
  {
    name: "an MCP server over HTTP",
    sent: tool("over-http", "test_simple_text"),
    counted: ["Primary", "Mcp", 1],
    told: ["mcp t", 1 + handshake]
  },
  {
    name: "an MCP server over SSE",
    sent: tool("over-sse", "test_simple_text"),
    counted: ["Primary", "Mcp", 1],
    told: ["mcp t", 1 + handshake]
  },
  {
    name: "an MCP server over stdio",
    sent: tool("over-stdio", "test_simple_text"),
    counted: ["Primary", "Mcp", 1],
    told: ["mcp t", 1 + handshake]
  },
  {
    name: "an HTTP interface as an MCP server",
    sent: tool("interface", "ping"),
    counted: ["Primary", "Mcp", 1],
    told: ["mcp t", 1 + handshake]
  }
]

const description = JSON.stringify({
  openapi: "3.0.0",
  info: { title: "t", version: "1" },
  paths: { "/ping": { get: { operationId: "ping", responses: { 200: { description: "ok" } } } } }
})

const running = Effect.gen(function* () {
  const guard = yield* origin({ headers: json, body: '{"action":{}}' })
  const metadata = JSON.stringify({ registration_endpoint: "http://i.example/registration" })
  const issuer = yield* origin({ headers: json, body: metadata })
  const plain = yield* origin({ headers: json, body: "{}" })
  const delta = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
  const provider = yield* httpBackend(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    if (!body.includes('"stream":true'))
      return void response
        .writeHead(200, json)
        .end(JSON.stringify({ choices: [{ message: { role: "assistant", content: "hello" } }] }))
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const letter of "ab") {
      const judged = guard.received.length
      response.write(delta(letter.repeat(1100)))
      await until("the judgement", () => guard.received.length > judged)
    }
    response.end(`${delta("c")}data: [DONE]\n\n`)
  })
  const server = yield* Effect.acquireRelease(Effect.promise(startFixture), ({ close }) => Effect.promise(close))
  const sink = yield* collector
  const port = yield* nowhere
  const route = (path: string, backend: string, more = "") =>
    `- { matches: [{ path: { pathPrefix: ${path} } }], ${more} backends: [${backend}] }`
  const model = (guards: string) =>
    `{ ai: { name: m, provider: { openAI: {} }, hostOverride: "127.0.0.1:${portOf(provider.address())}" },
       policies: { ai: { promptGuard: { streaming: Enabled, ${guards} } } } }`
  const webhook = `[{ webhook: { target: { host: "${guard.address}" } } }]`
  const relay = (target: string) => `{ mcp: { statefulMode: stateless, targets: [{ name: t, ${target} }] } }`
  const text = `
gateways: { default: { port: ${port} } }
routes:
${[
  route("/prompt", model(`request: ${webhook}`), "policies: { urlRewrite: { path: { prefix: / } } },"),
  route("/answer", model(`response: ${webhook}`), "policies: { urlRewrite: { path: { prefix: / } } },"),
  route("/model", model(""), "policies: { urlRewrite: { path: { prefix: / } } },"),
  route("/plain", `{ host: "${plain.address}" }`),
  route("/over-http", relay(`mcp: { host: "http://127.0.0.1:${server.port}/mcp" }`)),
  route("/over-sse", relay(`sse: { host: "http://127.0.0.1:${server.port}/sse" }`)),
  route(
    "/over-stdio",
    relay(`stdio: { cmd: "${process.execPath}", args: ["${join(root, "test/outside/mcp/fixture-stdio.ts")}"] }`)
  ),
  route("/interface", relay(`openapi: { host: "${plain.address}", schema: ${JSON.stringify(description)} }`))
].join("\n")}
- matches: [{ path: { pathPrefix: /issued } }, { path: { pathPrefix: /.well-known } }]
  policies:
    mcpAuthentication:
      issuer: http://${issuer.address}/realms/r
      audiences: [a]
      provider: { keycloak: {} }
      jwks: '{"keys":[]}'
      resourceMetadata: { resource: "http://a.example/issued" }
  backends: [{ host: "${plain.address}" }]
`
  const program = yield* startSampled(text, sink)
  const listening = (component: string) =>
    Effect.promise(async () =>
      Number((await program.says(new RegExp(`address=127\\.0\\.0\\.1:(\\d+) component=${component}`)))[1])
    )
  const stats = yield* listening("stats")
  const counted = ([kind, subtype]: Kind["counted"]) =>
    Effect.promise(async () => {
      const { body } = await send(stats, { path: "/metrics" })
      const family = `headgate_upstream_call_duration_seconds_count{kind="${kind}",subtype="${subtype}"} `
      return Number(
        body
          .split("\n")
          .find((line) => line.startsWith(family))
          ?.slice(family.length) ?? 0
      )
    })
  return { port, admin: yield* listening("admin"), sink, counted }
})

const within = (inner: Span, outer: Span): boolean =>
  BigInt(inner.startTimeUnixNano) >= BigInt(outer.startTimeUnixNano) &&
  BigInt(inner.endTimeUnixNano) <= BigInt(outer.endTimeUnixNano)

describe("calls that are made for a request", () => {
  it.live("are told, timed and in its spans, whatever their kind", () =>
    Effect.gen(function* () {
      const { port, admin, sink, counted } = yield* running
      for (const { name, sent, status = 200, counted: where, told } of kinds) {
        const [scope, calls, node] = told
        const before = yield* counted(where)
        const events = yield* Effect.gen(function* () {
          const stream = yield* watch(`127.0.0.1:${admin}`)
          const answer = yield* Effect.promise(() => send(port, sent))
          assert.strictEqual(answer.status, status, `${name}: ${answer.body}`)
          return yield* Stream.runCollect(stream)
        }).pipe(Effect.scoped)
        assert.deepStrictEqual(traceProblems(events), [], name)

        const results = events.flatMap(({ scope, message, eventStart }) =>
          message.type === "backendCallResult" ? [{ scope: scope?.join(" "), node: message.by?.node, eventStart }] : []
        )
        const those = results.filter((result) => result.scope === scope)
        assert.deepStrictEqual(
          those.map((result) => result.node),
          Array.from({ length: calls }, () => node),
          name
        )
        assert.strictEqual((yield* counted(where)) - before, where[2], name)
      }

      const requests = () =>
        sink.spans
          .filter(({ kind }) => kind === 2)
          .sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1))
      const clientsOf = ({ traceId }: Span) => sink.spans.filter((span) => span.kind === 3 && span.traceId === traceId)
      /** Those of the kind that is meant: a request with guards calls its provider, too. */
      const meant = ({ counted: [, subtype] }: Kind, request: Span | undefined) =>
        request === undefined
          ? []
          : clientsOf(request).filter((span) => attributesOf(span)["hg.outbound.subtype"] === subtype.toLowerCase())
      yield* Effect.promise(() =>
        until("all spans", () => kinds.every((kind, index) => meant(kind, requests()[index]).length >= kind.told[1]))
      )
      assert.strictEqual(new Set(sink.spans.map(({ spanId }) => spanId)).size, sink.spans.length)
      for (const [index, kind] of kinds.entries()) {
        const { name, counted: where, told } = kind
        const [, calls, node] = told
        const request = requests()[index]!
        const clients = meant(kind, request)
        assert.strictEqual(clients.length, calls, name)
        for (const client of clients) {
          assert.strictEqual(attributesOf(client)["hg.outbound.kind"], where[0].toLowerCase(), name)
          const parent = sink.spans.find(({ spanId }) => spanId === client.parentSpanId)
          assert.strictEqual(parent?.traceId, request.traceId, name)
          assert.isTrue(parent?.name.endsWith(node ?? request.name), name)
          // Nobody waits for the reply to a notification.
          if (!client.name.startsWith("notifications/")) assert.isTrue(within(client, parent!), name)
        }
      }
    })
  )

  it.effect("are told of a key set that is asked for once more, by the policy that does", () =>
    Effect.gen(function* () {
      const { send, world } = yield* whole(`
gateways: { default: { port: 8080 } }
routes:
- policies: { jwtAuth: { issuer: i, audiences: [a], jwks: { url: "https://issuer.example/jwks" } } }
  backends: [{ host: "b.example:80" }]
`)
      yield* Effect.provideContext(Effect.sleep(60_000), world.timing)
      const header = Buffer.from('{"alg":"RS256","kid":"of-nobody"}').toString("base64url")
      const claims = Buffer.from('{"iss":"i","aud":"a"}').toString("base64url")
      const request: Request = {
        method: "GET",
        scheme: "http",
        authority: "a.example",
        path: "/",
        headers: [["authorization", `Bearer ${header}.${claims}.c2ln`]],
        body: undefined,
        prefix: undefined
      }
      const { status, events } = yield* send(request)
      assert.strictEqual(status, 401)
      const calls = events.flatMap(({ scope, message }) =>
        message.type === "backendCallStart" ? [[scope, message.target, message.by?.kind]] : []
      )
      assert.deepStrictEqual(calls, [[["http"], "issuer.example:443", "jwtAuth"]])
    }).pipe(Effect.scoped)
  )
})
