/**
 * The table of error responses: what every failure of the proxy itself answers, in plain HTTP and to gRPC callers. One
 * gateway, one route for each row.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Headgate, start } from "../src/main/library.ts"
import { issuer, keySet, token } from "../src/main/testing.ts"
import { type Received, type Sent, send } from "./client.ts"
import { nowhere, origin } from "./origin.ts"

interface Row {
  readonly condition: string
  /** Policies and backends of the route, in flow style. */
  readonly route?: string
  /** Default: a prefix of its own. */
  readonly match?: (path: string) => string
  readonly sent?: Sent
  /** Requests that go before. */
  readonly before?: number
  readonly status: number
  readonly body: string | RegExp
  readonly headers?: Readonly<Record<string, string | RegExp>>
  /** The gRPC status, and the message where it is not the body. */
  readonly grpc: readonly [status: number, message?: string | RegExp]
}

const jwt = `jwtAuth: { mode: strict, issuer: "${issuer}", audiences: [headgate], jwks: ${JSON.stringify(keySet)} }`
const bearer = (value: string): Sent => ({ headers: { authorization: `Bearer ${value}` } })

const rows: ReadonlyArray<Row> = [
  { condition: "no route", status: 404, body: "route not found", grpc: [12] },
  { condition: "a route without backends", route: "{}", status: 500, body: "no valid backends", grpc: [14] },
  {
    condition: "backends of weight 0 alone",
    route: '{ backends: [{ host: "$ORIGIN", weight: 0 }] }',
    status: 500,
    body: "no valid backends",
    grpc: [14]
  },
  {
    condition: "groups of routes in a circle",
    route: "{ backends: [{ routeGroup: around }] }",
    status: 500,
    body: "route delegation cycle detected",
    grpc: [2]
  },
  {
    condition: "a group without a route that matches",
    route: "{ backends: [{ routeGroup: empty }] }",
    status: 404,
    body: "route not found",
    grpc: [12]
  },
  {
    condition: "a name that does not resolve",
    route: '{ backends: [{ host: "nowhere.invalid:80" }] }',
    status: 503,
    body: "backends required DNS resolution which failed",
    grpc: [14]
  },
  {
    condition: "nobody listens",
    route: '{ backends: [{ host: "$NOWHERE" }] }',
    status: 503,
    body: "upstream call failed: connection refused: ECONNREFUSED",
    grpc: [14]
  },
  {
    condition: "the backend closes without an answer",
    route: '{ backends: [{ host: "$ORIGIN" }] }',
    sent: { headers: { "x-do": "close" } },
    status: 503,
    body: "upstream call failed: reset: the connection was closed before there was a response",
    grpc: [14]
  },
  {
    condition: "the backend takes too long",
    route: '{ policies: { timeout: { backendRequestTimeout: 30ms } }, backends: [{ host: "$ORIGIN" }] }',
    sent: { headers: { "x-do": "nothing" } },
    status: 504,
    body: "upstream call timeout",
    grpc: [14]
  },
  {
    condition: "the request takes too long",
    route: '{ policies: { timeout: { requestTimeout: 30ms } }, backends: [{ host: "$ORIGIN" }] }',
    sent: { headers: { "x-do": "nothing" } },
    status: 504,
    body: "request timeout",
    grpc: [14]
  },
  {
    condition: "no token",
    route: `{ policies: { ${jwt} }, backends: [{ host: "$ORIGIN" }] }`,
    status: 401,
    body: "authentication failure: no bearer token found",
    grpc: [16]
  },
  {
    condition: "a token that is none",
    route: `{ policies: { ${jwt} }, backends: [{ host: "$ORIGIN" }] }`,
    sent: bearer("a.b.c"),
    status: 401,
    body: /^authentication failure: .+$/,
    grpc: [16]
  },
  {
    condition: "a token of yesterday",
    route: `{ policies: { ${jwt} }, backends: [{ host: "$ORIGIN" }] }`,
    sent: bearer(token({ aud: "headgate", exp: 1 })),
    status: 401,
    body: /^authentication failure: .+$/,
    grpc: [16]
  },
  ...[undefined, bearer("a.b.c")].map(
    (sent): Row => ({
      condition: `an MCP route ${sent === undefined ? "without a token" : "with a token that is none"}`,
      route: `{ policies: { mcpAuthentication: { issuer: "${issuer}", audiences: [headgate], jwks: ${JSON.stringify(keySet)}, resourceMetadata: { resource: "http://mcp.example/mcp" } } }, backends: [{ host: "$ORIGIN" }] }`,
      ...(sent === undefined ? {} : { sent }),
      status: 401,
      body: '{"error":"unauthorized","error_description":"JWT token required"}',
      headers: {
        "content-type": "application/json",
        "www-authenticate": /^Bearer resource_metadata="?http:\/\/.+\/\.well-known\/oauth-protected-resource/
      },
      grpc: [16, /token/]
    })
  ),
  {
    condition: "no API key",
    route: '{ policies: { apiKey: { mode: strict, keys: [{ key: sealed }] } }, backends: [{ host: "$ORIGIN" }] }',
    status: 401,
    body: "api key authentication failure: no API Key found",
    grpc: [16]
  },
  {
    condition: "an API key that nobody knows",
    route: '{ policies: { apiKey: { mode: strict, keys: [{ key: sealed }] } }, backends: [{ host: "$ORIGIN" }] }',
    sent: bearer("wrong"),
    status: 401,
    body: "api key authentication failure: invalid credentials",
    grpc: [16]
  },
  {
    condition: "a rule denies",
    route: `{ policies: { authorization: { rules: ['request.method == "NEVER"'] } }, backends: [{ host: "$ORIGIN" }] }`,
    status: 403,
    body: "authorization failed",
    grpc: [7]
  },
  {
    condition: "a rule that reads the body, and the body is too large",
    route: `{ policies: { buffer: { request: { maxBytes: 2 } }, authorization: { rules: ['size(request.body) > 0'] } }, backends: [{ host: "$ORIGIN" }] }`,
    sent: { method: "POST", body: "x".repeat(3_000_000) },
    status: 413,
    body: "",
    grpc: [2, "request body over 2097152 bytes"]
  },
  {
    condition: "an empty bucket",
    route:
      '{ policies: { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1h }] }, backends: [{ host: "$ORIGIN" }] }',
    status: 429,
    body: "rate limit exceeded",
    before: 1,
    headers: { "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": /^\d+$/ },
    grpc: [14]
  },
  {
    condition: "a request body over its limit",
    route: '{ policies: { buffer: { request: { maxBytes: 4 } } }, backends: [{ host: "$ORIGIN" }] }',
    sent: { method: "POST", body: "hello" },
    status: 413,
    body: "",
    grpc: [2, "request body over 4 bytes"]
  },
  {
    condition: "a response body over its limit",
    route: '{ policies: { buffer: { response: { maxBytes: 4 } } }, backends: [{ host: "$ORIGIN" }] }',
    status: 502,
    body: "",
    grpc: [14, "response body over 4 bytes"]
  },
  {
    condition: "a prefix rewrite where nothing was matched by a prefix",
    route: '{ policies: { urlRewrite: { path: { prefix: /x } } }, backends: [{ host: "$ORIGIN" }] }',
    match: (path) => `{ path: { exact: ${path} } }`,
    status: 500,
    body: "failed to apply filters: prefix rewrite on a route that was not matched by a path prefix",
    grpc: [2]
  },
  {
    condition: "a prefix redirect where nothing was matched by a prefix",
    route: "{ policies: { requestRedirect: { path: { prefix: /x } } } }",
    match: (path) => `{ path: { exact: ${path} } }`,
    status: 500,
    body: "failed to apply filters: prefix redirect on a route that was not matched by a path prefix",
    grpc: [2]
  },
  {
    condition: "the backend changes to another protocol than was asked for",
    route: '{ backends: [{ host: "$ORIGIN" }] }',
    sent: { headers: { "x-do": "switch", connection: "upgrade", upgrade: "websocket" } },
    status: 502,
    body: "request upgrade failed, backend tried other but websocket was requested",
    grpc: [14]
  }
]

const pathOf = (index: number) => `/row${index}`

class Running extends Context.Service<Running, Headgate>()("test/errors/Running") {}

const running = Layer.effect(
  Running,
  Effect.gen(function* () {
    const backend = yield* origin((request) => {
      const wish = request.headers["x-do"]
      return wish === "nothing" ? { silent: true } : wish === "close" ? { closes: true } : { body: "hello, world" }
    })
    backend.server.on("upgrade", (_, socket) => {
      socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n")
    })
    const routes = rows.flatMap(({ route, match }, index) => {
      if (route === undefined) return []
      const path = pathOf(index)
      return [
        `  - { name: row${index}, matches: [${match?.(path) ?? `{ path: { pathPrefix: ${path} } }`}], ${route.replace(/^\{ ?/, "")}`
      ]
    })
    const text = `
binds:
  - port: 8080
    listeners:
      - name: main
        hostname: main.example
        routes:
${routes.map((line) => `      ${line}`).join("\n")}
routeGroups:
  - { name: around, routes: [{ name: again, backends: [{ routeGroup: around }] }] }
  - { name: empty, routes: [{ matches: [{ path: { exact: /elsewhere } }] }] }
`
    return yield* start(
      text.replaceAll("$ORIGIN", backend.address).replaceAll("$NOWHERE", `127.0.0.1:${yield* nowhere}`),
      { ephemeral: true, host: "127.0.0.1" }
    )
  })
)

const matches = (expected: string | RegExp, actual: unknown, what: string) => {
  if (typeof expected === "string") assert.strictEqual(actual, expected, what)
  else assert.match(String(actual), expected, what)
}

layer(running, { excludeTestServices: true })("error responses", (it) => {
  const ask = (index: number, { headers, ...sent }: Sent = {}) =>
    Effect.gen(function* () {
      const gateway = yield* Running
      const all = { host: "main.example", ...headers }
      return yield* Effect.promise(
        (): Promise<Received> => send(gateway.port(8080)!, { path: pathOf(index), ...sent, headers: all })
      )
    })

  for (const [index, { condition, sent, before = 0, status, body, headers, grpc }] of rows.entries()) {
    it.effect(`${condition}: ${status}`, () =>
      Effect.gen(function* () {
        for (let i = 0; i < before; i++) yield* ask(index, sent)
        const answer = yield* ask(index, sent)
        assert.strictEqual(answer.status, status, answer.body)
        matches(body, answer.body, "body")
        const expected: Row["headers"] = body === "" ? {} : { "content-type": "text/plain", ...headers }
        for (const [name, value] of Object.entries(expected ?? {})) matches(value, answer.headers[name], name)
        if (body === "") assert.notProperty(answer.headers, "content-type")
      })
    )

    it.effect(`${condition}, for a gRPC caller: status ${grpc[0]}`, () =>
      Effect.gen(function* () {
        const answer = yield* ask(index, {
          ...sent,
          headers: { ...sent?.headers, "content-type": "application/grpc+proto" }
        })
        assert.deepStrictEqual([answer.status, answer.body], [200, ""])
        assert.strictEqual(answer.headers["content-type"], "application/grpc")
        assert.strictEqual(answer.headers["grpc-status"], String(grpc[0]))
        matches(grpc[1] ?? body, decodeURIComponent(String(answer.headers["grpc-message"])), "grpc-message")
        assert.strictEqual(answer.headers["content-length"], "0")
      })
    )
  }

  it.effect("no listener for the host: 404, to gRPC callers status 12", () =>
    Effect.gen(function* () {
      const plain = yield* ask(0, { headers: { host: "other.example" } })
      assert.deepStrictEqual([plain.status, plain.body], [404, "listener not found"])
      const grpc = yield* ask(0, { headers: { host: "other.example", "content-type": "application/grpc" } })
      assert.deepStrictEqual(
        [grpc.status, grpc.headers["grpc-status"], grpc.headers["grpc-message"]],
        [200, "12", "listener not found"]
      )
    })
  )
})

describe("grpc-message", () => {
  it("is percent-encoded beyond printable ASCII", async () => {
    const { render } = await import("../src/pipeline/render.ts")
    const { HeaderList } = await import("../src/http/header-list.ts")
    const { RequestHead } = await import("../src/http/message.ts")
    const headers = new HeaderList(["content-type", "application/grpc"])
    const request = new RequestHead("POST", "http", "a.example", "/", headers)
    const error = { _tag: "X", status: 400, message: "50% ä\n🎈", source: "client" } as const
    const answer = render(error, request)
    assert.strictEqual(answer.headers.get("grpc-message"), "50%25 %C3%A4%0A%F0%9F%8E%88")
    assert.strictEqual(answer.headers.get("grpc-status"), "13")
  })
})
