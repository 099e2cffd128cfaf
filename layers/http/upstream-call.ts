/**
 * One call of a backend: the handler that undici drives, and the source of the response's body. Everything that reaches
 * the engine does so in a tick of its own, because undici's parser must not be entered from within one of its callbacks;
 * by then a small response has come whole, and is handed over as plain bytes.
 */

import type { IncomingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, Exit } from "effect"
import type { Dispatcher } from "undici"
import { type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { isAlias, isHopByHop } from "../../src/http/framing.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { type Container, contained, containing } from "../../src/services/contained.ts"
import { containerOf, type TellDefect } from "../../src/services/defects.ts"
import { later } from "../../src/services/timer.ts"
import {
  UnknownTransferCoding,
  UpgradeMismatched,
  type UpstreamError,
  UpstreamFailed,
  type UpstreamRequest
} from "../../src/services/upstreams.ts"
import { responseHeaders, trailerList } from "./header-lines.ts"
import { pour, SocketBody } from "./socket-body.ts"
import { Upload } from "./upload.ts"
import { bodyError, callError } from "./upstream-errors.ts"

/** The pool that a call goes through, and what it knows of the backend. */
export interface Connections {
  /** Told of what went wrong in the proxy itself. */
  readonly tell: TellDefect
  readonly pool: Dispatcher
  /** Whether a connection is just being handed to its first request. */
  readonly fresh: boolean
  readonly connectTimeout: number
  /** The host of the backend. Always said, lest undici took the name that a TLS server must prove from the client's `host`. */
  readonly servername: string
}

type Options = Dispatcher.DispatchOptions & { readonly servername: string }
type Settle<E> = (exit: Exit.Exit<Answer, UpstreamError | E>) => void

/** Whether the same request may be sent twice (RFC 9110 9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

const aborted = new Error("nobody waits for the response any more")
const nothing = new Uint8Array(0)

export class UpstreamCall<E> implements Dispatcher.DispatchHandler, BodySource, Container {
  readonly #connections: Connections
  readonly #request: UpstreamRequest<E>
  #settle: Settle<E> | undefined
  #callOffTimer: (() => void) | undefined = undefined
  #controller: Dispatcher.DispatchController | undefined = undefined
  /** Whether the connection had served before: its peer may have closed it while the request was under way. */
  #reused = false
  #replayed = false
  #responding = false
  #answer: Answer | undefined = undefined
  /** Chunks that came before somebody wanted them. */
  #chunks: Array<Uint8Array> | undefined = undefined
  #sink: BodySink | undefined = undefined
  /** Told `false` by the sink, and not yet to go on. */
  #held = false
  #ended: "whole" | Error | undefined = undefined
  #trailers: HeaderList | undefined = undefined
  #cancelled = false

  constructor(connections: Connections, request: UpstreamRequest<E>, settle: Settle<E>) {
    this.#connections = connections
    this.#request = request
    this.#settle = settle
    const { patience } = request
    if (patience !== undefined) {
      const late = contained(this, () => {
        const settle = this.#settle
        // First: whoever sends the body is told before anybody answers.
        this.cancel()
        settle?.(Exit.fail(patience.failure()))
      })
      this.#callOffTimer = later(patience.milliseconds, late)
    }
    this.#dispatch()
  }

  #dispatch(): void {
    const { method, pathAndQuery, headers, body, authority, upgrade } = this.#request
    const source = isSource(body)
    const lines = ["host", authority]
    const flat = headers.flat
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i]!
      // The length of what is in memory is known better than any header says.
      if (isHopByHop(name) ? name !== "te" : name === "host" || (name === "content-length" && !source)) continue
      if (name.includes("_") && isAlias(name, headers)) continue
      lines.push(name, flat[i + 1]!)
    }
    const options: Options = {
      method,
      path: pathAndQuery,
      headers: lines,
      body: source ? new Upload(body) : (body ?? null),
      upgrade: upgrade ?? null,
      servername: this.#connections.servername
    }
    this.#connections.pool.dispatch(options, this)
  }

  #conclude(exit: Exit.Exit<Answer, UpstreamError | E>): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.#settle = undefined
    this.#callOffTimer?.()
    settle(exit)
  }

  /** Nobody wants the response, or the rest of it. */
  cancel(): void {
    if (this.#cancelled || this.#ended !== undefined) return
    this.#cancelled = true
    this.#settle = undefined
    this.#chunks = undefined
    this.#callOffTimer?.()
    this.#controller?.abort(aborted)
  }

  /** Whoever reads the response threw, or this call did: it is over, and so is its connection. */
  contain(cause: unknown): void {
    this.#connections.tell("backend", cause)
    const settle = this.#settle
    const sink = this.#sink
    this.#sink = undefined
    this.cancel()
    if (settle !== undefined) settle(Exit.die(cause))
    else sink?.fail(bodyError(cause instanceof Error ? cause : new Error(String(cause))))
  }

  // What undici tells. It catches what these throw, and tells `onResponseError`; beyond that one nobody catches.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#reused = !this.#connections.fresh
    if (this.#cancelled) controller.abort(aborted)
  }

  onResponseStarted(): void {
    this.#responding = true
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, parsed: IncomingHttpHeaders): void {
    if (this.#cancelled) return
    if (status < 200) {
      if (status === 101) this.#mismatch("no protocol")
      else this.#inform(status, responseHeaders(parsed, controller.rawHeaders))
      return
    }
    // The parser undoes the last coding alone, and what is left would pass for the body.
    const coding = parsed["transfer-encoding"]
    if (coding !== undefined && String(coding).toLowerCase() !== "chunked")
      throw new UnknownTransferCoding({ coding: String(coding) })
    if (status > 599) throw new UpstreamFailed({ kind: "protocol", detail: "the response has a status that is none" })
    const bodiless = this.#request.method === "HEAD" || status === 204 || status === 304
    this.#answer = {
      status,
      headers: responseHeaders(parsed, controller.rawHeaders),
      body: bodiless ? undefined : this
    }
    process.nextTick(deliver, this)
  }

  /** No 1xx response has a body (RFC 9112 6.3): whoever believed its length would take the next response for one. */
  #inform(status: number, headers: HeaderList): void {
    headers.delete("content-length")
    this.#request.onInformation?.(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#cancelled) return
    if (this.#sink !== undefined && this.#chunks === undefined) {
      if (!this.#sink.data(chunk)) this.#hold(controller)
      return
    }
    if (this.#chunks === undefined) this.#chunks = [chunk]
    else this.#chunks.push(chunk)
    // Delivered, and nobody has started to read: one chunk is kept, the rest waits in the socket.
    if (this.#settle === undefined) controller.pause()
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#cancelled) return
    this.#ended = "whole"
    this.#trailers = trailerList(controller.rawTrailers)
    if (this.#sink !== undefined && this.#chunks === undefined) this.#sink.end(this.#trailers)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    errored(this, error)
  }

  errored(error: Error): void {
    if (this.#cancelled) return
    if (this.#answer === undefined) {
      if (this.#mayReplay()) {
        this.#replayed = true
        this.#dispatch()
      } else {
        this.#ended = error
        process.nextTick(failed, this, error)
      }
      return
    }
    this.#ended = error
    if (this.#sink !== undefined && this.#chunks === undefined) this.#sink.fail(bodyError(error))
  }

  onRequestUpgrade(
    _: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex
  ): void {
    if (this.#cancelled) {
      socket.destroy()
      return
    }
    const offered = String(headers.upgrade ?? "no protocol")
    if (status !== 101 || !names(this.#request.upgrade ?? "", offered)) {
      socket.destroy()
      this.#mismatch(offered)
      return
    }
    // Each side may stop sending while it still receives.
    socket.allowHalfOpen = true
    this.#ended = "whole"
    const tunnel = containerOf(this.#connections.tell, "backend", () => socket.destroy())
    const answer: Answer = {
      status,
      headers: responseHeaders(headers, this.#controller?.rawHeaders),
      body: new SocketBody(socket, nothing, "backend", tunnel),
      switched: { protocol: offered, outbound: (client) => pour(client, socket, tunnel) }
    }
    const changed = contained(this, () => {
      if (this.#settle === undefined) socket.destroy()
      else this.#conclude(Exit.succeed(answer))
    })
    process.nextTick(changed)
  }

  #mismatch(offered: string): void {
    const settle = this.#settle
    const failure = new UpgradeMismatched({ offered, requested: this.#request.upgrade ?? "no protocol" })
    this.cancel()
    if (settle !== undefined) process.nextTick(tell, this, settle, failure)
  }

  /** A kept connection that its peer closed just then is no failure of the backend. */
  #mayReplay(): boolean {
    return (
      this.#reused &&
      !this.#replayed &&
      !this.#responding &&
      idempotent.has(this.#request.method) &&
      !isSource(this.#request.body)
    )
  }

  // In a tick of its own.

  /** Hands the response on: as bytes when all of it is there, else as a source. */
  deliver(): void {
    const answer = this.#answer
    if (answer === undefined || this.#cancelled) return
    const ended = this.#ended
    if (ended instanceof Error) {
      this.failed(ended)
      return
    }
    if (ended === "whole" && this.#trailers === undefined) {
      answer.body = joined(this.#chunks)
      this.#chunks = undefined
    }
    this.#conclude(Exit.succeed(answer))
  }

  failed(error: Error): void {
    this.#conclude(Exit.fail(callError(error, this.#connections.connectTimeout)))
  }

  // What the reader of the body asks for.

  start(sink: BodySink): void {
    this.#sink = sink
    this.#drain()
  }

  resume(): void {
    if (!this.#held) return
    this.#held = false
    process.nextTick(drain, this)
  }

  /** The rest of `resume`, in a tick of its own. */
  drain(): void {
    if (!this.#cancelled && !this.#held) this.#drain()
  }

  /** Gives what was kept, then lets the rest flow. */
  #drain(): void {
    const sink = this.#sink
    if (sink === undefined) return
    const chunks = this.#chunks
    if (chunks !== undefined) {
      while (chunks.length > 0) {
        if (!this.#give(sink, chunks.shift()!)) return
      }
      this.#chunks = undefined
    }
    if (this.#ended === undefined) {
      // A start may happen within a callback of another connection, where undici's parser must not be entered.
      if (this.#controller?.paused === true) process.nextTick(goOn, this, this.#controller)
    } else if (this.#ended === "whole") sink.end(this.#trailers)
    else sink.fail(bodyError(this.#ended))
  }

  /** Passes a kept chunk on, as undici does with those that it reads: a sink that throws has ended the body. */
  #give(sink: BodySink, chunk: Uint8Array): boolean {
    try {
      if (!sink.data(chunk)) this.#held = true
    } catch (cause) {
      this.cancel()
      sink.fail(bodyError(cause instanceof Error ? cause : new Error(String(cause))))
      return false
    }
    return !this.#held && !this.#cancelled
  }

  #hold(controller: Dispatcher.DispatchController): void {
    this.#held = true
    controller.pause()
  }
}

const deliver = containing(<E>(call: UpstreamCall<E>) => call.deliver())
const failed = containing(<E>(call: UpstreamCall<E>, error: Error) => call.failed(error))
const errored = containing(<E>(call: UpstreamCall<E>, error: Error) => call.errored(error))
const drain = containing(<E>(call: UpstreamCall<E>) => call.drain())
const tell = containing(<E>(_: UpstreamCall<E>, settle: Settle<E>, failure: UpgradeMismatched) =>
  settle(Exit.fail(failure))
)
const goOn = containing((_: Container, controller: Dispatcher.DispatchController) => {
  if (!controller.aborted) controller.resume()
})

const joined = (chunks: ReadonlyArray<Uint8Array> | undefined): Uint8Array | undefined =>
  chunks === undefined ? undefined : chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)

/** Whether a list of protocols holds one, case aside. */
const names = (list: string, protocol: string): boolean => {
  const wanted = protocol.trim().toLowerCase()
  return list.split(",").some((one) => one.trim().toLowerCase() === wanted)
}

/** A call as an effect: it ends with the response head, and interrupting it ends the call. */
export const call = <E>(
  connections: Connections,
  request: UpstreamRequest<E>
): Effect.Effect<Answer, UpstreamError | E> =>
  Effect.callback((resume) => {
    const call = new UpstreamCall(connections, request, resume)
    return Effect.sync(() => call.cancel())
  })
