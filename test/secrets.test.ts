/** What the configuration holds in confidence is never told: not by the dump, a trace, the log, a graph or an error. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema, Stream } from "effect"
import { problems, start } from "../src/main/library.ts"
import { watch } from "../src/main/trace.ts"
import { send } from "./client.ts"
import { origin } from "./origin.ts"

/** A secret as people choose them: printable, long enough not to be found by chance. */
const secret = Arbitrary.schema(Schema.String.check(Schema.isPattern(/^[!-~]{12,40}$/)))

const quoted = (text: string) => JSON.stringify(text)
const hex = (text: string) => Buffer.from(text).toString("hex").padEnd(64, "0").slice(0, 64)

/** A configuration with a secret in every place that the language has for one and that this build serves. */
const configuration = (key: string, upstream: string) => `
config:
  session: { key: ${hex(key)} }
  xdsAuthToken: ${quoted(key)}
  caAuthToken: ${quoted(key)}
  sensitiveHeaders: [x-internal]
gateways: { default: { port: 8080 } }
llm:
  gateways: default
  policies:
    apiKey: { mode: strict, keys: [{ key: ${quoted(key)} }] }
  models:
    - name: demo
      provider: { custom: { formats: [{ type: completions }] } }
      params: { apiKey: ${quoted(key)}, baseUrl: "http://${upstream}" }
routes:
  - name: keyed
    matches: [{ path: { pathPrefix: /keyed } }]
    policies:
      apiKey: { mode: strict, keys: [{ key: ${quoted(key)}, metadata: { user: ada } }] }
      requestHeaderModifier: { set: { authorization: ${quoted(`Bearer ${key}`)}, x-internal: ${quoted(key)} } }
    backends: [{ host: "${upstream}" }]
  - name: open
    matches: [{ path: { pathPrefix: /open } }]
    policies:
      requestHeaderModifier: { set: { authorization: ${quoted(`Bearer ${key}`)} } }
      responseHeaderModifier: { set: { x-internal: ${quoted(key)} } }
    backends: [{ host: "${upstream}" }]
  - name: shown
    matches: [{ path: { pathPrefix: /shown } }]
    policies:
      backendAuth:
        key: { value: ${quoted(key)}, location: { header: { name: X-Backend-Key } } }
        credentials:
          - { location: { queryParameter: { name: backend_key } }, key: ${quoted(key)} }
          - { location: { cookie: { name: backend } }, key: ${quoted(key.replaceAll(";", ":"))} }
    backends: [{ host: "${upstream}" }]
  - name: proxied
    matches: [{ path: { pathPrefix: /proxied } }]
    backends:
      - host: "inner.invalid:80"
        policies: { backendTunnel: { proxy: { host: "${upstream}" }, policies: { backendAuth: { key: ${quoted(key)} } } } }
  - name: nowhere
    matches: [{ path: { pathPrefix: /nowhere } }]
    backends:
      - host: "127.0.0.1:1"
        policies: { backendAuth: { key: { value: ${quoted(key)}, location: { queryParameter: { name: backend_key } } } } }
`

/** Mistakes that put a secret where something else is expected. */
const mistakes = (key: string): ReadonlyArray<string> => [
  `config: { session: { key: ${quoted(key)} } }`,
  `config: { xdsAuthToken: [${quoted(key)}] }`,
  `routes: [{ policies: { apiKey: ${quoted(key)} } }]`,
  `routes: [{ policies: { apiKey: { keys: ${quoted(key)} } } }]`,
  `routes: [{ policies: { apiKey: { keys: [${quoted(key)}] } } }]`,
  `routes: [{ policies: { apiKey: { keys: [{ key: { value: ${quoted(key)} } }] } } }]`,
  `routes: [{ policies: { apiKey: { keys: [{ keyHash: ${quoted(key)} }] } } }]`,
  `routes: [{ policies: { apiKey: { keys: [{ key: ok, keyHash: ${quoted(key)} }] } } }]`,
  `llm: { models: [{ name: m, provider: openAI, params: { apiKey: [${quoted(key)}] } }] }`,
  `routes: [{ policies: { backendAuth: { key: { value: [${quoted(key)}] } } } }]`,
  // A blank that was forgotten, and a key that was.
  `routes: [{ policies: { apiKey: { keys: [{ key:${key.replace(/[^\w-]/g, "_")} }] } } }]`,
  `routes: [{ policies: { apiKey: { keys: [{ ${key.replace(/[^\w-]/g, "_")} }] } } }]`,
  // Through the environment, and in text that is no YAML.
  "routes: [{ policies: { apiKey: { keys: [{ key:$SECRET }] } } }]",
  `routes: [{ policies: { backendAuth: { "key:$$ ${key.replace(/[^\w-]/g, "_")}": } } }]`,
  `mcp: { targets: [{ stdio: { "args:[${key.replace(/[^\w-]/g, "_")}, $SECRET": 1 } }] }`,
  "routes: [{ policies: { apiKey: { keys: [{ key: a, metadata: { $SECRET: { $SECRET: [" +
    "$SECRET" +
    "] } }, x: 1 }] } } }]",
  "routes: [{ policies: { apiKey: { keys: [{ keyHash: $SECRET }] } } }]",
  "routes: [{ policies: { apiKey: { keys: [{ key: [ $SECRET"
]

const served = "gateways: { default: { port: 8080 } }\n"

/** In expressions, a secret whose quotes were forgotten is a name. */
const unquoted = ["request.headers['x'] == $WORD", "request.$WORD == 'a'", "$WORD()", "'a' $WORD"].flatMap((text) => [
  `${served}routes: [{ policies: { authorization: { rules: ["${text}"] } } }]`,
  `${served}routes: [{ policies: { directResponse: { conditional: [{ condition: "${text}", policy: { status: 200 } }] } } }]`
])

describe("secrets", () => {
  it.live("are in no dump, graph, log, metric or trace of a gateway that uses them", () =>
    Effect.gen(function* () {
      const backend = yield* origin({ body: "done" })
      for (const key of yield* Arbitrary.sampleEffect(secret, { count: 4, seed: 7 }))
        yield* Effect.scoped(
          Effect.gen(function* () {
            const said: Array<string> = []
            const gateway = yield* start(configuration(key, backend.address), {
              ephemeral: true,
              host: "127.0.0.1",
              env: { RUST_LOG: "trace" },
              log: (line) => said.push(line)
            })
            const headers = { authorization: `Bearer ${key}` }
            const asked = [
              { path: "/keyed/a", headers },
              { path: "/keyed/a", headers: { authorization: "Bearer wrong" } },
              { path: "/keyed/a" },
              { path: "/open/b" },
              { path: "/shown/c?x=1" },
              { path: "/nowhere/d" },
              { path: "/proxied/e" },
              {
                method: "POST",
                path: "/v1/chat/completions",
                headers: { ...headers, "content-type": "application/json" },
                body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "hi" }] })
              }
            ]
            const statuses: Array<number> = []
            for (const sent of asked) {
              const events = yield* watch(gateway)
              statuses.push((yield* Effect.promise(() => send(gateway.port(8080)!, sent))).status)
              said.push(...(yield* Stream.runCollect(events)).map((event) => JSON.stringify(event)))
            }
            assert.deepStrictEqual(statuses.slice(0, 7), [200, 401, 401, 200, 200, 503, 200])
            for (const path of ["/config_dump", "/debug/graph", "/debug/graph?format=mermaid", "/memory"])
              said.push((yield* Effect.promise(() => send(gateway.ports.admin!, { path }))).body)
            said.push((yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))).body)
            const forms = [key, JSON.stringify(key).slice(1, -1), hex(key), encodeURIComponent(key)]
            for (const form of forms) for (const text of said) assert.isFalse(text.includes(form), `${form} in ${text}`)
            // The backend did get it: this is no test of secrets that nobody uses.
            assert.isTrue(backend.received.some(({ headers }) => headers.authorization === `Bearer ${key}`))
            assert.isTrue(backend.received.some(({ headers }) => headers["x-backend-key"] === key))
            assert.isTrue(backend.received.some(({ headers }) => headers["proxy-authorization"] === `Bearer ${key}`))
          })
        )
    })
  )

  it.live.prop(
    "are in no message about a configuration that has them in the wrong place",
    [secret],
    ([key]) =>
      Effect.gen(function* () {
        for (const text of mistakes(key)) {
          const found = yield* Effect.promise(() => problems(text, { env: { SECRET: key } }))
          assert.isNotEmpty(found, text)
          for (const problem of found)
            for (const form of [key, JSON.stringify(key).slice(1, -1), key.replace(/[^\w-]/g, "_")])
              assert.notInclude(JSON.stringify(problem), form, text)
        }
      }),
    { arbitrary: { runs: 30 } }
  )

  it.live("are in no error of a start or a reload", () =>
    Effect.gen(function* () {
      const key = "correct-horse-battery"
      const gateway = yield* start(served, { ephemeral: true, env: { SECRET: key, WORD: key.replaceAll("-", "") } })
      for (const text of [...mistakes(key), ...unquoted]) {
        const failed = yield* Effect.result(gateway.reload(text))
        assert.isTrue(Result.isFailure(failed), text)
        if (Result.isFailure(failed))
          for (const form of [key, key.replaceAll("-", "")])
            assert.notInclude(`${failed.failure} ${JSON.stringify(failed.failure)}`, form, text)
      }
    })
  )
})
