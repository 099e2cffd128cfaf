/**
 * The spans of a sampled request, made from recorded times: one for the request, one for each node that ran and for each call
 * that it made, one for the call of the backend, or one for each call of a backend that is a relay. Nothing of this exists for a request that is not sampled.
 */
import { isGrpc } from "../http/grpc.ts"
import { formatTraceparent, newSpanId, newTraceId, type TraceContext } from "../http/trace-context.ts"
import type { FinishedSpan } from "../services/span-sink.ts"
import type { Exchange } from "./exchange.ts"
import type { OutboundCall, OutboundWatch } from "./outbound.ts"
import type { Passage } from "./passage.ts"
import { requestFacts } from "./request-fields.ts"
import type { StageFinished, Step } from "./run.ts"
import type { RequestSite } from "./site.ts"
import type { StageError } from "./stage.ts"
import type { Outcome } from "./view.ts"
import type { Watch } from "./watch.ts"

/** So many are handed over before the request is over. */
const manySpans = 256

export class Spans implements Watch {
  readonly notes = false
  readonly #add: (spans: ReadonlyArray<FinishedSpan>) => void
  readonly #clock: () => number
  readonly #parent: TraceContext | undefined
  readonly #traceId: string
  readonly #spanId = newSpanId()
  /** Of the call under way. */
  #callId = newSpanId()
  /** Of the nodes of the attempt under way that are known to have one. */
  readonly #stageIds = new Map<Step, string>()
  readonly #finished: Array<FinishedSpan> = []
  /** What turns a time of the monotonic clock into one since 1970. */
  #epoch = 0
  #error: string | undefined
  #over = false

  /** @param clock the monotonic clock that the times of exchanges are read from. */
  constructor(
    parent: TraceContext | undefined,
    clock: () => number,
    add: (spans: ReadonlyArray<FinishedSpan>) => void
  ) {
    this.#clock = clock
    this.#parent = parent
    this.#traceId = parent?.traceId ?? newTraceId()
    this.#add = add
  }

  #span(
    span: Omit<FinishedSpan, "traceId" | "start" | "end"> & { readonly start: number; readonly end: number }
  ): void {
    this.#finished.push({
      ...span,
      traceId: this.#traceId,
      start: span.start + this.#epoch,
      end: span.end + this.#epoch
    })
  }

  started(p: Passage): void {
    const x = p.exchange
    this.#epoch = x.now - x.arrived
    x.onFinished((outcome) => this.#finish(p, outcome))
    x.fact("trace.id", this.#traceId)
    x.fact("span.id", this.#spanId)
  }

  stage(_: Passage, { step, start, end, outcome, error, afterwards }: StageFinished): void {
    if (outcome === "skipped") return
    this.#span({
      spanId: this.#stageId(step),
      parentSpanId: this.#spanId,
      name: `stage.${step.phase}.${step.node}`,
      kind: "internal",
      start,
      end,
      attributes: { "hg.policy": step.policy, "hg.outcome": outcome },
      error: outcome === "failed" ? error?.message : undefined
    })
    if (!afterwards) return
    // It may run again, as another span, and there may be any number of them.
    this.#stageIds.delete(step)
    if (this.#finished.length >= manySpans) this.#add(this.#finished.splice(0))
  }

  /** Calls of a node are made before it has ended, or by what it leaves behind. */
  #stageId(step: Step): string {
    let id = this.#stageIds.get(step)
    if (id === undefined) {
      id = newSpanId()
      this.#stageIds.set(step, id)
    }
    return id
  }

  outbound(call: OutboundCall, by?: Step): OutboundWatch {
    return this.#outbound(call, by === undefined ? this.#spanId : this.#stageId(by))
  }

  #outbound({ name, attributes }: OutboundCall, parentSpanId: string): OutboundWatch {
    const spanId = newSpanId()
    const start = this.#clock()
    return {
      context: { traceId: this.#traceId, spanId, sampled: true },
      ended: ({ status, error }) => {
        this.#span({
          spanId,
          parentSpanId,
          name,
          kind: "client",
          start,
          end: this.#clock(),
          attributes: { ...attributes, ...(status === undefined ? {} : { "http.status": status }) },
          error
        })
        // In MCP a call may outlive the request, as does that of a key set for all who ask.
        if (this.#over) this.#add(this.#finished.splice(0))
      },
      outbound: (call) => this.#outbound(call, spanId)
    }
  }

  /** The backend belongs to the same trace: its parent is the span of the call. */
  passed(p: Passage, site: RequestSite): void {
    if (site !== "backend") return
    if (p.attempts !== undefined) this.#callId = newSpanId()
    p.exchange.request.headers.set(
      "traceparent",
      formatTraceparent({ traceId: this.#traceId, spanId: isRelay(p) ? this.#spanId : this.#callId, sampled: true })
    )
  }

  called(p: Passage, error: StageError | undefined): void {
    this.#call(p, p.answered ?? p.called ?? p.exchange.arrived, error?.message)
  }

  #call(p: Passage, end: number, error: string | undefined): void {
    if (isRelay(p)) return
    const x = p.exchange
    const target = p.target ?? ""
    this.#span({
      spanId: this.#callId,
      parentSpanId: this.#spanId,
      name: `${x.request.method} ${target}`,
      kind: "client",
      start: p.called ?? x.arrived,
      end,
      attributes: {
        "hg.outbound.kind": "primary",
        "hg.outbound.subtype": p.backend?.protocol ?? "http",
        "http.method": x.request.method,
        "http.host": target,
        "http.path": x.request.path,
        ...(x.response === undefined ? {} : { "http.status": x.response.status })
      },
      error
    })
  }

  repeating(): void {
    this.#stageIds.clear()
  }

  final(_: Passage, error: StageError | undefined): void {
    this.#error = error?.message
  }

  /** The end comes however far the request got: a client may go away at any time. */
  #finish(p: Passage, outcome: Outcome): void {
    const x = p.exchange
    const end = this.#clock()
    if (p.called !== undefined && p.answered === undefined) this.#call(p, end, outcome.failure)
    this.#span({
      spanId: this.#spanId,
      parentSpanId: this.#parent?.spanId,
      name: nameOf(x),
      kind: "server",
      start: x.arrived,
      end,
      attributes: {
        ...requestFacts(p, outcome),
        "url.scheme": x.request.scheme,
        "network.protocol.version": x.request.version
      },
      error: this.#error ?? outcome.failure ?? p.exchange.error?.message
    })
    this.#over = true
    this.#add(this.#finished.splice(0))
  }

  entering(): void {}
  calling(): void {}
  selected(): void {}
  ready(): void {}
  told(): void {}
}

/** Whether the backend is a relay in this process: then its own calls are what leaves it. */
const isRelay = (p: Passage): boolean => p.backend?.protocol === "mcp"

/** By what is asked: the method of an MCP message or of gRPC, else the method and the path that a route was matched by. */
const nameOf = (x: Exchange): string => {
  const rpc = x.facts?.get("mcp.method.name")
  if (rpc !== undefined) return String(rpc)
  if (isGrpc(x.request.headers)) return x.receivedPath
  const prefix = x.matchedPrefix?.replace(/\/$/, "")
  return `${x.receivedMethod} ${prefix === undefined ? x.receivedPath.split("?", 1)[0] : `${prefix}/*`}`
}
