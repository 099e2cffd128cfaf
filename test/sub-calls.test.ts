/** What is seen of the calls that stages make while a request waits for them: events of traces, spans, metrics, and the time of the stage. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type Headgate, start } from "../src/main/library.ts"
import { traceProblems } from "../src/main/testing.ts"
import { type TraceEvent, watch } from "../src/main/trace.ts"
import { type Sent, send } from "./client.ts"
import { attributesOf, collector, startSampled } from "./collector.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { nowhere, type OriginAnswer, origin } from "./origin.ts"
import { until } from "./program.ts"

const chat: Sent = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "a-word-of-the-prompt" }] })
}

/** A credential of the webhook, and one in the address that it is asked at. */
const secrets = ["hush-in-a-header", "hush-in-the-query"]

const guarded = (address: string, more = "", port = 8080) => `
gateways: { default: { port: ${port} } }
llm:
  models: [{ name: "*", provider: mock }]
  guardrails:
    request:
    - webhook:
        target: { host: "${address}", policies: { requestHeaderModifier: { set: { x-key: ${secrets[0]} } } } }
        headers: { ":path": '"/check?token=${secrets[1]}"' }
        ${more}
`

const passing: OriginAnswer = {
  headers: { "content-type": "application/json" },
  body: '{"action":{"reason":"a-word-of-the-guard"}}'
}

const started = (text: string) => start(text, { ephemeral: true, host: "127.0.0.1" })

const traced = (gateway: Headgate, sent: Sent) =>
  Effect.gen(function* () {
    const stream = yield* watch(gateway)
    const { status } = yield* Effect.promise(() => send(gateway.port(8080)!, sent))
    const events = yield* Stream.runCollect(stream)
    assert.deepStrictEqual(traceProblems(events), [])
    return { status, events }
  }).pipe(Effect.scoped)

const callsIn = (events: ReadonlyArray<TraceEvent>) =>
  events.flatMap(({ scope, severity, eventStart, message }) =>
    scope !== undefined && (message.type === "backendCallStart" || message.type === "backendCallResult")
      ? [{ scope, severity, timed: eventStart !== null, ...message }]
      : []
  )

const byGuard = {
  kind: "llm",
  phase: "backend",
  node: "guardRequest",
  source: ":7:7 llm.guardrails.request[0]"
}

describe("the trace of a request", () => {
  it.live("tells of each call of a stage who made it, whom it asked, how long it took and what came of it", () =>
    Effect.gen(function* () {
      const guard = yield* origin(passing)
      const gateway = yield* started(guarded(guard.address))
      const { status, events } = yield* traced(gateway, chat)
      assert.strictEqual(status, 200)
      const [begun, ended, ...others] = callsIn(events)
      assert.deepStrictEqual(others, [])
      const by = begun?.by ?? assert.fail("there is no call")
      assert.deepStrictEqual({ ...by, source: by.source.slice(by.source.indexOf(":")) }, byGuard)
      const common = { scope: ["guardrail"], severity: "info", by } as const
      assert.deepStrictEqual(begun, { ...common, timed: false, type: "backendCallStart", target: guard.address })
      assert.deepStrictEqual(ended, { ...common, timed: true, type: "backendCallResult", status: 200, error: null })
      // It is told before its stage, which ends later.
      const stage = events.findIndex(({ message }) => message.type === "policy" && message.node === "guardRequest")
      const call = events.findIndex(({ scope, message }) => scope !== undefined && message.type === "backendCallResult")
      assert.isBelow(call, stage)
      const [{ message, eventEnd } = assert.fail()] = events.slice(stage)
      assert.isAtLeast(
        message.type === "policy" ? message.durationUs : 0,
        events[call]!.eventEnd - events[call]!.eventStart!
      )
      assert.isAtLeast(eventEnd, events[call]!.eventEnd)
    })
  )

  it.live("holds nothing of what is asked and replied beyond that", () =>
    Effect.gen(function* () {
      const guard = yield* origin(passing)
      const gateway = yield* started(guarded(guard.address))
      const { events } = yield* traced(gateway, chat)
      assert.deepInclude(guard.received[0], { path: `/check?token=${secrets[1]}` })
      assert.strictEqual(guard.received[0]?.headers["x-key"], secrets[0])
      const shown = JSON.stringify(events.filter(({ scope }) => scope !== undefined))
      for (const word of [...secrets, "a-word-of-the-guard", "a-word-of-the-prompt"]) assert.notInclude(shown, word)
    })
  )

  it.live("tells why a call failed, and what status it ended with", () =>
    Effect.gen(function* () {
      const down = `127.0.0.1:${yield* nowhere}`
      const slow = yield* origin({ silent: true })
      const failing = yield* origin({ status: 500 })
      const resultOf = (address: string, more = "failureMode: failOpen") =>
        Effect.gen(function* () {
          const gateway = yield* started(guarded(address, more))
          const { status, events } = yield* traced(gateway, chat)
          assert.strictEqual(status, 200)
          const { type, ...result } = callsIn(events).at(-1)!
          return type === "backendCallResult" && "error" in result
            ? [result.severity, result.status, result.error]
            : assert.fail(type)
        })
      assert.deepStrictEqual(yield* resultOf(down), [
        "error",
        null,
        "upstream call failed: connection refused: ECONNREFUSED"
      ])
      assert.deepStrictEqual(yield* resultOf(failing.address), ["error", 500, null])
      assert.deepStrictEqual(
        yield* Effect.gen(function* () {
          const text = guarded(slow.address, "failureMode: failOpen").replace(
            "policies: {",
            "policies: { http: { requestTimeout: 200ms },"
          )
          const { events } = yield* traced(yield* started(text), chat)
          return callsIn(events).map((call) => ("error" in call ? call.error : null))
        }),
        [null, "upstream call timeout"]
      )
    })
  )

  it.live("tells of a call that its client did not wait for", () =>
    Effect.gen(function* () {
      const slow = yield* origin({ silent: true })
      const gateway = yield* started(guarded(slow.address))
      const stream = yield* watch(gateway)
      yield* Effect.promise(async () => {
        const client = new RawClient(gateway.port(8080)!)
        client.send(
          `POST ${chat.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${chat.body!.length}\r\n\r\n${chat.body}`
        )
        await eventually(() => slow.received.length === 1)
        client.socket.destroy()
      })
      const events = yield* Stream.runCollect(stream)
      assert.deepInclude(callsIn(events).at(-1), { type: "backendCallResult", status: null, severity: "error" })
    })
  )

  it.live("tells of metadata that a policy fetches, by the policy that does", () =>
    Effect.gen(function* () {
      const issuer = yield* origin(({ path }) => ({ body: path.includes("certs") ? '{"keys":[]}' : "{}" }))
      const gateway = yield* started(`
gateways: { default: { port: 8080 } }
mcp:
  targets: [{ name: t, mcp: { host: "http://127.0.0.1:1/mcp" } }]
  policies:
    mcpAuthentication:
      issuer: http://${issuer.address}/realms/r
      audiences: [a]
      provider: { keycloak: {} }
      resourceMetadata: { resource: "http://a.example/mcp" }
`)
      const { events } = yield* traced(gateway, { path: "/.well-known/oauth-authorization-server/mcp" })
      const calls = callsIn(events)
      assert.deepStrictEqual(
        calls.map(({ scope, type }) => [scope, type]),
        [
          [["http"], "backendCallStart"],
          [["http"], "backendCallResult"]
        ]
      )
      for (const call of calls) assert.deepInclude("by" in call ? call.by : undefined, { kind: "mcpAuthentication" })
      assert.deepInclude(calls[0], { target: issuer.address })
    })
  )
})

describe("metrics", () => {
  const counts = (gateway: Headgate, family: string) =>
    Effect.promise(async () => {
      const { body } = await send(gateway.ports.stats!, { path: "/metrics" })
      return body.split("\n").flatMap((line) => {
        const found = /^headgate_(\w+)\{(.*)\} (\S+)$/.exec(line)
        return found?.[1] === family ? [`${found[2]} ${found[3]}`] : []
      })
    })

  it.live("time every call once: those of stages as policies', those of backends as primary", () =>
    Effect.gen(function* () {
      const guard = yield* origin(passing)
      const backend = yield* origin({ body: "ok" })
      const gateway = yield* started(`${guarded(guard.address)}
routes:
- matches: [{ path: { pathPrefix: /plain } }]
  backends: [{ host: "${backend.address}" }]
- matches: [{ path: { pathPrefix: /down } }]
  backends: [{ host: "127.0.0.1:${yield* nowhere}" }]
`)
      const port = gateway.port(8080)!
      yield* Effect.promise(async () => {
        assert.strictEqual((await send(port, chat)).status, 200)
        assert.strictEqual((await send(port, { path: "/plain" })).status, 200)
        assert.strictEqual((await send(port, { path: "/plain" })).status, 200)
        assert.strictEqual((await send(port, { path: "/down" })).status, 503)
      })
      yield* traced(gateway, chat)
      assert.sameMembers(yield* counts(gateway, "upstream_call_duration_seconds_count"), [
        'kind="Policy",subtype="Guardrail" 2',
        'kind="Primary",subtype="Http" 3',
        'kind="Primary",subtype="Llm" 2'
      ])
    })
  )

  it.live("time a backend that its client gave up waiting for", () =>
    Effect.gen(function* () {
      const slow = yield* origin({ silent: true })
      const gateway = yield* started(`
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "${slow.address}" }] }]
`)
      yield* Effect.promise(async () => {
        const client = new RawClient(gateway.port(8080)!)
        client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        await eventually(() => slow.received.length === 1)
        client.socket.destroy()
      })
      yield* Effect.promise(() =>
        until("the call", async () => {
          const found = await Effect.runPromise(counts(gateway, "upstream_call_duration_seconds_count"))
          return found.includes('kind="Primary",subtype="Http" 1')
        })
      )
    })
  )

  it.live("count the time of a call as that of the stage that made it", () =>
    Effect.gen(function* () {
      const wait = 60
      const guard = yield* httpBackend((_, response) => {
        setTimeout(() => {
          response.writeHead(200, { "content-type": "application/json" }).end(passing.body)
        }, wait)
      })
      const gateway = yield* started(guarded(`127.0.0.1:${portOf(guard.address())}`))
      yield* Effect.promise(() => send(gateway.port(8080)!, chat))
      const sums = yield* counts(gateway, "stage_duration_seconds_sum")
      const [, sum = ""] = /phase="backend",policy="llm",node="guardRequest" (\S+)/.exec(sums.join("\n")) ?? []
      assert.isAtLeast(Number(sum) * 1000, wait - 1)
      const calls = yield* counts(gateway, "upstream_call_duration_seconds_sum")
      const [, call = ""] = /kind="Policy",subtype="Guardrail" (\S+)/.exec(calls.join("\n")) ?? []
      assert.isAtLeast(Number(call) * 1000, wait - 1)
      assert.isAtMost(Number(call), Number(sum))
    })
  )
})

describe("spans of a sampled request", () => {
  it.live("are one for each call of a stage, below that of the stage, and the server that is called hears of it", () =>
    Effect.gen(function* () {
      const sink = yield* collector
      const guard = yield* origin(passing)
      const port = yield* nowhere
      yield* startSampled(guarded(guard.address, "", port), sink)
      yield* Effect.promise(async () => {
        assert.strictEqual((await send(port, chat)).status, 200)
        await until("the spans", () => sink.spans.some(({ kind }) => kind === 2))
      })
      const named = (name: string) => sink.spans.filter((span) => span.name === name)
      const [request] = sink.spans.filter(({ kind }) => kind === 2)
      const [stage] = named("stage.backend.guardRequest")
      const [call = assert.fail("there is no call"), ...others] = named("guardrail")
      assert.deepStrictEqual(others, [])
      assert.strictEqual(stage?.parentSpanId, request?.spanId)
      assert.deepStrictEqual([call.kind, call.parentSpanId, call.traceId], [3, stage?.spanId, request?.traceId])
      assert.deepStrictEqual(attributesOf(call), {
        "hg.outbound.kind": "policy",
        "hg.outbound.subtype": "guardrail",
        "http.method": "POST",
        "http.host": guard.address,
        "http.path": "/check",
        "http.status": 200
      })
      assert.strictEqual(guard.received[0]?.headers["traceparent"], `00-${call.traceId}-${call.spanId}-01`)
      for (const secret of secrets) assert.notInclude(JSON.stringify(sink.spans), secret)
    })
  )
})
