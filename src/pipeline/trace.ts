/**
 * Turns what the engine tells about one request into trace events, in the documented order. A trace never slows or
 * changes its request: events go into a function that must not block.
 */
import type { RequestState, StageMessage, StageName, TraceEvent, TraceMessage } from "../../spec/trace-events.ts"
import { observe } from "../http/body.ts"
import type { HeaderList } from "../http/header-list.ts"
import { Capture } from "./capture.ts"
import { type Contact, contactOf } from "./contact.ts"
import { type Hidden, isHidden, shownUri, shownValue } from "./hidden.ts"
import { masked } from "./masked.ts"
import type { OutboundCall, OutboundResult, OutboundWatch } from "./outbound.ts"
import type { Passage } from "./passage.ts"
import type { Relay, RelayOutcome, RelayWatch } from "./relay.ts"
import type { Selection } from "./route.ts"
import type { StageFinished, StepName } from "./run.ts"
import type { RequestSite } from "./site.ts"
import * as slots from "./slots.ts"
import type { ConfigPath, StageError } from "./stage.ts"
import type { Outcome, Peer } from "./view.ts"
import type { Watch } from "./watch.ts"

/** Where this process runs: in every snapshot. */
export interface Environment {
  readonly podName: string | null
  readonly namespace: string | null
  readonly gateway: string | null
}

/** What every trace of a process shares. */
export interface TraceSettings {
  readonly env: Environment
  /** Milliseconds with fractions, never going back. */
  readonly clock: () => number
  /** `config.yaml:41:13 routes[2].policies.cors`. */
  readonly locate: (path: ConfigPath) => string
}

const micros = (milliseconds: number) => Math.round(milliseconds * 1000)
const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(6)}s`

/** A step as a trace shows it, of a request or of a connection. */
type NamedStep = StepName & Pick<StageFinished["step"], "condition">

/** The trace of one request. */
export class Trace implements Watch, RelayWatch {
  readonly notes = true
  readonly #settings: TraceSettings
  readonly #emit: (event: TraceEvent) => void
  readonly #began: number
  /** Of the configuration that the request runs on, whatever replaces it meanwhile. */
  readonly #locate: TraceSettings["locate"]
  /** The calls beside that of the engine that are under way. */
  readonly #open = new Set<OutboundWatch["ended"]>()
  #requestBody: Capture | undefined
  #error: string | null = null
  #over = false

  constructor(settings: TraceSettings, emit: (event: TraceEvent) => void) {
    this.#settings = settings
    this.#emit = emit
    this.#began = settings.clock()
    this.#locate = settings.locate
  }

  #tell(
    message: TraceMessage,
    severity: TraceEvent["severity"] = "info",
    start: number | null = null,
    scope?: ReadonlyArray<string>
  ): void {
    if (this.#over) return
    const eventEnd = micros(this.#settings.clock() - this.#began)
    this.#emit({ eventStart: start, eventEnd, severity, ...(scope === undefined ? {} : { scope }), message })
  }

  told(message: StageMessage): void {
    const severity = message.type !== "authorizationResult" ? "info" : message.result === "allow" ? "success" : "error"
    this.#tell(message, severity)
  }

  outbound(call: OutboundCall, by?: StepName): OutboundWatch {
    return this.#outbound(call, [], by)
  }

  #outbound(
    { scope, target, call }: OutboundCall,
    outer: ReadonlyArray<string>,
    by: StepName | undefined
  ): OutboundWatch {
    const scopes = [...outer, scope]
    const about = {
      ...(call === undefined ? {} : { call }),
      ...(by === undefined ? {} : { by: this.#named(by) })
    }
    const start = micros(this.#settings.clock() - this.#began)
    this.#tell({ type: "backendCallStart", target, ...about }, "info", null, scopes)
    const ended = ({ status, error }: OutboundResult) => {
      if (!this.#open.delete(ended)) return
      const result = { status: status ?? null, error: error ?? null }
      this.#tell({ type: "backendCallResult", ...result, ...about }, severityOf(result.status, error), start, scopes)
    }
    this.#open.add(ended)
    return {
      context: undefined,
      ended,
      outbound: (call) => this.#outbound(call, scopes, undefined)
    }
  }

  #named({ policy, phase, node, path }: StepName): StageName {
    return { kind: policy, phase, node, source: this.#locate(path) }
  }

  started(p: Passage): void {
    p.exchange.onFinished((outcome) => this.#finish(p, outcome))
    this.#tell({ type: "requestStarted" })
    this.#tell({ type: "requestSnapshot", stage: "initial request", requestState: this.#request(p) })
    const contact = contactOf(p.exchange.peer)
    if (contact !== undefined) this.#decided(contact)
  }

  /** A connection was refused: no request will come over it. */
  refused(contact: Contact, { message }: StageError): void {
    this.#decided(contact)
    this.#tell({ type: "requestFinished", status: null, error: message }, "error")
    this.#over = true
  }

  // A connection that is passed on takes the place of a request.

  relayStarted({ peer, listener }: Relay): void {
    this.#tell({ type: "requestStarted" })
    this.told({
      type: "policyEvent",
      kind: listener.protocol,
      details: { listener: listener.key, source: sourceOf(peer) }
    })
    const contact = contactOf(peer)
    if (contact !== undefined) this.#decided(contact)
  }

  relaySelected({ listener, route }: Relay): void {
    const selectedRoute = route?.key ?? null
    this.#tell(
      { type: "routeSelection", selectedRoute, evaluatedRoutes: listener.routes },
      route === undefined ? "error" : "info"
    )
  }

  relayCalling({ backend, endpoint }: Relay): void {
    if (backend === undefined || endpoint === undefined) return
    if (this.#calling) this.told({ type: "policyEvent", kind: "attempt", details: "another endpoint" })
    this.#calling = true
    this.#called = false
    this.#tell({ type: "policySelection", phase: "backend", effectivePolicy: backend.effective() })
    this.#tell({ type: "backendCallStart", target: endpoint.target })
  }

  relayCalled({ called }: Relay, failed: StageError | undefined): void {
    this.#called = true
    const result = { status: null, error: failed?.message ?? null }
    const start = micros(called! - this.#began)
    this.#tell({ type: "backendCallResult", ...result }, severityOf(null, failed?.message), start)
  }
  #called = false

  relayFinished(relay: Relay, { received, sent, failure }: RelayOutcome): void {
    const error = failure?.message ?? null
    // The client may have gone away while it waited.
    if (this.#calling && !this.#called) this.relayCalled(relay, failure)
    this.told({ type: "policyEvent", kind: "bytes", details: { received, sent } })
    this.#tell({ type: "requestFinished", status: null, error }, severityOf(null, error ?? undefined))
    this.#over = true
  }

  /** What was decided when the connection was made. */
  #decided({ admission, events }: Contact): void {
    const effectivePolicy = Object.fromEntries(
      Object.entries(admission.effective()).map(([key, policy]) => [key, masked(policy)])
    )
    this.#tell({ type: "policySelection", phase: "connection", effectivePolicy })
    for (const { stage, told } of events) {
      if (told !== undefined) this.told(told)
      else this.#stage(stage)
    }
  }

  entering(p: Passage, site: RequestSite): void {
    const place = site === "gateway" ? p.listener : site === "route" ? p.route : p.backend
    if (place === undefined) return
    const effectivePolicy = Object.fromEntries(
      Object.entries(place.effective()).map(([key, policy]) => [key, masked(policy, p.exchange.settings.hidden)])
    )
    this.#tell({ type: "policySelection", phase: site, effectivePolicy })
  }

  passed(p: Passage, site: RequestSite): void {
    if (site === "backend") {
      this.#requestBody = new Capture(() => this.#tellRequestBody())
      p.exchange.requestBody = observe(p.exchange.requestBody, this.#requestBody)
      this.#tell({ type: "requestSnapshot", stage: "final request", requestState: this.#request(p) })
    } else this.#tell({ type: "requestSnapshot", stage: `${site} policies`, requestState: this.#request(p) })
  }

  selected(p: Passage, { route, evaluated }: Selection): void {
    this.#tell(
      { type: "routeSelection", selectedRoute: route?.key ?? null, evaluatedRoutes: evaluated(p.exchange) },
      route === undefined ? "error" : "info"
    )
  }

  calling(p: Passage): void {
    this.#tell({ type: "backendCallStart", target: p.target! })
    this.#calling = true
    if (this.#requestBody?.over === true) this.#tellRequestBody()
  }
  #calling = false

  /** The request body is told once, between the start and the result of the call. */
  #tellRequestBody(): void {
    const body = this.#requestBody
    if (!this.#calling || body === undefined) return
    this.#requestBody = undefined
    if (body.size > 0) this.#tell({ type: "bodySnapshot", stage: "final request", body: body.base64() })
  }

  called(p: Passage, failed: StageError | undefined): void {
    const error = failed?.message
    this.#tellRequestBody()
    const status = error === undefined ? (p.exchange.response?.status ?? null) : null
    this.#tell(
      { type: "backendCallResult", status, error: error ?? null },
      severityOf(status, error),
      micros(p.called! - this.#began)
    )
    if (error !== undefined) return
    this.#tell({
      type: "responseSnapshot",
      stage: "raw response",
      requestState: {
        ...this.#answer(p),
        proxy: {
          requestProcessingDuration: seconds(p.called! - p.exchange.arrived),
          upstreamDuration: seconds(p.answered! - p.called!)
        }
      }
    })
  }

  repeating({ exchange }: Passage, error: StageError | undefined, delay: number): void {
    const came = error?.message ?? `status ${exchange.response?.status}`
    this.told({ type: "policyEvent", kind: "attempt", details: `${came}; another attempt in ${delay} ms` })
    this.#calling = false
  }

  ready(p: Passage): void {
    this.#tell({ type: "responseSnapshot", stage: "backend response ready", requestState: this.#answer(p) })
  }

  final(p: Passage, error: StageError | undefined): void {
    this.#error = error?.message ?? null
    this.#tell({ type: "responseSnapshot", stage: "final response", requestState: this.#answer(p) })
    if (p.exchange.receivedMethod === "HEAD") return
    this.#responseBody = new Capture(() => {})
    p.exchange.observeResponseBody(this.#responseBody)
  }
  #responseBody: Capture | undefined

  /** The end comes however far the request got: a client may go away at any time. */
  #finish(p: Passage, outcome: Outcome): void {
    const failure = outcome.failure ?? this.#error ?? p.exchange.error?.message ?? null
    for (const ended of this.#open)
      ended({ status: undefined, error: outcome.failure ?? "the request was over before it" })
    if (this.#calling && p.answered === undefined) {
      this.#tellRequestBody()
      this.#tell({ type: "backendCallResult", status: null, error: failure }, "error", micros(p.called! - this.#began))
    }
    const body = this.#responseBody
    if (body !== undefined && body.size > 0)
      this.#tell({ type: "bodySnapshot", stage: "response", body: body.base64() })
    this.#tell(
      { type: "requestFinished", status: outcome.status ?? null, error: failure },
      severityOf(outcome.status ?? null, failure ?? undefined)
    )
    this.#over = true
  }

  stage(_: Passage, event: StageFinished): void {
    this.#stage(event)
  }

  #stage({ step, start, end, outcome, error }: Omit<StageFinished, "step"> & { readonly step: NamedStep }): void {
    this.#tell(
      {
        type: "policy",
        ...this.#named(step),
        result:
          outcome === "skipped"
            ? { type: "skip", reason: `condition not met: ${step.condition ?? ""}` }
            : {
                type: "apply",
                details: error === undefined ? outcome : `${outcome}: ${error.message}`,
                snapshot: null
              },
        durationUs: micros(end - start)
      },
      outcome === "failed" ? "error" : outcome === "failedOpen" ? "warn" : "info"
    )
  }

  #request(p: Passage): RequestState {
    const x = p.exchange
    const { request, peer } = x
    const { hidden } = x.settings
    const mcp = x.get(slots.mcpCall)
    const jwt = x.get(slots.jwt)
    const apiKey = x.get(slots.apiKey)
    const basicAuth = x.get(slots.basicAuth)
    return {
      request: {
        method: request.method,
        uri: shownUri(request.uri, hidden),
        path: request.path,
        pathAndQuery: shownUri(request.pathAndQuery, hidden),
        host: request.authority,
        scheme: request.scheme,
        version: `HTTP/${request.version}`,
        headers: shownHeaders(request.headers, hidden),
        startTime: new Date(x.now).toISOString()
      },
      source: sourceOf(peer),
      env: this.#settings.env,
      ...(p.backend === undefined
        ? {}
        : { backend: { name: p.backend.name, type: p.backend.type, protocol: p.backend.protocol } }),
      ...(mcp === undefined ? {} : { mcp }),
      ...(jwt === undefined ? {} : { jwt: jwt.toJSON() }),
      ...(apiKey === undefined ? {} : { apiKey: apiKey.toJSON() }),
      ...(basicAuth === undefined ? {} : { basicAuth })
    }
  }

  #answer(p: Passage): RequestState {
    const { response, settings } = p.exchange
    return {
      ...this.#request(p),
      ...(response === undefined
        ? {}
        : { response: { code: response.status, headers: shownHeaders(response.headers, settings.hidden) } })
    }
  }
}

const shownHeaders = (list: HeaderList, hidden: Hidden): Record<string, string | Array<string>> => {
  const shown: Record<string, string | Array<string>> = {}
  for (const [name, value] of list) {
    // Where a redirect leads and where a request came from are addresses, and so is what others pass on.
    const visible = isHidden(name, hidden) ? "<redacted>" : shownValue(value, hidden)
    const before = Object.hasOwn(shown, name) ? shown[name] : undefined
    const now = before === undefined ? visible : typeof before === "string" ? [before, visible] : [...before, visible]
    Object.defineProperty(shown, name, { value: now, enumerable: true, configurable: true, writable: true })
  }
  return shown
}

const severityOf = (status: number | null, error: string | undefined): TraceEvent["severity"] =>
  error !== undefined || (status ?? 0) >= 500 ? "error" : (status ?? 0) >= 400 ? "warn" : "info"

const sourceOf = ({ address, port, rawAddress, rawPort, tls, tunnel }: Peer): RequestState["source"] => {
  const { serverName, clientCertificate } = tls ?? {}
  const { subject, issuer, subjectAltNames, spiffeId } = clientCertificate ?? {}
  return {
    address,
    port,
    rawAddress,
    rawPort,
    ...(serverName === undefined ? {} : { serverName }),
    ...(subject === undefined ? {} : { subject }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(subjectAltNames === undefined ? {} : { subjectAltNames }),
    ...(spiffeId === undefined ? {} : { spiffeId }),
    ...(tunnel === undefined ? {} : { tunnel: tunnel.to })
  }
}
