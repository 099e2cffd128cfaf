/**
 * One call of a backend: what the engine asks, sent over a connection of its pool, and the source of the response's body.
 * A response that came whole in one piece is handed over as plain bytes.
 */
import type { Socket } from "node:net"
import { Effect, Exit } from "effect"
import { type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import type { HeldBytes } from "../../src/http/held-bytes.ts"
import type { Answer, Scheme } from "../../src/http/message.ts"
import { RepeatableBody } from "../../src/http/repeatable-body.ts"
import { type Container, contained, containing } from "../../src/services/contained.ts"
import type { TellDefect } from "../../src/services/defects.ts"
import type { Later } from "../../src/services/timer.ts"
import {
  MalformedBody,
  type Reached,
  type Silent,
  UpgradeMismatched,
  type UpstreamError,
  UpstreamIdle,
  type UpstreamRequest,
  type Version
} from "../../src/services/upstreams.ts"
import { requestFields } from "../http2/client/heads.ts"
import type { Caller, Carrier, Waiter } from "./client/carrier.ts"
import { StreamRefused, TunnelRefused, UnsendableRequest } from "./client/failures.ts"
import type { AbsoluteForm } from "./client/proxy.ts"
import { type Framing, requestHead } from "./client/request-head.ts"
import type { ResponseHead } from "./client/response-parser.ts"
import { type IdleLimit, IdleWatch } from "./idle-watch.ts"
import { AwaitedBody, Patience } from "./patience.ts"
import { pour } from "./pour.ts"
import type { Tunnel } from "./tunnel.ts"
import { bodyError, callError } from "./upstream-errors.ts"
import type { Versions } from "./versions.ts"

/** The pool that a call goes through, and what it knows of the backend. */
export interface Connections {
  /** Told of what went wrong in the proxy itself. */
  readonly tell: TellDefect
  /** The one for new calls: when certificates change it becomes another one. */
  readonly pool: Versions
  readonly connectTimeout: number
  /** In which the backend is spoken to. */
  readonly scheme: Scheme
  /** The budget for what calls keep of bodies on their way. */
  readonly held: HeldBytes
  /** How requests are written for the proxy on the way, where one passes them on. */
  readonly form: AbsoluteForm | undefined
  /** For how long nothing of a body may move. */
  readonly idle: IdleLimit | undefined
  /** Of what calls may take. */
  readonly now: () => number
  readonly later: Later
}

type Settle<E> = (exit: Exit.Exit<Answer, UpstreamError | E>) => void

/** Whether the same request may be sent twice (RFC 9110 9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

/** How much is kept of a body until it is known that the backend has looked at the request. */
const mostKept = 65_536

/** Methods whose requests say that they have no body (RFC 9110 8.6). */
const expectsBody = new Set(["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "PROPPATCH"])

export class UpstreamCall<E> implements Caller, Waiter, BodySource, Container {
  readonly #connections: Connections
  readonly #request: UpstreamRequest<E>
  #settle: Settle<E> | undefined
  #callOffTimer: (() => void) | undefined = undefined
  #patience: Patience | undefined = undefined
  #idle: IdleWatch | undefined = undefined
  /** Where it waits for a connection. */
  #waitsAt: Versions | undefined = undefined
  #connection: Carrier | undefined = undefined
  readonly #framing: Framing
  #head: string | undefined = undefined
  #fields: ReadonlyArray<string> | undefined = undefined
  /** The body of a request that the backend may say not to have looked at. */
  #kept: RepeatableBody | undefined = undefined
  /** It was sent once more after that. */
  #resent = false
  /** Whether the connection had served before: its peer may have closed it while the request was under way. */
  #reused = false
  #reached: Reached = "nothing sent"
  #answer: Answer | undefined = undefined
  /** Chunks that came before somebody wanted them. */
  #chunks: Array<Uint8Array> | undefined = undefined
  #sink: BodySink | undefined = undefined
  /** Told `false` by the sink, and not yet to go on. */
  #held = false
  #ended: "whole" | Error | undefined = undefined
  #trailers: HeaderList | undefined = undefined
  #cancelled = false
  fresh: boolean
  readonly repeatable: boolean
  body: UpstreamRequest["body"]
  readonly declared: number | "chunked"
  readonly bodiless: boolean
  readonly upgrading: boolean

  constructor(connections: Connections, request: UpstreamRequest<E>, settle: Settle<E>) {
    this.#connections = connections
    this.#request = request
    this.#settle = settle
    const { method, body, timeout, patience, upgrade, repeatable } = request
    const { idle, now, later } = connections
    this.bodiless = method === "HEAD"
    this.upgrading = upgrade !== undefined
    // A kept connection that its peer closed just then is no failure of the backend.
    this.repeatable = (repeatable === true || idempotent.has(method)) && !isSource(body)
    // Whoever leaves HTTP takes the connection along.
    this.fresh = this.upgrading
    const framing = framingOf(request)
    this.#framing = typeof framing === "object" ? "none" : framing
    this.declared = typeof framing === "number" ? framing : "chunked"
    const version = this.upgrading ? "1.1" : connections.pool.expected(request.version ?? "1.1")
    // What is wrong with it is wrong in either version, and told before there is a connection.
    const fault = typeof framing === "object" ? framing : this.#prepare(version)
    if (fault !== undefined) {
      this.body = undefined
      if (isSource(body)) body.cancel()
      this.#conclude(Exit.fail(callError(fault, connections.connectTimeout, "nothing sent")))
      return
    }
    this.body = typeof body === "string" && framing !== body.length ? Buffer.from(body) : body
    if (timeout !== undefined) {
      const late = contained(this, () => this.#giveUp(timeout.failure(this.#reached)))
      this.#callOffTimer = later(timeout.milliseconds, late)
    }
    if (patience !== undefined) {
      const late = contained(this, () => this.#giveUp(patience.failure(this.#reached)))
      this.#patience = new Patience(patience.milliseconds, late, later, now)
      if (isSource(this.body)) this.body = new AwaitedBody(this.body, this.#patience)
    }
    if (idle !== undefined) {
      const still = (silent: Silent) => this.#giveUp(new UpstreamIdle({ silent, reached: this.#reached }))
      // Whoever is told of a cut body may throw.
      const ownLater: Later = (milliseconds, action) => later(milliseconds, contained(this, action))
      this.#idle = new IdleWatch(idle, still, ownLater, now)
      if (isSource(this.body)) this.body = this.#idle.watched(this.body, "client")
    }
    if (version === "2" && isSource(this.body)) {
      this.#kept = new RepeatableBody(this.body, mostKept, connections.held)
      this.body = this.#kept.next()
    }
    this.#acquire()
  }

  /** Makes its head, for one version. */
  #prepare(version: Version): UnsendableRequest | undefined {
    const { form, scheme } = this.#connections
    if (version === "2") {
      const fields = requestFields(this.#request, this.#framing, scheme)
      if (fields instanceof UnsendableRequest) return fields
      this.#fields = fields
    } else {
      const head = requestHead(this.#request, this.#framing, form)
      if (typeof head !== "string") return head
      this.#head = head
    }
    return undefined
  }

  get head(): string {
    // The backend speaks another version than was expected.
    if (this.#head === undefined) this.#prepare("1.1")
    return this.#head ?? ""
  }

  get fields(): ReadonlyArray<string> {
    if (this.#fields === undefined) this.#prepare("2")
    return this.#fields ?? []
  }

  /** No answer is waited for any longer. */
  #giveUp(error: UpstreamError | E): void {
    const settle = this.#settle
    if (settle === undefined) return
    // First: whoever sends the body is told before anybody answers.
    this.cancel()
    settle(Exit.fail(error))
  }

  #acquire(): void {
    const { pool } = this.#connections
    const carriers = this.upgrading ? pool.forUpgrades : pool.for(this.#request.version ?? "1.1")
    this.#waitsAt = pool
    carriers.acquire(this)
  }

  #conclude(exit: Exit.Exit<Answer, UpstreamError | E>): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.#settle = undefined
    this.#callOffTimer?.()
    this.#patience?.end()
    // Whoever answers has looked at the request.
    this.#letGo()
    settle(exit)
  }

  #letGo(): void {
    this.#kept?.giveUp()
    this.#kept = undefined
  }

  /** Nobody wants the response, or the rest of it. */
  cancel(): void {
    if (this.#cancelled || this.#ended !== undefined) return
    this.#cancelled = true
    this.#settle = undefined
    this.#chunks = undefined
    this.#callOffTimer?.()
    this.#patience?.end()
    this.#letGo()
    const connection = this.#connection
    if (connection !== undefined) connection.abandon(this)
    else {
      this.#waitsAt?.forget(this)
      if (isSource(this.body)) this.body.cancel()
    }
  }

  /** Whoever reads the response threw, or this call did: it is over, and so is its connection. */
  contain(cause: unknown): void {
    this.#connections.tell("backend", cause)
    const settle = this.#settle
    const sink = this.#sink
    this.#sink = undefined
    this.cancel()
    try {
      if (settle !== undefined) settle(Exit.die(cause))
      else sink?.fail(bodyError(errorOf(cause)))
    } catch (further) {
      this.#connections.tell("backend", further)
    }
  }

  // What the pool tells.

  connected(connection: Carrier): void {
    this.#connection = connection
    this.#reused = connection.used
    this.#reached = "sent"
    connection.send(this)
  }

  refused(error: Error): void {
    if (this.#cancelled) return
    this.#letGo()
    if (isSource(this.body)) this.body.cancel()
    this.#failed(error)
  }

  // What the connection tells.

  onInterim({ status, headers }: ResponseHead): void {
    this.#request.informer?.inform(status, headers)
  }

  onHead({ status, headers }: ResponseHead): void {
    // No backend says so: it is the proxy on the way, and none of the client's business.
    if (status === 407 && this.#connections.form !== undefined) {
      const settle = this.#settle
      this.cancel()
      settle?.(Exit.fail(callError(new TunnelRefused({ status }), this.#connections.connectTimeout, this.#reached)))
      return
    }
    const bodiless = this.bodiless || status === 204 || status === 304
    this.#answer = { status, headers, body: bodiless ? undefined : this }
  }

  onBody(bytes: Buffer): void {
    const sink = this.#sink
    if (sink !== undefined && this.#chunks === undefined) {
      this.#give(sink, bytes)
      return
    }
    if (this.#chunks === undefined) this.#chunks = [bytes]
    else this.#chunks.push(bytes)
    // Delivered, and nobody has started to read: one chunk is kept, the rest waits in the socket.
    if (this.#settle === undefined) this.#connection?.pause(this)
  }

  onEnd(trailers: HeaderList | undefined): void {
    if (this.#cancelled) return
    this.#ended = "whole"
    this.#trailers = trailers
    if (this.#sink !== undefined && this.#chunks === undefined) this.#end(this.#sink, "whole")
  }

  /** Hands the response on: as bytes when all of it is there, else as a source. */
  onPiece(): void {
    const answer = this.#answer
    if (answer === undefined || this.#settle === undefined) return
    if (this.#ended === "whole" && this.#trailers === undefined) {
      answer.body = joined(this.#chunks)
      this.#chunks = undefined
    } else if (this.#idle !== undefined && answer.body !== undefined) answer.body = this.#idle.watched(this, "backend")
    this.#conclude(Exit.succeed(answer))
  }

  onFailure(error: Error, begun: boolean, unsent: boolean): void {
    if (this.#cancelled) return
    if (unsent) this.#reached = "nothing sent"
    const isUnseen = error instanceof StreamRefused && this.#answer === undefined
    if (isUnseen && !this.#resent && this.#isWhole()) {
      this.#resent = true
      this.#connection = undefined
      this.#acquire()
    } else if (this.#answer !== undefined) {
      if (this.#settle === undefined) this.#break(error)
      // Nobody has seen the head: the client can be told instead of cut off.
      else {
        this.#ended = error
        this.#conclude(Exit.fail(new MalformedBody()))
      }
    } else if (this.#reused && !this.fresh && !begun && (unsent || this.repeatable)) {
      this.fresh = true
      this.#connection = undefined
      this.#acquire()
    } else {
      if (isUnseen) this.#reached = "nothing sent"
      this.#failed(error)
    }
  }

  /** Whether its body can be sent once more. If so it is there. */
  #isWhole(): boolean {
    if (!isSource(this.body)) return true
    if (this.#kept?.repeatable !== true) return false
    this.body = this.#kept.next()
    return true
  }

  onSwitch({ status, headers, upgrade = "no protocol" }: ResponseHead, source: Tunnel, socket: Socket): void {
    const requested = this.#request.upgrade ?? "no protocol"
    if (!names(requested, upgrade)) {
      socket.destroy()
      this.#ended = "whole"
      this.#conclude(Exit.fail(new UpgradeMismatched({ offered: upgrade, requested })))
      return
    }
    this.#ended = "whole"
    const idle = this.#idle
    this.#conclude(
      Exit.succeed({
        status,
        headers,
        body: idle === undefined ? source : idle.watched(source, "backend"),
        switched: {
          protocol: upgrade,
          outbound: (client) => pour(idle === undefined ? client : idle.watched(client, "client"), socket, source)
        }
      })
    )
  }

  #failed(error: Error): void {
    this.#ended = error
    this.#conclude(Exit.fail(callError(error, this.#connections.connectTimeout, this.#reached)))
  }

  #break(error: Error): void {
    this.#ended = error
    if (this.#sink !== undefined && this.#chunks === undefined) this.#end(this.#sink, error)
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

  /** The rest of `resume`, in a tick of its own: whoever asks may be within the call that hands over a chunk. */
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
    if (this.#ended === undefined) this.#connection?.resume(this)
    else this.#end(sink, this.#ended)
  }

  /** Tells how the body has ended. A sink that throws is this call's affair: its connection may serve another one by now. */
  #end(sink: BodySink, how: "whole" | Error): void {
    try {
      if (how === "whole") sink.end(this.#trailers)
      else sink.fail(bodyError(how))
    } catch (cause) {
      this.contain(cause)
    }
  }

  /** Passes a chunk on; a sink that throws has ended the body. Returns whether it takes another one. */
  #give(sink: BodySink, chunk: Uint8Array): boolean {
    try {
      if (!sink.data(chunk)) {
        this.#held = true
        this.#connection?.pause(this)
      }
    } catch (cause) {
      this.#sink = undefined
      this.cancel()
      sink.fail(bodyError(errorOf(cause)))
      return false
    }
    return !this.#held && !this.#cancelled
  }
}

const drain = containing(<E>(call: UpstreamCall<E>) => call.drain())

/** How the end of the body is told. */
const framingOf = ({ method, headers, body }: UpstreamRequest<unknown>): Framing | UnsendableRequest => {
  if (isSource(body)) {
    const lengths = headers.getAll("content-length")
    if (lengths.length === 0) return "chunked"
    return lengths.length === 1 && digits.test(lengths[0]!)
      ? Number(lengths[0])
      : new UnsendableRequest({ part: "content-length" })
  }
  const length = body === undefined ? 0 : typeof body === "string" ? Buffer.byteLength(body) : body.length
  return length === 0 && !expectsBody.has(method) ? "none" : length
}

const digits = /^[0-9]{1,15}$/

const errorOf = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

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
