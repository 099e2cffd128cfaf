/**
 * What remains of a request when it is over: one line of the access log, and its counts. Series are resolved once for
 * each route, backend, method and outcome, so that counting is an addition.
 */
import type { LineForm, RecordLog } from "../services/log.ts"
import type { Metrics, Series } from "../services/metrics.ts"
import type { Contact } from "./contact.ts"
import type { Passage } from "./passage.ts"
import { compileFields } from "./request-fields.ts"
import type { StageError } from "./stage.ts"
import type { Outcome } from "./view.ts"

/** Upper bounds in seconds, for whatever takes as long as a request. */
export const durations = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 80]
const processing = [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25]
/** The labels that say where a request went, and their values. */
export const placeLabels = ["bind", "gateway", "listener", "route", "route_rule"]
export const placeOf = (x: Pick<Passage, "listener" | "route">): ReadonlyArray<string | undefined> => [
  x.listener?.bind,
  x.listener?.gateway,
  x.listener?.name,
  x.route === undefined ? undefined : `${x.route.namespace}/${x.route.name}`,
  x.route?.rule
]
const http = ["backend", "protocol", "method", "status", "reason", ...placeLabels]

/** The reason of a failure that names none, by whose fault it is. */
const reasons = { client: "InvalidRequest", proxy: "Internal", backend: "UpstreamFailure" } as const

/** Methods with a label of their own: those of RFC 9110, and PATCH. The parser takes forty more, which would each be a series. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"])
/** Beyond so many outcomes of one place, which take a backend that makes statuses up, only the class of the status counts. */
const mostOutcomes = 200

interface Counted {
  readonly method: string
  readonly status: number | undefined
  readonly reason: string
  readonly requests: Series
  readonly duration: Series
  readonly bytes: Series
}

interface Known {
  readonly all: Map<string, Counted>
  /** Most requests of a route end like the one before. */
  last: Counted | undefined
}

/** The code of a failure, in logs and metrics. */
export const reasonOf = ({ reason, source }: StageError): string => reason ?? reasons[source]

/** What remains of a connection that was refused: a line of the log, and its count. */
export const refusedConnections = (metrics: Metrics["Service"], log: RecordLog, clock: () => number) => {
  const refused = metrics.counter(
    "connections_refused_total",
    "Connections of clients that policies have closed, or whose TLS handshakes or PROXY headers have failed.",
    ["bind", "reason"]
  )
  // The internet knocks at every port, so lines of what never got so far are seldom wanted.
  const early = (what: string, label: string) => (bind: string, source: string, error: string) => {
    refused.series([bind, label]).record(1)
    if (log.enabled("debug", "connection")) log.log("debug", "connection", what, { bind, "src.addr": source, error })
  }
  const handshake = early("handshake failed", "TLS")
  const header = early("no PROXY header", "ProxyProtocol")
  let told = Number.NEGATIVE_INFINITY
  let untold = 0
  /** Whoever presents a certificate is meant to be here, so somebody wants to know; one line a second is enough of that. */
  const certificate = (bind: string, source: string, error: string): void => {
    refused.series([bind, "ClientCertificate"]).record(1)
    const now = clock()
    if (now - told < 1000) {
      untold++
      return
    }
    log.log("info", "connection", "a client certificate is not valid", {
      bind,
      "src.addr": source,
      error,
      ...(untold === 0 ? {} : { before: String(untold) })
    })
    told = now
    untold = 0
  }
  const policy = (bind: string, { peer, facts }: Contact, error: StageError): void => {
    const reason = reasonOf(error)
    refused.series([bind, reason]).record(1)
    if (!log.enabled("info", "connection")) return
    const source = `${peer.address}:${peer.port}`
    const added = facts === undefined ? {} : Object.fromEntries(facts)
    log.log("info", "connection", "refused", { bind, "src.addr": source, reason, error: error.message, ...added })
  }
  const ended = metrics.counter(
    "http2_sessions_ended_total",
    "Connections of clients that speak HTTP/2 and were ended for what they did.",
    ["bind", "cause"]
  )
  const session = (bind: string, source: string, cause: string): void => {
    ended.series([bind, cause]).record(1)
    if (log.enabled("debug", "connection"))
      log.log("debug", "connection", "session ended", { bind, "src.addr": source, error: cause })
  }
  return { policy, handshake, certificate, header, session }
}

export const makeRecorder = (log: RecordLog, metrics: Metrics["Service"], clock: () => number) => {
  const requests = metrics.counter("requests_total", "Requests that were answered.", http)
  const duration = metrics.histogram(
    "request_duration_seconds",
    "From arrival to the end of the answer.",
    http,
    durations
  )
  const bytes = metrics.counter("response_bytes_total", "Bytes of answer bodies.", http)
  const before = metrics.histogram(
    "request_processing_seconds",
    "From arrival to the call of the backend.",
    ["backend", ...placeLabels],
    processing
  )
  const refused = metrics.counter(
    "retries_refused_total",
    "Further attempts at a backend that were not made, because too many others at it were repeated already.",
    ["backend", ...placeLabels]
  )
  // By route object: series of a route that a reload removed go with it. A request without a route has its own map.
  const byRoute = new WeakMap<object, Known>()
  const processingOf = new WeakMap<object, Series>()
  const unrouted = {}

  const countedFor = (p: Passage, status: number | undefined, reason: string): Counted => {
    const owner = p.backend ?? p.route ?? p.listener ?? unrouted
    let known = byRoute.get(owner)
    if (known === undefined) {
      known = { all: new Map(), last: undefined }
      byRoute.set(owner, known)
    }
    const method = p.exchange.receivedMethod
    const { last } = known
    if (last !== undefined && last.status === status && last.method === method && last.reason === reason) return last
    const key = `${method} ${status} ${reason}`
    let counted = known.all.get(key)
    if (counted === undefined) {
      const full = known.all.size >= mostOutcomes
      const statusText = full && status !== undefined ? `${Math.floor(status / 100)}xx` : status?.toString()
      const labels = [
        p.backend?.name,
        p.backend?.protocol ?? "http",
        !full && methods.has(method) ? method : "other",
        statusText,
        reason,
        ...placeOf(p)
      ]
      counted = {
        method,
        status,
        reason,
        requests: requests.series(labels),
        duration: duration.series(labels),
        bytes: bytes.series(labels)
      }
      // What counts as one needs no memory for each.
      if (!full) known.all.set(key, counted)
    }
    known.last = counted
    return counted
  }

  let form: LineForm | undefined
  let fieldsOf: ReturnType<typeof compileFields>
  const logged = (p: Passage, outcome: Outcome, reason: string, elapsed: number): void => {
    const now = log.form()
    if (now !== form) {
      form = now
      fieldsOf = compileFields(now)
    }
    log.record("request", fieldsOf(p, outcome, reason, elapsed))
  }

  return (p: Passage, outcome: Outcome): void => {
    const { arrived, error } = p.exchange
    const elapsed = clock() - arrived
    const reason = error !== undefined ? reasonOf(error) : p.called === undefined ? "DirectResponse" : "Upstream"
    const counted = countedFor(p, outcome.status, reason)
    counted.requests.record(1)
    counted.duration.record(elapsed / 1000)
    if (outcome.bytes > 0) counted.bytes.record(outcome.bytes)
    if (p.called !== undefined && p.backend !== undefined) {
      let series = processingOf.get(p.backend)
      if (series === undefined) {
        series = before.series([p.backend.name, ...placeOf(p)])
        processingOf.set(p.backend, series)
      }
      series.record((p.called - arrived) / 1000)
    }
    if (p.attempts?.refused === true) refused.series([p.backend?.name, ...placeOf(p)]).record(1)
    if (log.enabled("info", "request")) logged(p, outcome, reason, elapsed)
  }
}
