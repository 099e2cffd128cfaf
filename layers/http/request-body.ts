/** The body of a client's request on its way in: read at the pace of whoever wants it, and not before somebody does. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { type Container, containing, ignore } from "../../src/services/contained.ts"
import { trailerList } from "./header-lines.ts"

export class RequestBody implements BodySource, Container {
  readonly #request: IncomingMessage
  /** The response on which `100 Continue` is sent when reading starts; only where the client waits for it. */
  readonly #expecting: ServerResponse | undefined
  #sink: BodySink | undefined = undefined
  #over = false
  started = false
  readonly #connection: Container

  constructor(connection: Container, request: IncomingMessage, expecting: ServerResponse | undefined) {
    this.#connection = connection
    this.#request = request
    this.#expecting = expecting
  }

  /** Somebody wants what is still to come. */
  get reading(): boolean {
    return this.started && !this.#over
  }

  /** It is read, and nothing but the client holds it up. */
  get awaited(): boolean {
    return this.reading && !this.#request.isPaused()
  }

  start(sink: BodySink): void {
    if (this.#over) return
    this.started = true
    this.#sink = sink
    const response = this.#expecting
    if (response !== undefined && !response.headersSent) response.writeContinue()
    this.#request
      .on("data", this.#data)
      .on("end", this.#end)
      // The reason of an error is always the same: the connection is gone, and `close` follows.
      .on("error", ignore)
      .on("close", this.#closed)
    if (this.#request.destroyed) this.#closed()
  }

  resume(): void {
    if (!this.#over) this.#request.resume()
  }

  cancel(): void {
    this.#detach()
  }

  readonly #data = (chunk: Uint8Array): void => take(this, chunk)
  readonly #end = (): void => end(this)
  readonly #closed = (): void => close(this)

  take(chunk: Uint8Array): void {
    if (this.#sink?.data(chunk) === false) this.#request.pause()
  }

  end(): void {
    const sink = this.#sink
    this.#detach()
    sink?.end(trailerList(this.#request.rawTrailers))
  }

  /** Whoever reads it threw. */
  contain(cause: unknown): void {
    this.#connection.contain(cause)
  }

  /** Nothing more will come: whoever still reads is told so. */
  close(detail: string): void {
    const sink = this.#sink
    this.#detach()
    sink?.fail(new BodyAborted({ source: "client", detail }))
  }

  #detach(): void {
    if (this.#over) return
    this.#over = true
    this.#sink = undefined
    this.#request.off("data", this.#data).off("end", this.#end).off("close", this.#closed)
    // Nothing more is taken from the socket until the response is through.
    this.#request.pause()
  }
}

const take = containing((body: RequestBody, chunk: Uint8Array) => body.take(chunk))
const end = containing((body: RequestBody) => body.end())
const close = containing((body: RequestBody) => body.close("the client went away"))
