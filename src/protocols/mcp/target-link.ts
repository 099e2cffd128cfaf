/**
 * One target in one session: sends messages, knows which calls are unanswered, and brings every message of the target
 * to the call it belongs to. The only place that holds request ids; it fails what a dead target owes.
 */
import type {
  McpEventMark,
  McpTransport,
  McpTransportEvents,
  TargetBroken,
  TargetFailure
} from "../../services/mcp-transport.ts"
import type { Call, LinkHost, ListenOutlet, Outlet } from "./call.ts"
import type { CallRecord, Ledger } from "./call-record.ts"
import type { McpTarget } from "./config.ts"
import {
  decodeBatch,
  decodeMessage,
  errorOf,
  idKey,
  isBatch,
  isNotJsonRpc,
  paramsOf,
  progressTokenOf,
  type RpcError,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  withId
} from "./envelope.ts"
import { code, type McpFailure, rpcRefusal } from "./errors.ts"
import { notificationForClient, requestForClient } from "./inbound.ts"
import { withTrace, withTraceHeaders } from "./trace-context.ts"

interface Pending {
  readonly call: Call
  readonly record: CallRecord
  stream: number
  lastId: string | undefined
  retry: number | undefined
  resumptions: number
}
type Stream =
  | { readonly kind: "call"; readonly pending: Pending }
  | { readonly kind: "listen"; readonly out: ListenOutlet }
  | {
      readonly kind: "notify"
      readonly done: (failure: TargetFailure | undefined) => void
      readonly record: CallRecord
    }

const broken = (message: string): TargetBroken => ({ _tag: "TargetBroken", status: 500, message })
const closedOnReceive = broken("upstream closed on receive")
const noAnswer = broken("upstream closed the stream without an answer")
const notJson = broken("upstream sent a message that is not JSON-RPC")
const noServerRequests = rpcRefusal(
  200,
  code.internal,
  "gateway cannot route direct server-to-client requests; return an input_required result instead"
)
const duplicateId = rpcRefusal(400, code.invalidRequest, "a request with this id is still unanswered")
const tooManyRequests = rpcRefusal(503, code.internal, "too many unanswered requests in this session")

const maxResumptions = 10
const defaultRetryMillis = 1000
const maxSuspended = 64

/** Concern the session, not a call, whatever call happens to run. */
const isSessionWide = (method: string) =>
  method.endsWith("/list_changed") || method === "notifications/resources/updated"

export class TargetLink {
  readonly target: McpTarget
  dead: TargetFailure | undefined
  readonly #host: LinkHost
  #transport: McpTransport | undefined
  #nextStream = 1
  readonly #streams = new Map<number, Stream>()
  readonly #pending = new Map<string, Pending>()
  /** Calls whose stream ended early: a resumed stream of the client may still bring the answer. */
  readonly #suspended = new Map<string, Call>()
  /** Messages that wait for the handshake. */
  #queue: Array<() => void> | undefined

  constructor(host: LinkHost, target: McpTarget, open: (events: McpTransportEvents) => McpTransport | TargetFailure) {
    this.#host = host
    this.target = target
    const opened = open({
      onMessage: (text, stream, mark) => this.#received(text, stream, mark),
      onOpen: (stream) => {
        const use = this.#streams.get(stream)
        if (use?.kind === "listen") use.out.opened()
      },
      onEnd: (stream, failure) => this.#ended(stream, failure),
      onDeath: (failure) => this.#died(failure)
    })
    if ("_tag" in opened) this.dead = opened
    else this.#transport = opened
  }

  get sessionId(): string | undefined {
    return this.#transport?.sessionId()
  }

  /** All messages of the target arrive on one channel. */
  get shared(): boolean {
    return this.#transport?.shared ?? false
  }

  /** Requests that wait for an answer. */
  get pending(): number {
    return this.#pending.size
  }

  call(call: Call): void {
    if (this.#queue !== undefined) this.#queue.push(() => this.#call(call))
    else this.#call(call)
  }

  /** Sends a notification or a reply; `done` hears whether the target took it. */
  notify(
    text: string,
    method: string | undefined,
    headers: ReadonlyArray<string>,
    ledger: Ledger,
    done: (failure: McpFailure | undefined) => void
  ): void {
    if (this.#queue !== undefined) {
      this.#queue.push(() => this.#notify(text, method, headers, ledger, done))
    } else this.#notify(text, method, headers, ledger, done)
  }

  /** Sends a handshake; everything else waits until `release`. */
  introduce(handshake: Call): void {
    this.#queue = []
    this.#call(handshake)
  }

  /** Sends what waited, after `first`; with a failure everyone who waits hears of it. */
  release(failure: TargetFailure | undefined, first: () => void): void {
    const queue = this.#queue ?? []
    this.#queue = undefined
    if (failure !== undefined) this.dead ??= failure
    else first()
    for (const send of queue) send()
  }

  /** Returns a function that ends the listening. */
  listen(headers: ReadonlyArray<string>, lastEventId: string | undefined, out: ListenOutlet): () => void {
    const transport = this.#transport
    if (this.dead !== undefined || transport === undefined) {
      out.ended(this.dead ?? closedOnReceive)
      return () => {}
    }
    const stream = this.#nextStream++
    this.#streams.set(stream, { kind: "listen", out })
    transport.listen(stream, headers, lastEventId)
    return () => {
      if (this.#streams.delete(stream)) transport.abandon(stream)
    }
  }

  /** The client gave the request up; whatever still comes for it is dropped. */
  cancelled(id: RpcId): void {
    const pending = this.#pending.get(idKey(id))
    if (pending === undefined) return
    this.#forget(pending)
    this.#transport?.abandon(pending.stream)
    pending.record.end({ message: "cancelled" })
    pending.call.out.suspended()
  }

  /** Nobody waits for the call any more. */
  abandon(call: Call): void {
    const pending = this.#pending.get(idKey(call.id))
    if (pending?.call !== call) return
    this.#forget(pending)
    this.#transport?.abandon(pending.stream)
    pending.record.end({ message: "abandoned" })
  }

  close(farewell: ReadonlyArray<string> | undefined): void {
    this.#transport?.close(farewell)
    this.#fail(closedOnReceive)
  }

  #call(call: Call) {
    const transport = this.#transport
    if (this.dead !== undefined || transport === undefined) return call.out.failed(this.dead ?? closedOnReceive)
    const key = idKey(call.id)
    if (this.#pending.has(key)) return call.out.failed(duplicateId)
    if (this.#pending.size >= this.#host.pendingRequests) return call.out.failed(tooManyRequests)
    const record = call.ledger.begin(this.target.name, call.method, call.name)
    const stream = this.#nextStream++
    const pending: Pending = { call, record, stream, lastId: undefined, retry: undefined, resumptions: 0 }
    this.#pending.set(key, pending)
    this.#streams.set(stream, { kind: "call", pending })
    const { trace } = record
    transport.send({
      message: trace === undefined ? call.text : withTrace(call.text, trace),
      stream,
      expectsAnswer: true,
      method: call.method,
      headers: trace === undefined ? call.headers : withTraceHeaders(call.headers, trace)
    })
  }

  #notify(
    text: string,
    method: string | undefined,
    headers: ReadonlyArray<string>,
    ledger: Ledger,
    done: (failure: McpFailure | undefined) => void
  ) {
    const transport = this.#transport
    if (this.dead !== undefined || transport === undefined) return done(this.dead ?? closedOnReceive)
    const record = ledger.begin(this.target.name, method ?? "response", undefined)
    const stream = this.#nextStream++
    this.#streams.set(stream, { kind: "notify", done, record })
    transport.send({ message: text, stream, expectsAnswer: false, method, headers })
  }

  #forget(pending: Pending) {
    this.#pending.delete(idKey(pending.call.id))
    this.#streams.delete(pending.stream)
  }

  #received(text: string, stream: number | undefined, mark: McpEventMark | undefined) {
    const use = stream === undefined ? undefined : this.#streams.get(stream)
    if (stream !== undefined && use === undefined) return
    if (use?.kind === "call" && mark !== undefined) {
      if (mark.id !== undefined) use.pending.lastId = mark.id
      if (mark.retry !== undefined) use.pending.retry = mark.retry
    }
    if (text === "") {
      if (use?.kind === "call" && use.pending.call.resumable) use.pending.call.out.message("", mark)
      else if (use?.kind === "listen") use.out.message("", mark)
      return
    }
    // A server of 2025-03-26 may answer in batches; the client gets their messages one by one.
    const decoded = isBatch(text) ? decodeBatch(text, Number.MAX_SAFE_INTEGER) : [decodeMessage(text)]
    if (isNotJsonRpc(decoded)) return this.#undecodable(use, decoded.message)
    for (const message of decoded) {
      if (isNotJsonRpc(message)) this.#undecodable(use, message.message)
      else this.#route(message, use, stream, mark)
    }
  }

  #undecodable(use: Stream | undefined, reason: string) {
    this.#host.warn(this.target.name, `a message was dropped: ${reason}`)
    if (use?.kind !== "call") return
    this.#forget(use.pending)
    this.#transport?.abandon(use.pending.stream)
    use.pending.record.end(notJson)
    use.pending.call.out.failed(notJson)
  }

  #route(message: RpcMessage, use: Stream | undefined, stream: number | undefined, mark: McpEventMark | undefined) {
    switch (message.kind) {
      case "response":
      case "error":
        return this.#answer(message, use, stream, mark)
      case "request":
        return this.#request(message, use, stream, mark)
      case "notification": {
        if (message.method.endsWith("/list_changed")) this.#host.listChanged(message.method)
        const text = notificationForClient(this.#host.naming, this.target.name, message)
        return this.#deliver(message, text, use, stream, mark)
      }
    }
  }

  #answer(
    message: RpcResponse | RpcError,
    use: Stream | undefined,
    stream: number | undefined,
    mark: McpEventMark | undefined
  ) {
    // An error without an id can only mean the request on whose stream it comes.
    const pending =
      message.id !== undefined ? this.#pending.get(idKey(message.id)) : use?.kind === "call" ? use.pending : undefined
    if (pending !== undefined) {
      this.#forget(pending)
      pending.record.end(message.kind === "error" ? errorOf(message) : undefined)
      const { call } = pending
      if (use?.kind === "listen") use.out.message(this.#finalText(call, message), mark)
      else {
        call.out.answered(withId(message, call.idText), call.resumable ? mark : undefined)
        if (stream !== undefined) this.#transport?.release(stream)
      }
      return
    }
    if (use?.kind !== "listen") {
      this.#host.warn(this.target.name, "an answer to no open request was dropped")
      return
    }
    // A resumed stream: the call was suspended here, or begun by another process.
    const key = message.id === undefined ? "" : idKey(message.id)
    const suspended = this.#suspended.get(key)
    this.#suspended.delete(key)
    const text = suspended === undefined ? message.text : this.#finalText(suspended, message)
    this.#flow(use.out.message(text, mark), use.out, stream)
  }

  #finalText(call: Call, message: RpcResponse | RpcError): string {
    const own = withId(message, call.idText)
    return own.kind === "response" ? call.transform(own) : own.text
  }

  #request(message: RpcRequest, use: Stream | undefined, stream: number | undefined, mark: McpEventMark | undefined) {
    switch (this.#host.requests) {
      case "routed":
        return this.#deliver(message, requestForClient(this.#host.naming, this.target.name, message), use, stream, mark)
      case "refused": {
        const pending = use?.kind === "call" ? use.pending : this.#newest()
        if (pending === undefined) return
        this.#forget(pending)
        this.#transport?.abandon(pending.stream)
        pending.record.end(noServerRequests)
        return pending.call.out.failed(noServerRequests)
      }
      case "answered": {
        const id = message.text.slice(message.idSpan.start, message.idSpan.end)
        const body =
          message.method === "ping"
            ? '"result":{}'
            : `"error":{"code":${code.methodNotFound},"message":"the client cannot be reached"}`
        this.#transport?.send({
          message: `{"jsonrpc":"2.0","id":${id},${body}}`,
          stream: this.#nextStream++,
          expectsAnswer: false,
          method: undefined,
          headers: this.#newest()?.call.headers ?? []
        })
      }
    }
  }

  #newest(): Pending | undefined {
    let newest: Pending | undefined
    for (const pending of this.#pending.values()) newest = pending
    return newest
  }

  /** A message that is no answer, to the stream it came on, or on a shared channel to where it most likely belongs. */
  #deliver(
    message: RpcRequest | RpcNotification,
    text: string,
    use: Stream | undefined,
    stream: number | undefined,
    mark: McpEventMark | undefined
  ) {
    if (use?.kind === "call") {
      const { call } = use.pending
      return this.#flow(call.out.message(text, call.resumable ? mark : undefined), call.out, stream)
    }
    if (use?.kind === "listen") return this.#flow(use.out.message(text, mark), use.out, stream)
    const listener = this.#host.listener()
    const call = this.#callFor(message, listener !== undefined)
    if (call !== undefined) call.out.message(text, undefined)
    else if (listener !== undefined) listener.message(text, undefined)
    else this.#host.keep(text)
  }

  #callFor(message: RpcRequest | RpcNotification, listening: boolean): Call | undefined {
    if (message.method === "notifications/progress") {
      const token = progressTokenOf(message, paramsOf(message))?.token
      for (const { call } of this.#pending.values()) if (call.token !== undefined && call.token === token) return call
    }
    if (isSessionWide(message.method) || (listening && this.#pending.size > 1)) return undefined
    return this.#newest()?.call
  }

  /** Back-pressure: a stream whose reader has enough is not read until it has drained. */
  #flow(more: boolean, out: Outlet, stream: number | undefined) {
    const transport = this.#transport
    if (more || stream === undefined || transport === undefined) return
    transport.pause(stream)
    out.whenDrained(() => transport.resume(stream))
  }

  #ended(stream: number, failure: TargetFailure | undefined) {
    const use = this.#streams.get(stream)
    if (use === undefined) return
    this.#streams.delete(stream)
    switch (use.kind) {
      case "notify":
        use.record.end(failure)
        return use.done(failure)
      case "listen":
        return use.out.ended(failure)
      case "call":
        return this.#unanswered(use.pending, failure)
    }
  }

  #unanswered(pending: Pending, failure: TargetFailure | undefined) {
    const { call } = pending
    const refused = failure?._tag === "TargetStatus"
    if (pending.lastId !== undefined && call.resumable && !refused) {
      this.#forget(pending)
      pending.record.end({ message: "suspended" })
      if (this.#suspended.size >= maxSuspended) {
        for (const oldest of this.#suspended.keys()) {
          this.#suspended.delete(oldest)
          break
        }
      }
      this.#suspended.set(idKey(call.id), call)
      return call.out.suspended()
    }
    if (pending.lastId !== undefined && !refused && pending.resumptions < maxResumptions) {
      pending.resumptions++
      this.#host.after(pending.retry ?? defaultRetryMillis, () => this.#resume(pending))
      return
    }
    this.#forget(pending)
    pending.record.end(failure ?? noAnswer)
    call.out.failed(failure ?? noAnswer)
  }

  #resume(pending: Pending) {
    if (this.#pending.get(idKey(pending.call.id)) !== pending || this.dead !== undefined) return
    pending.stream = this.#nextStream++
    this.#streams.set(pending.stream, { kind: "call", pending })
    this.#transport?.listen(pending.stream, pending.call.headers, pending.lastId)
  }

  #died(failure: TargetFailure) {
    this.dead = failure
    this.#fail(failure)
    this.#host.died()
  }

  #fail(failure: TargetFailure) {
    this.dead ??= failure
    const pending = [...this.#pending.values()]
    const streams = [...this.#streams.values()]
    this.#pending.clear()
    this.#streams.clear()
    for (const one of pending) {
      one.record.end(failure)
      one.call.out.failed(failure)
    }
    for (const use of streams) {
      if (use.kind === "listen") use.out.ended(failure)
      else if (use.kind === "notify") {
        use.record.end(failure)
        use.done(failure)
      }
    }
  }
}
