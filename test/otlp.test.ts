/** What leaves the process for a collector: spans of sampled requests, in the client's trace, and metrics with what calls cost. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { spanBatches } from "../spec/span-batches.ts"
import { send } from "./client.ts"
import { attributesOf, type Collector, collector } from "./collector.ts"
import { nowhere, origin } from "./origin.ts"
import { startHeadgate, until } from "./program.ts"

const headgate = (text: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startHeadgate(["-c", text], { OTEL_BSP_SCHEDULE_DELAY: "50", ...env })),
    (program) => Effect.promise(() => program[Symbol.asyncDispose]())
  )

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const parent = "00f067aa0ba902b7"
const traceparent = (sampled: boolean) => `00-${traceId}-${parent}-${sampled ? "01" : "00"}`

const requestSpan = ({ spans }: Collector) => spans.find(({ kind }) => kind === 2)

describe("spans of a sampled request", () => {
  it.live(
    "are one for itself, in the client's trace, one for each stage, and one for the call, which the backend hears of",
    () =>
      Effect.gen(function* () {
        const sink = yield* collector
        const backend = yield* origin({ body: "ok" })
        const port = yield* nowhere
        yield* headgate(
          `
gateways: { default: { port: ${port} } }
routes:
- name: api
  matches: [{ path: { pathPrefix: /api } }]
  policies:
    cors: { allowOrigins: ["*"] }
    requestHeaderModifier: { set: { x-a: b } }
  backends: [{ host: "${backend.address}" }]
`,
          {
            OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${sink.port}`,
            OTEL_METRICS_EXPORTER: "none",
            OTEL_TRACES_SAMPLER: "parentbased_always_off",
            OTEL_SERVICE_NAME: "edge"
          }
        )
        yield* Effect.promise(async () => {
          const ask = (headers: Readonly<Record<string, string>>) =>
            send(port, { path: "/api/x?a=1&secret=hush", headers })
          // Who does not ask for it is not traced; and what the client's trace says goes on untouched.
          await ask({})
          await ask({ traceparent: traceparent(false) })
          await ask({ traceparent: "nonsense" })
          await ask({ traceparent: traceparent(true), tracestate: "vendor=1" })
          await until("the spans", () => requestSpan(sink) !== undefined)
        })
        const { spans } = sink
        assert.isTrue(spans.every((span) => span.traceId === traceId))
        const request = requestSpan(sink)!
        assert.strictEqual(spans.filter(({ kind }) => kind === 2).length, 1)
        assert.deepStrictEqual([request.name, request.parentSpanId], ["GET /api/*", parent])
        assert.deepInclude(attributesOf(request), {
          route: "default/api",
          "http.method": "GET",
          "http.status": 200,
          "http.path": "/api/x?a=1&secret=<redacted>",
          "url.scheme": "http",
          "network.protocol.version": "1.1"
        })
        const children = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
        assert.sameMembers(
          children.map(({ name }) => name),
          ["stage.route.cors", "stage.route.requestHeaderModifier", `GET ${backend.address}`]
        )
        const call = children.find(({ kind }) => kind === 3)!
        const heard = backend.received.map(({ headers }) => headers)
        assert.deepStrictEqual(
          heard.map((headers) => headers.traceparent),
          [undefined, traceparent(false), "nonsense", `00-${traceId}-${call.spanId}-01`]
        )
        assert.strictEqual(heard.at(-1)?.["tracestate"], "vendor=1")
        assert.deepInclude(sink.resources[0], { "service.name": "edge" })
      })
  )

  it.live("are made without OTEL_TRACES_SAMPLER, as the specification says, and say what failed", () =>
    Effect.gen(function* () {
      const sink = yield* collector
      const port = yield* nowhere
      yield* headgate(
        `
gateways: { default: { port: ${port} } }
routes: [{ backends: [{ host: "127.0.0.1:${yield* nowhere}" }] }]
`,
        { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${sink.port}/v1/traces` }
      )
      yield* Effect.promise(async () => {
        assert.strictEqual((await send(port)).status, 503)
        await until("the spans", () => requestSpan(sink) !== undefined)
      })
      for (const span of sink.spans.filter(({ kind }) => kind !== 1)) {
        assert.strictEqual(span.status.code, 2)
        assert.match(span.status.message ?? "", /^upstream call failed: /)
      }
      assert.deepInclude(attributesOf(requestSpan(sink)!), { "http.status": 503 })
    })
  )
})

describe("batches of spans", () => {
  it.live("are as OTEL_BSP_* say", () =>
    Effect.gen(function* () {
      const sink = yield* collector
      const port = yield* nowhere
      yield* headgate(
        `
gateways: { default: { port: ${port} } }
routes: [{ policies: { directResponse: { status: 200 } } }]
`,
        {
          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${sink.port}/v1/traces`,
          OTEL_BSP_SCHEDULE_DELAY: "3600000",
          OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1"
        }
      )
      const asked = 3
      yield* Effect.promise(async () => {
        for (let i = 0; i < asked; i++) assert.strictEqual((await send(port)).status, 200)
        await until("all spans", () => sink.spans.filter(({ kind }) => kind === 2).length === asked)
      })
      // Each came alone, and none waited for an hour.
      assert.strictEqual(sink.resources.length, sink.spans.length)
    })
  )

  it("say what is wrong with OTEL_BSP_*, and are otherwise as these say", () => {
    assert.deepStrictEqual(
      spanBatches({
        OTEL_BSP_SCHEDULE_DELAY: "100",
        OTEL_BSP_EXPORT_TIMEOUT: "200",
        OTEL_BSP_MAX_QUEUE_SIZE: "300",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: ""
      }),
      Result.succeed({ scheduledDelayMillis: 100, exportTimeoutMillis: 200, maxQueueSize: 300 })
    )
    assert.deepStrictEqual(
      spanBatches({ OTEL_BSP_SCHEDULE_DELAY: "3600001" }),
      Result.fail("OTEL_BSP_SCHEDULE_DELAY: expected a whole number from 1 to 3600000")
    )
  })
})

describe("metrics", () => {
  it.live("are pushed with what model calls used and cost; the last ones when the program ends", () =>
    Effect.gen(function* () {
      const sink = yield* collector
      const port = yield* nowhere
      const program = yield* headgate(
        `
config:
  modelCatalog: [{ inline: { providers: { mock: { models: { m: { rates: { input: "1000000", output: "2000000" } } } } } } }]
llm: { port: ${port}, models: [{ name: m, provider: mock }] }
`,
        // No interval passes in this test: what arrives was sent at the end.
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${sink.port}`,
          OTEL_TRACES_EXPORTER: "none",
          OTEL_METRIC_EXPORT_INTERVAL: "600000"
        }
      )
      const usage = yield* Effect.promise(async () => {
        const { status, body } = await send(port, {
          method: "POST",
          path: "/v1/chat/completions",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] })
        })
        assert.strictEqual(status, 200)
        program.child.kill("SIGTERM")
        assert.strictEqual(await program.ended, 0)
        return JSON.parse(body).usage as { readonly prompt_tokens: number; readonly completion_tokens: number }
      })
      const points = (name: string) => sink.metrics.get(`headgate_${name}`) ?? []
      assert.deepStrictEqual(
        points("requests_total").map((point) => [point.asDouble, attributesOf(point)["status"]]),
        [[1, "200"]]
      )
      const tokens = new Map(
        points("gen_ai_client_token_usage").map((point) => [attributesOf(point)["gen_ai_token_type"], point.sum])
      )
      assert.deepStrictEqual(
        [tokens.get("input"), tokens.get("output")],
        [usage.prompt_tokens, usage.completion_tokens]
      )
      assert.deepStrictEqual(
        points("gen_ai_client_cost_usd_total").map(({ asDouble }) => asDouble),
        [usage.prompt_tokens + 2 * usage.completion_tokens]
      )
      assert.deepStrictEqual(sink.spans, [])
    })
  )
})
