/**
 * The admin interface: what the process runs with, its log level, traces of requests, and its end. It has no
 * authentication: it is bound to loopback, and does not believe a browser that speaks for another page.
 */
import { Duration, Effect, Layer, Queue, Schedule, Stream } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { formatProblems, isProblemFormat, type Problem, problemFormats } from "../../../spec/config/problem.ts"
import { isLoopback } from "../../../spec/standalone/address.ts"
import type { TraceEvent } from "../../../spec/trace-events.ts"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { RouteGraph } from "../../pipeline/graph.ts"
import { mermaid } from "../../pipeline/graph.ts"
import type { Watchers } from "../../pipeline/watchers.ts"
import type { LogControl } from "../../services/log.ts"
import { isForwarded } from "../../services/via.ts"
import { jsonSchema } from "../configuration/json-schemas.ts"
import { type SchemaKind, schemaFile, schemaKinds } from "../configuration/schema-kinds.ts"
import { type AdminPath, adminEndpoints, adminList } from "./endpoints.ts"

const schemaNames = Object.keys(schemaKinds) as ReadonlyArray<SchemaKind>

/** What the admin interface shows and steers. */
export interface Controls {
  readonly configDump: () => unknown
  readonly endpoints: () => unknown
  /** What is wrong with the text that was read last, or doubtful about it. */
  readonly problems: () => ReadonlyArray<Problem>
  readonly graphs: () => ReadonlyArray<RouteGraph>
  readonly memory: () => unknown
  readonly log: LogControl
  readonly watchers: Watchers
  /** Compiles the expression of a trace; a text says what is wrong with it. */
  readonly compileExpression: (source: string) => ((exchange: Exchange) => boolean) | string
  readonly shutdown: () => void
  /** Bound to loopback only: then the host header must name a loopback address too. */
  readonly loopback: boolean
}

type Handler = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

const plain = (status: number, text: string) => HttpServerResponse.text(text, { status })
const json = (value: unknown) =>
  HttpServerResponse.text(`${JSON.stringify(value, null, 2)}\n`, { contentType: "application/json" })

const queryOf = (request: HttpServerRequest.HttpServerRequest) => new URL(request.url, "http://admin").searchParams

/** Events that a slow reader may lag behind before they are dropped. */
const traceQueue = 1024
/** In the continuous mode: events per second, where the reader does not say. */
const defaultRate = 1000

export const adminRoutes = (controls: Controls) => {
  const route = (path: AdminPath | "/", handler: Handler) => {
    const methods = path !== "/" && adminEndpoints[path].method === "POST" ? ["POST"] : ["GET", "HEAD"]
    return HttpRouter.add(
      "*",
      path,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const refusal = distrust(request, controls.loopback)
        if (refusal !== undefined) return plain(403, refusal)
        if (!methods.includes(request.method))
          return HttpServerResponse.setHeader(plain(405, "method not allowed\n"), "allow", methods.join(", "))
        return yield* handler
      })
    )
  }

  return Layer.mergeAll(
    route("/", Effect.succeed(HttpServerResponse.text(index, { contentType: "text/html" }))),
    route(
      "/config_dump",
      Effect.sync(() => json(controls.configDump()))
    ),
    route(
      "/endpoints",
      Effect.sync(() => json(controls.endpoints()))
    ),
    route(
      "/config_problems",
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const format = queryOf(request).get("format") ?? "json"
        if (!isProblemFormat(format)) return plain(400, `format is one of ${problemFormats.join(", ")}\n`)
        const contentType = format === "json" ? "application/json" : "text/plain"
        return HttpServerResponse.text(`${formatProblems(format, controls.problems())}\n`, { contentType })
      })
    ),
    ...schemaNames.map((kind) =>
      route(
        `/${schemaFile(kind)}`,
        Effect.sync(() => HttpServerResponse.text(jsonSchema(kind), { contentType: "application/schema+json" }))
      )
    ),
    route(
      "/memory",
      Effect.sync(() => json(controls.memory()))
    ),
    route(
      "/debug/graph",
      Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
        queryOf(request).get("format") === "mermaid" ? plain(200, mermaid(controls.graphs())) : json(controls.graphs())
      )
    ),
    route(
      "/logging",
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const query = queryOf(request)
        const level = query.get("level") ?? undefined
        const changes = level !== undefined || query.has("reset")
        if (changes && !controls.log.change(level, query.has("reset")))
          return plain(400, `Invalid level provided: ${level}\n${loggingUsage}`)
        return plain(200, `current log level is ${controls.log.filter()}\n`)
      })
    ),
    route(
      "/quitquitquit",
      Effect.sync(() => {
        controls.shutdown()
        return plain(200, "shutdown now\n")
      })
    ),
    route(
      "/debug/trace",
      Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
        const query = queryOf(request)
        const expression = query.get("expression")
        const wants = expression === null ? undefined : controls.compileExpression(expression)
        if (typeof wants === "string") return plain(400, `invalid expression: ${wants}\n`)
        const rate = query.has("follow") ? Number(query.get("follow") || defaultRate) : undefined
        if (rate !== undefined && !(rate >= 1 && rate <= 100_000))
          return plain(400, "follow takes the most events per second: 1 to 100000\n")
        return HttpServerResponse.stream(traceStream(controls.watchers, wants, rate), {
          contentType: "text/event-stream",
          headers: { "cache-control": "no-cache" }
        })
      })
    )
  )
}

const loggingUsage =
  "usage: POST /logging?level=<level> or ?level=<target>=<level>[,...]; ?reset goes back to the start\n"

const index = `<!doctype html><title>Headgate</title><h1>Headgate</h1><ul>${adminList
  .map(([path, { method, about }]) => `<li><code>${method} ${path}</code> ${about}</li>`)
  .join("")}</ul>`

/**
 * A page of another origin, or one that made its name resolve to loopback, may not use the browser of whoever runs this
 * process. A client that is no browser sends neither header and is believed, unless it came through a gateway.
 */
const distrust = (request: HttpServerRequest.HttpServerRequest, loopback: boolean): string | undefined => {
  // A gateway reaches what its clients do not, this interface included.
  if (isForwarded(request.headers["via"])) return "requests that a gateway forwards are refused\n"
  const host = request.headers["host"]
  if (loopback && host !== undefined && !isLoopback(hostName(host)))
    return "the host header must name a loopback address\n"
  const origin = request.headers["origin"]
  if (request.method !== "GET" && request.method !== "HEAD") {
    const site = request.headers["sec-fetch-site"]
    if (site !== undefined && site !== "same-origin" && site !== "none") return "cross-site requests are refused\n"
    if (origin !== undefined && origin !== `http://${host}`) return "the origin is not this interface\n"
  }
  return undefined
}

const hostName = (host: string) =>
  host
    .replace(/:[0-9]*$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase()

const comment = (text: string) => `: ${text}\n\n`

/**
 * Server-sent events of one traced request, or of one after the other. The first bytes say that the watcher is in place;
 * the stream ends with the request.
 */
const traceStream = (
  watchers: Watchers,
  wants: ((exchange: Exchange) => boolean) | undefined,
  eventsPerSecond: number | undefined
) => {
  const events = Stream.callback<string>(
    (queue) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          Queue.offerUnsafe(queue, comment("ready"))
          return watchers.subscribe({
            wants,
            follow: eventsPerSecond === undefined ? undefined : { eventsPerSecond },
            emit: (event, request) =>
              Queue.offerUnsafe(queue, `data: ${line(event, eventsPerSecond === undefined ? undefined : request)}\n\n`),
            done: () => Queue.endUnsafe(queue)
          })
        }),
        (unsubscribe) => Effect.sync(unsubscribe)
      ),
    { bufferSize: traceQueue, strategy: "dropping" }
  )
  const alive = Stream.fromEffectSchedule(Effect.succeed(comment("keepalive")), Schedule.spaced(Duration.seconds(1)))
  return Stream.merge(events, Stream.drop(alive, 1), { haltStrategy: "left" }).pipe(Stream.encodeText)
}

/** One event as JSON. In the continuous mode a number tells the requests apart. */
const line = (event: TraceEvent, request: number | undefined) =>
  JSON.stringify(request === undefined ? event : { ...event, request })
