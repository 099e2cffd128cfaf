/**
 * One request of a client connection while it is answered: what the engine says is handed to the writer of its response,
 * and what becomes of the connection to the engine.
 */
import { Cause, type Effect, Exit, type Fiber } from "effect"
import type { HeaderList } from "../../src/http/header-list.ts"
import type { Answer } from "../../src/http/message.ts"
import { ClientStalled } from "../../src/pipeline/errors.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { render } from "../../src/pipeline/render.ts"
import type { StageError } from "../../src/pipeline/stage.ts"
import { contained } from "../../src/services/contained.ts"
import { reset } from "./refusal.ts"
import type { RequestBody } from "./request-body.ts"
import { type Connected, ResponseWriter, release } from "./response-writer.ts"

/** What a request needs of the connection that it came by. */
export interface Host extends Connected {
  readonly run: (effect: Effect.Effect<Answer>) => Fiber.Fiber<Answer>
  /** Whether this is to be the last response of the connection. */
  readonly closing: boolean
  /** The response is through, or never will be. */
  readonly over: (request: ActiveRequest) => void
}

/** An unread request body up to this size is read and dropped; a longer one costs the connection. */
const droppable = 65_536

const stalled = new ClientStalled()

export class ActiveRequest {
  readonly exchange: Exchange
  /** Whether the client asks to leave HTTP: for another protocol, or for a tunnel. */
  readonly leavesHttp: boolean
  readonly #host: Host
  readonly #writer: ResponseWriter
  /** The body of the request, if it does not lie in memory. */
  readonly #upload: RequestBody | undefined
  #fiber: Fiber.Fiber<Answer> | undefined = undefined
  #over = false
  /** Whether the client may ask for more on its connection, and whether it waits for `100 Continue` before it sends its body. */
  readonly #persistent: boolean
  #expecting: boolean
  /** What the client is told instead of the answer that was interrupted. */
  #refusal: StageError | undefined = undefined

  constructor(
    host: Host,
    exchange: Exchange,
    upload: RequestBody | undefined,
    persistent: boolean,
    expecting: boolean
  ) {
    this.#host = host
    this.exchange = exchange
    this.#upload = upload
    this.#persistent = persistent
    this.#expecting = expecting
    this.leavesHttp = exchange.upgrade !== undefined || exchange.request.method === "CONNECT"
    this.#writer = new ResponseWriter(host, this, exchange.request, this.leavesHttp)
    // Itself, and no closure: one for each request would not die young. Who holds on to it later reaches no other request.
    exchange.informer = this
  }

  /** Answers with what the engine says: at once when it knows, else when its fiber ends. */
  begin(handle: (exchange: Exchange) => Effect.Effect<Answer>): void {
    let answering: Effect.Effect<Answer>
    try {
      answering = handle(this.exchange)
    } catch (cause) {
      this.#writer.internalError(cause)
      return
    }
    if (Exit.isExit(answering)) {
      this.#settle(answering as Exit.Exit<Answer>)
      return
    }
    const fiber = this.#host.run(answering)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      this.#settle(exit)
      return
    }
    this.#fiber = fiber
    const ended = contained(this.#host, (exit: Exit.Exit<Answer>) => {
      this.#fiber = undefined
      this.#settle(exit)
    })
    fiber.addObserver(ended)
  }

  #settle(exit: Exit.Exit<Answer>): void {
    if (this.#over) {
      // Too late: whatever stands behind the answer is released.
      release(Exit.isSuccess(exit) ? exit.value.body : this.exchange.latest.response?.body)
      return
    }
    if (Exit.isSuccess(exit)) {
      this.#writer.write(exit.value)
      return
    }
    release(this.exchange.latest.response?.body)
    if (!Cause.hasInterruptsOnly(exit.cause)) this.#writer.internalError(Cause.squash(exit.cause))
    else if (this.#refusal === undefined) this.#writer.breakOff("interrupted")
    else {
      this.exchange.latest.error = this.#refusal
      this.#writer.write(render(this.#refusal, this.exchange.request))
    }
  }

  /** Tells the client of a 1xx response. */
  inform(status: number, headers: HeaderList): void {
    if (!this.#over) this.#writer.inform(status, headers)
  }

  /** The connection is gone, or is about to be cut. */
  abort(failure: string): void {
    if (this.#over) return
    const fiber = this.#fiber
    this.#writer.abandon(failure)
    fiber?.interruptUnsafe()
  }

  /** Whether something of the response has left. */
  get responding(): boolean {
    return this.#writer.begun
  }

  /** The answer said that it is the last of its connection. */
  get closes(): boolean {
    return this.#writer.last
  }

  /** The socket has room again. */
  drained(): void {
    this.#writer.drained()
  }

  /** An answer that waits for the end of the turn leaves now. */
  depart(): void {
    this.#writer.depart()
  }

  /** The system has taken what was written. */
  flushed(): void {
    this.#writer.flushed()
  }

  /** Somebody wants the body: a client that waits to be asked for it is asked. */
  wanted(): void {
    if (!this.#expecting || this.#over || this.#writer.begun) return
    this.#expecting = false
    this.#host.socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1")
  }

  /** What was sent of the answer looks whole, though more is to come: only a reset tells the client. */
  get looksWhole(): boolean {
    return this.#writer.looksWhole
  }

  /** Whether the client still has to send some of its body. */
  get uploading(): boolean {
    return this.#upload !== undefined && !this.#upload.complete
  }

  /** Somebody waits for what the client still has to send of its body. */
  get awaitsClient(): boolean {
    return this.uploading && this.#upload?.awaited === true
  }

  /**
   * For too long the client has not sent what somebody waits for, or not taken what was sent to it. It is told so, unless
   * its answer has begun.
   */
  stall(): void {
    if (this.#fiber !== undefined) {
      this.#refusal = stalled
      this.#fiber.interruptUnsafe()
      return
    }
    this.cut(this.awaitsClient ? stalled.message : "the answer was not taken in time")
  }

  /** Ends the exchange and its connection. */
  cut(failure: string): void {
    if (this.#over) return
    const { socket } = this.#host
    this.abort(failure)
    if (this.looksWhole) reset(socket)
    else socket.destroy()
  }

  // What the writer asks and tells.

  /** Whether the client may send no further request on its connection. */
  get last(): boolean {
    // A client that waited in vain to be asked for its body may send it, or not.
    return !this.#persistent || this.#expecting || this.#host.closing || this.#unread()
  }

  /** Whether the client sends a body that nobody reads any more, or that nobody reads and that is too long to be dropped. */
  #unread(): boolean {
    const upload = this.#upload
    if (!this.uploading || upload?.reading === true) return false
    if (upload?.started === true) return true
    const length = this.exchange.request.headers.get("content-length")
    return length === undefined || Number(length) > droppable
  }

  concluded(status: number | undefined, failure: string | undefined, bytes: number): void {
    this.#over = true
    this.#upload?.close(failure ?? "the response is through")
    this.#host.over(this)
    try {
      this.exchange.finish({ status, failure, bytes }, this.#host.defect)
    } catch (cause) {
      this.#host.defect(cause)
    }
  }
}
