/** What an operator sees of MCP: metrics, spans, the log of targets, and failures in the access log. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { detail } from "../src/main/ctl/trace-summary.ts"
import { start } from "../src/main/library.ts"
import { traceProblems } from "../src/main/testing.ts"
import { type TraceEvent, watch } from "../src/main/trace.ts"
import { send } from "./client.ts"
import { attributesOf, collector, startSampled } from "./collector.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { nowhere } from "./origin.ts"
import { startFixture } from "./outside/mcp/fixture-http.ts"
import { root, until } from "./program.ts"

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const ask = (port: number, method: string, params: unknown, more: Readonly<Record<string, string>> = {}) =>
  send(port, {
    method: "POST",
    path: "/mcp",
    headers: { ...headers, ...more },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  })

const fixture = Effect.acquireRelease(Effect.promise(startFixture), ({ close }) => Effect.promise(close))

const stateless = (targets: string, port = 8080) => `
mcp:
  port: ${port}
  statefulMode: stateless
  targets: [${targets}]
`

const overHttp = (name: string, port: number) => `{ name: ${name}, mcp: { host: "http://127.0.0.1:${port}/mcp" } }`

const started = (text: string, lines: Array<string> = []) =>
  start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) })

const accessLines = (lines: ReadonlyArray<string>) => lines.filter((line) => line.includes("\trequest "))

describe("metrics of MCP requests", () => {
  const scraped = (port: number) =>
    Effect.promise(async () =>
      (await send(port, { path: "/metrics" })).body.split("\n").filter((line) => /^headgate_(mcp|upstream)_/.test(line))
    )

  it.live("count each by method, kind, target and item, and the calls of targets by their duration", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const gateway = yield* started(stateless(`${overHttp("f", server.port)}, ${overHttp("g", server.port)}`))
      const port = gateway.port(8080)!
      yield* Effect.promise(async () => {
        for (const name of ["f_test_simple_text", "f_test_simple_text", "g_test_error_handling"])
          await ask(port, "tools/call", { name, arguments: {} })
        await ask(port, "tools/list", {})
        await ask(port, "prompts/get", { name: "g_test_simple_prompt" })
        await ask(port, "resources/read", { uri: "f+test://static-text" })
      })
      const lines = yield* scraped(gateway.ports.stats!)
      const counted = lines.flatMap((line) => {
        const found =
          /^headgate_mcp_requests_total\{method="(.*)",resource_type="(.*)",server="(.*)",resource="(.*)",bind="bind\/8080",gateway="default\/default",listener="mcp",route="internal\/default",route_rule="unknown"\} (\d+)/.exec(
            line
          )
        return found === null ? [] : [found.slice(1).join(" ")]
      })
      assert.sameMembers(counted, [
        "tools/call tool f test_simple_text 2",
        "tools/call tool g test_error_handling 1",
        "tools/list tool unknown unknown 1",
        "prompts/get prompt g test_simple_prompt 1",
        "resources/read resource f test://static-text 1"
      ])
      const calls = lines.find((line) => line.startsWith("headgate_upstream_call_duration_seconds_count"))
      // The list asks both targets. The handshakes before each of them are not what was asked for.
      assert.match(calls ?? "", /\{kind="Primary",subtype="Mcp"\} 7$/)
    })
  )
})

describe("the access log of MCP requests", () => {
  it.live("tells why the gateway answered in place of a target, and what a target answered", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const server = yield* fixture
      const gateway = yield* started(
        `
mcp: { port: 8080, targets: [${overHttp("f", server.port)}] }
`,
        lines
      )
      const port = gateway.port(8080)!
      yield* Effect.promise(async () => {
        assert.strictEqual((await ask(port, "tools/list", {}, { accept: "text/html" })).status, 406)
        assert.strictEqual((await ask(port, "tools/list", {}, { "mcp-session-id": "none" })).status, 404)
        assert.strictEqual((await ask(port, "tools/list", {})).status, 400)
        assert.strictEqual((await send(port, { method: "PUT", path: "/mcp" })).status, 405)
      })
      const told = accessLines(lines).map((line) =>
        /http\.status=(\d+) .*error="(.*?)" reason=MCP/.exec(line)?.slice(1)
      )
      assert.deepStrictEqual(told, [
        ["406", "client must accept both application/json and text/event-stream"],
        ["404", "session not found"],
        ["400", "session header is required for non-initialize requests"],
        ["405", "method not allowed; must be GET, POST, or DELETE"]
      ])
    })
  )
})

describe("standard error of a target", () => {
  it.live("goes to the log, with the name of its backend and its own", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const gateway = yield* started(
        `
gateways: { default: { port: 8080 } }
backends:
- name: tools
  mcp: { targets: [{ name: talker, stdio: { cmd: sh, args: [-c, 'echo "it is me" >&2'] } }] }
routes: [{ backends: [{ backend: /tools }] }]
`,
        lines
      )
      yield* Effect.promise(async () => {
        await ask(gateway.port(8080)!, "initialize", { protocolVersion: "2025-11-25", capabilities: {} })
        await until("the line", () => lines.some((line) => line.includes("it is me")))
      })
      const line = lines.find((one) => one.includes("it is me"))
      assert.match(line ?? "", /\tinfo\tmcp\.stdio\tit is me backend=tools target=talker\n$/)
    })
  )
})

describe("the trace of an MCP request", () => {
  it.live("tells which target is asked for what, how long each call took, and what was decided about which item", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const rule = 'mcp.tool.name == "test_simple_text"'
      const gateway = yield* started(
        `
mcp:
  port: 8080
  statefulMode: stateless
  policies: { mcpAuthorization: { rules: ['${rule}'] } }
  targets: [${overHttp("f", server.port)}, ${overHttp("g", server.port)}]
`
      )
      const traced = (method: string, params: object) =>
        Effect.gen(function* () {
          const stream = yield* watch({ watchers: gateway.watchers })
          yield* Effect.promise(() => ask(gateway.port(8080)!, method, params))
          const events = yield* Stream.runCollect(stream)
          assert.deepStrictEqual(traceProblems(events), [])
          return events.filter(({ message: { type }, scope }) => scope !== undefined || type === "authorizationResult")
        })
      const at = `127.0.0.1:${server.port}`
      const called = (target: string, call: string) => [
        `mcp ${target}: ${call} at ${at}`,
        `mcp ${target}: ${call}: 200`
      ]
      const allowed = (method: string, target: string) =>
        `allow tool test_simple_text of ${target} (${method}): allow ${rule} holds`
      const lines = (events: ReadonlyArray<TraceEvent>) => events.map(detail)

      const call = yield* traced("tools/call", { name: "f_test_simple_text", arguments: {} })
      assert.sameMembers(lines(call), [
        allowed("tools/call", "f"),
        ...called("f", "initialize"),
        ...called("f", "notifications/initialized"),
        ...called("f", "tools/call test_simple_text")
      ])
      for (const { message, eventStart, eventEnd } of call)
        if (message.type === "backendCallResult") assert.isBelow(eventStart!, eventEnd)

      const refused = yield* traced("tools/call", { name: "g_test_image_content", arguments: {} })
      assert.deepStrictEqual(lines(refused), [
        `deny tool test_image_content of g (tools/call): allow ${rule} does not hold`
      ])

      const list = lines(yield* traced("tools/list", {}))
      for (const target of ["f", "g"]) {
        assert.includeMembers(list, [...called(target, "tools/list"), allowed("tools/list", target)])
        assert.include(list, `deny tool test_image_content of ${target} (tools/list): allow ${rule} does not hold`)
      }
    })
  )
})

describe("a trace of an HTTP interface", () => {
  it.live("tells of the document that a request waits for, as a part of the call that needs it", () =>
    Effect.gen(function* () {
      const silent = yield* httpBackend(() => {})
      const at = `127.0.0.1:${portOf(silent.address())}`
      const gateway = yield* started(
        stateless(`{ name: a, openapi: { host: "${at}", schema: { url: "http://${at}/openapi.json" } } }`)
      )
      const stream = yield* watch({ watchers: gateway.watchers })
      // Nobody waits for a document for long.
      const { status } = yield* Effect.promise(() => ask(gateway.port(8080)!, "tools/list", {}))
      assert.strictEqual(status, 503)
      const events = yield* Stream.runCollect(stream)
      assert.deepStrictEqual(traceProblems(events), [])
      const calls = events.filter(({ scope }) => scope !== undefined).map(detail)
      assert.deepStrictEqual(calls, [
        `mcp a: initialize at ${at}`,
        `mcp a > http: ${at}`,
        "mcp a > http: it is not there yet",
        "mcp a: initialize: the OpenAPI document of the upstream is not there"
      ])
    })
  )
})

describe("spans of MCP requests", () => {
  it.live("are one for the request and one for each call of a target, which hears of the trace", () =>
    Effect.gen(function* () {
      const server = yield* fixture
      const sink = yield* collector
      const port = yield* nowhere
      const text = `
gateways: { default: { port: ${port} } }
mcp:
  statefulMode: stateless
  targets:
  - ${overHttp("f", server.port)}
  - { name: local, stdio: { cmd: "${process.execPath}", args: ["${join(root, "test/outside/mcp/fixture-stdio.ts")}"] } }
  - ${overHttp("down", yield* nowhere)}
`
      yield* startSampled(text, sink)
      yield* Effect.promise(async () => {
        const ended = (name: string) => sink.spans.find((span) => span.name === name && span.kind === 2)
        const call = (name: string) => ask(port, "tools/call", { name, arguments: {} })
        assert.strictEqual((await call("f_test_simple_text")).status, 200)
        const calls = () => sink.spans.filter((span) => span.kind === 3)
        // What a notification calls may end after the request.
        await until("the spans", () => ended("tools/call") !== undefined && calls().length >= 3)
        const request = ended("tools/call")!
        const children = calls()
        assert.sameMembers(
          children.map(({ name }) => name),
          ["initialize f", "notifications/initialized f", "tools/call f_test_simple_text"]
        )
        for (const child of children) {
          assert.strictEqual(child.parentSpanId, request.spanId)
          assert.strictEqual(child.traceId, request.traceId)
        }
        assert.deepInclude(attributesOf(children.find(({ name }) => name.startsWith("tools/call"))!), {
          "hg.outbound.kind": "primary",
          "hg.outbound.subtype": "mcp",
          "mcp.target": "f",
          "mcp.method.name": "tools/call",
          "gen_ai.tool.name": "test_simple_text"
        })
        assert.deepInclude(attributesOf(request), { "mcp.target": "f", "gen_ai.tool.name": "test_simple_text" })
        // Each message carries the span of its own call.
        const heard = server.seen.flatMap(({ traceparent }) => (traceparent === undefined ? [] : [String(traceparent)]))
        assert.includeMembers(
          heard,
          children.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)
        )

        sink.spans.length = 0
        assert.strictEqual((await call("down_x")).status, 503)
        await until("the spans of the failure", () => ended("tools/call") !== undefined)
        const failed = sink.spans.find((span) => span.kind === 3)!
        assert.deepStrictEqual(
          [failed.name, failed.status.code, failed.status.message],
          ["initialize down", 2, "upstream call failed: connection refused: ECONNREFUSED"]
        )
      })
    })
  )
})
