/**
 * Golden traces: what the events of a request are, written by hand from the documented table. No command writes these
 * files; a difference is a bug, or a decision that is made in the file.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { type Headgate, start } from "../src/main/library.ts"
import { differences, readExpectations } from "../src/main/testing/expectation.ts"
import { type TraceEvent, type TraceSource, watch } from "../src/main/trace.ts"
import { send } from "./client.ts"
import { nowhere, origin } from "./origin.ts"

const Headers = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)]))
const Sent = Schema.Struct({
  method: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.String)
})
const Golden = Schema.Struct({
  title: Schema.String,
  /** The configuration; its listener has port 8080. In the whole file, $PORT is the port of the backend. */
  config: Schema.String,
  /** What the backend answers; `down` is a port on which nobody listens. Left out: no backend is called. */
  upstream: Schema.optionalKey(
    Schema.Union([
      Schema.Struct({ down: Schema.Literal(true) }),
      Schema.Struct({
        silent: Schema.optionalKey(Schema.Boolean),
        status: Schema.optionalKey(Schema.Int),
        headers: Schema.optionalKey(Headers),
        body: Schema.optionalKey(Schema.String)
      })
    ])
  ),
  request: Sent,
  /** What the backend received: nothing, or one request. */
  received: Schema.optionalKey(Schema.Unknown),
  response: Schema.Struct({ status: Schema.Int, headers: Schema.Unknown, body: Schema.Unknown }),
  /** The line of the access log, from its target on. */
  log: Schema.Unknown,
  events: Schema.Array(Schema.Unknown)
})

const goldenOf = (text: string) =>
  Schema.decodeUnknownSync(Golden, { onExcessProperty: "error" })(readExpectations(text))

/** The types of the documented table. Others may stand between them, and say more. */
const documented = new Set<TraceEvent["message"]["type"]>([
  "requestStarted",
  "requestSnapshot",
  "routeSelection",
  "policySelection",
  "backendCallStart",
  "bodySnapshot",
  "backendCallResult",
  "responseSnapshot",
  "requestFinished",
  "authorizationResult",
  "llmRouteResolved",
  "llmRequestDetected",
  "llmStreamingTranslation"
])

/** An event with the fields of its message beside those of the line, as the data files write them. */
const flat = ({ message, ...line }: TraceEvent) => ({ ...line, ...message })

/** What holds of every line of every trace. */
const assertLines = (events: ReadonlyArray<TraceEvent>) => {
  let before = 0
  for (const { eventStart, eventEnd, message } of events) {
    assert.isAtLeast(eventEnd, before, message.type)
    before = eventEnd
    if (message.type === "backendCallResult") {
      assert.isNumber(eventStart)
      assert.isAtMost(eventStart!, eventEnd)
    } else assert.isNull(eventStart, message.type)
  }
}

const traced = (gateway: Headgate, source: TraceSource, request: typeof Sent.Type) =>
  Effect.gen(function* () {
    const stream = yield* watch(source)
    const response = yield* Effect.promise(() => send(gateway.port(8080)!, request))
    const events = yield* Stream.runCollect(stream)
    return { response, events }
  }).pipe(Effect.scoped, Effect.orDie)

describe("golden traces", () => {
  for (const file of globSync("golden{,-protocols}/*.yaml", { cwd: import.meta.dirname }).sort()) {
    const text = readFileSync(join(import.meta.dirname, file), "utf8")
    const { title, upstream } = goldenOf(text)
    it.live(title, () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const backend = upstream === undefined || "down" in upstream ? undefined : yield* origin(upstream)
        const golden = goldenOf(text.replaceAll("$PORT", String(backend?.port ?? (yield* nowhere))))
        const gateway = yield* start(golden.config, {
          ephemeral: true,
          host: "127.0.0.1",
          log: (line) => lines.push(line)
        })
        const unwatched = yield* Effect.promise(() => send(gateway.port(8080)!, golden.request))
        const here = yield* traced(gateway, gateway, golden.request)
        const there = yield* traced(gateway, `127.0.0.1:${gateway.ports.admin}`, golden.request)

        const found = [
          ...differences(golden.response, unwatched, "response"),
          ...differences([golden.log, golden.log, golden.log], lines.flatMap(accessLine), "log"),
          ...differences(golden.response, here.response, "watched response"),
          ...differences(golden.response, there.response, "watched response"),
          ...differences(golden.events, here.events.filter(isDocumented).map(flat), "in process"),
          ...differences(golden.events, there.events.filter(isDocumented).map(flat), "/debug/trace"),
          ...differences(
            golden.received === undefined ? [] : [golden.received, golden.received, golden.received],
            backend?.received ?? [],
            "received"
          )
        ]
        assert.deepStrictEqual(found, [])
        assertLines(here.events)
        assertLines(there.events)
      })
    )
  }
})

const accessLine = (line: string) => {
  const [, level, entry] = line.trimEnd().split("\t")
  return level === "info" && entry?.startsWith("request ") ? [entry] : []
}

const isDocumented = ({ message }: TraceEvent) => documented.has(message.type)
