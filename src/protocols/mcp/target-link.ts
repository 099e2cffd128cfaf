/**
 * One target in one session: sends messages, knows which calls are unanswered, and brings every message of the target
 * to the call it belongs to. The only place that holds request ids; it fails what a dead target owes.
 */
import type { McpEventMark, McpTransport, McpTransportEvents, TargetFailure } from "../../services/mcp-transport.ts"
import type { Call, LinkHost, ListenOutlet, Outlet } from "./call.ts"
import type { CallRecord, Ledger } from "./call-record.ts"
import type { McpTarget } from "./config.ts"
import {
  decodeBatch,
  decodeMessage,
  errorMessage,
  errorOf,
  idKey,
  idText,
  isBatch,
  isNotJsonRpc,
  type RpcError,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  resultMessage,
  withId
} from "./envelope.ts"
import { code, linkFailure, type McpFailure } from "./errors.ts"
import { forwardedHeaders } from "./headers.ts"
import { notificationForClient, requestForClient } from "./inbound.ts"
import { callOfMessage, newest } from "./shared-channel.ts"
import { Suspended } from "./suspended.ts"
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

const maxResumptions = 10
const defaultRetryMillis = 1000

/** How a message came: on which stream of ours, if it is one, and with which event fields. */
interface Arrival {
  readonly use: Stream | undefined
  readonly stream: number | undefined
  readonly mark: McpEventMark | undefined
}

/** The link of a session to one target. */
export class TargetLink {
  readonly target: McpTarget
  dead: TargetFailure | undefined
  readonly #host: LinkHost
  #transport: McpTransport | undefined
  #nextStream = 1
  readonly #streams = new Map<number, Stream>()
  readonly #pending = new Map<string, Pending>()
  /** Notifications and replies that the target has not taken yet. */
  #untaken = 0
  /** Calls whose stream ended early: a resumed stream of the client may still bring the answer. */
  readonly #suspended = new Suspended()
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

  /** A request is unanswered, and its client waits for it. */
  get awaited(): boolean {
    for (const { call } of this.#pending.values()) if (!call.out.gone()) return true
    return false
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
      out.ended(this.dead ?? linkFailure.closed)
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

  /** Cancels the calls whose request has no time left. Who made them is still to be told. */
  withdrawLate(): ReadonlyArray<{ readonly call: Call; readonly failure: McpFailure }> {
    return [...this.#pending.values()].flatMap((pending) => {
      const { call, record } = pending
      const failure = call.out.late()
      if (failure === undefined) return []
      this.#forget(pending)
      record.end({ message: failure.message })
      this.#sayCancelled(call, failure.message)
      this.#transport?.abandon(pending.stream)
      return [{ call, failure }]
    })
  }

  close(farewell: ReadonlyArray<string> | undefined, why: TargetFailure): void {
    this.#transport?.close(farewell)
    this.#fail(why)
  }

  #call(call: Call) {
    const transport = this.#transport
    if (this.dead !== undefined || transport === undefined) return call.out.failed(this.dead ?? linkFailure.closed)
    const late = call.out.late()
    if (late !== undefined) return call.out.failed(late)
    const key = idKey(call.id)
    if (this.#pending.has(key)) return call.out.failed(linkFailure.duplicateId)
    if (this.#pending.size >= this.#host.pendingRequests) return call.out.failed(linkFailure.tooManyRequests)
    const record = call.ledger.begin(this.target.name, call.method, call.name)
    const stream = this.#nextStream++
    const pending: Pending = { call, record, stream, lastId: undefined, retry: undefined, resumptions: 0 }
    this.#pending.set(key, pending)
    this.#streams.set(stream, { kind: "call", pending })
    const { trace, context } = record
    transport.send({
      message: trace === undefined ? call.text : withTrace(call.text, trace),
      stream,
      expectsAnswer: true,
      method: call.method,
      context,
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
    if (this.dead !== undefined || transport === undefined) return done(this.dead ?? linkFailure.closed)
    if (this.#untaken >= this.#host.pendingRequests) return done(linkFailure.tooManyMessages)
    this.#untaken++
    const record = ledger.begin(this.target.name, method ?? "response", undefined)
    const stream = this.#nextStream++
    this.#streams.set(stream, { kind: "notify", done, record })
    const { trace } = record
    const own = trace === undefined ? headers : withTraceHeaders(headers, trace)
    transport.send({ message: text, stream, expectsAnswer: false, method, headers: own })
  }

  /** A handshake is never cancelled (MCP base protocol, cancellation), and a new protocol closes the stream instead. */
  #sayCancelled(call: Call, reason: string) {
    const transport = this.#transport
    if (transport === undefined || call.method === "initialize") return
    if (this.#host.closingCancels && !transport.shared) return
    const method = "notifications/cancelled"
    const record = call.ledger.begin(this.target.name, method, undefined)
    const headers = forwardedHeaders(call.headers)
    const stream = this.#nextStream++
    transport.send({
      message: `{"jsonrpc":"2.0","method":"${method}","params":{"requestId":${call.idText},"reason":${JSON.stringify(reason)}}}`,
      stream,
      expectsAnswer: false,
      method,
      headers: record.trace === undefined ? headers : withTraceHeaders(headers, record.trace)
    })
    // Nobody waits for it, and a session that closes now does not take it back.
    transport.release(stream)
    record.end(undefined)
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
    const arrival = { use, stream, mark }
    for (const message of decoded) {
      if (isNotJsonRpc(message)) this.#undecodable(use, message.message)
      else this.#route(message, arrival)
    }
  }

  #undecodable(use: Stream | undefined, reason: string) {
    this.#host.warn(this.target.name, `a message was dropped: ${reason}`)
    if (use?.kind === "call") this.#giveUp(use.pending, linkFailure.notJson)
  }

  /** Ends a call that the target did not end. */
  #giveUp(pending: Pending, failure: McpFailure) {
    this.#forget(pending)
    this.#transport?.abandon(pending.stream)
    pending.record.end(failure)
    pending.call.out.failed(failure)
  }

  #route(message: RpcMessage, arrival: Arrival) {
    switch (message.kind) {
      case "response":
      case "error":
        return this.#answer(message, arrival)
      case "request":
        return this.#request(message, arrival)
      case "notification":
        if (message.method.endsWith("/list_changed")) this.#host.listChanged(message.method)
        return this.#deliver(message, notificationForClient(this.#host.naming, this.target.name, message), arrival)
    }
  }

  #answer(message: RpcResponse | RpcError, { use, stream, mark }: Arrival) {
    // An error without an id can only mean the request on whose stream it comes.
    const pending =
      message.id !== undefined ? this.#pending.get(idKey(message.id)) : use?.kind === "call" ? use.pending : undefined
    if (pending !== undefined) {
      const { call, record } = pending
      this.#forget(pending)
      record.end(message.kind === "error" ? errorOf(message) : undefined)
      if (use?.kind === "listen") use.out.message(finalText(call, message), mark)
      else {
        call.out.answered(withId(message, call.idText), call.resumable ? mark : undefined)
        if (stream !== undefined) this.#transport?.release(stream)
      }
    } else if (use?.kind === "listen") {
      // A resumed stream: the call was suspended here, or begun by another process.
      const call = message.id === undefined ? undefined : this.#suspended.take(message.id)
      this.#flow(use.out.message(call === undefined ? message.text : finalText(call, message), mark), use.out, stream)
    } else if (message.id === undefined) this.#host.listener()?.message(message.text, undefined)
    else this.#host.warn(this.target.name, "an answer to no open request was dropped")
  }

  #request(message: RpcRequest, arrival: Arrival) {
    switch (this.#host.requests) {
      case "routed":
        return this.#deliver(message, requestForClient(this.#host.naming, this.target.name, message), arrival)
      case "refused": {
        const pending = arrival.use?.kind === "call" ? arrival.use.pending : newest(this.#pending)
        if (pending !== undefined) this.#giveUp(pending, linkFailure.noServerRequests)
        return
      }
      case "answered":
        this.#transport?.send({
          message: answerInstead(message),
          stream: this.#nextStream++,
          expectsAnswer: false,
          method: undefined,
          headers: newest(this.#pending)?.call.headers ?? []
        })
    }
  }

  /** A message that is no answer, to the stream it came on, or on a shared channel to where it most likely belongs. */
  #deliver(message: RpcRequest | RpcNotification, text: string, { use, stream, mark }: Arrival) {
    const own = use?.kind === "call" ? use.pending.call : undefined
    if (own !== undefined && !(message.kind === "request" && own.out.gone()))
      return this.#flow(own.out.message(text, own.resumable ? mark : undefined), own.out, stream)
    if (use?.kind === "listen") return this.#flow(use.out.message(text, mark), use.out, stream)
    const listener = this.#host.listener()
    const call = own === undefined ? callOfMessage(this.#pending, message, listener !== undefined) : undefined
    if (call !== undefined) call.out.message(text, undefined)
    else if (listener !== undefined) listener.message(text, undefined)
    else this.#host.keep(text)
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
        this.#untaken--
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
      this.#suspended.add(call)
      return call.out.suspended()
    }
    if (pending.lastId !== undefined && !refused && pending.resumptions < maxResumptions) {
      pending.resumptions++
      this.#host.after(pending.retry ?? defaultRetryMillis, () => this.#resume(pending))
      return
    }
    this.#forget(pending)
    pending.record.end(failure ?? linkFailure.noAnswer)
    call.out.failed(failure ?? linkFailure.noAnswer)
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

/** The answer in the client's form. */
const finalText = (call: Call, message: RpcResponse | RpcError): string => {
  const own = withId(message, call.idText)
  return own.kind === "response" ? call.transform(own) : own.text
}

/** What a client would say that cannot be reached: alive, but not of service. */
const answerInstead = (message: RpcRequest): string =>
  message.method === "ping"
    ? resultMessage(idText(message), "{}")
    : errorMessage(idText(message), code.methodNotFound, "the client cannot be reached")
