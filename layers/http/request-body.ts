/** The body of a client's request on its way in: read at the pace of whoever wants it, and not before somebody does. */
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import { type Container, containing } from "../../src/services/contained.ts"

/** The connection that it comes by. */
export interface Incoming extends Container {
  /** Somebody begins to read. */
  readonly wanted: () => void
  /** There is room again, or nobody needs any. */
  readonly released: () => void
}

/** Memory that is taken before somebody reads, and how much of it a chunk costs beside its bytes. */
const mostEarly = 65_536
const chunkCost = 256

export class RequestBody implements BodySource, Container {
  readonly #connection: Incoming
  #sink: BodySink | undefined = undefined
  /** What came before it could be handed over. */
  #early: Array<Uint8Array> = []
  #earlyCost = 0
  /** Told `false` by the sink, and not yet to go on. */
  #held = false
  #trailers: HeaderList | undefined = undefined
  #over = false
  started = false
  /** All of it has come. */
  complete = false

  constructor(connection: Incoming) {
    this.#connection = connection
  }

  /** Somebody wants what is still to come. */
  get reading(): boolean {
    return this.started && !this.#over
  }

  /** It is read, and nothing but the client holds it up. */
  get awaited(): boolean {
    return this.reading && !this.#held
  }

  /** Nothing more is to be taken from the socket for now. */
  get full(): boolean {
    return !this.#over && (this.#held || this.#earlyCost >= mostEarly)
  }

  start(sink: BodySink): void {
    if (this.#over) return
    this.started = true
    this.#sink = sink
    this.#connection.wanted()
    this.give()
  }

  resume(): void {
    if (!this.#held) return
    this.#held = false
    // In a tick of its own: whoever asks may be within the call that hands over a chunk.
    process.nextTick(give, this)
  }

  cancel(): void {
    if (this.#over) return
    this.#detach()
    this.#connection.released()
  }

  /** All of it as bytes, if it is there before anybody reads, and nothing follows it: then this is over. */
  takeWhole(): Uint8Array | undefined {
    if (!this.complete || this.started || this.#over || this.#trailers !== undefined) return undefined
    const chunks = this.#early
    this.#detach()
    return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
  }

  /** Hands over what has come, as long as it is taken. */
  give(): void {
    const early = this.#early
    while (this.#sink !== undefined && !this.#held) {
      const chunk = early.shift()
      if (chunk === undefined) break
      this.#earlyCost -= chunk.length + chunkCost
      if (!this.#sink.data(chunk)) this.#held = true
    }
    if (this.#held || this.#over) return
    if (!this.complete) this.#connection.released()
    else if (early.length === 0) this.#end()
  }

  // What the connection tells.

  take(chunk: Uint8Array): void {
    if (this.#over) return
    if (this.#sink === undefined || this.#held || this.#early.length > 0) {
      this.#early.push(chunk)
      this.#earlyCost += chunk.length + chunkCost
    } else if (!this.#sink.data(chunk)) this.#held = true
  }

  end(trailers: HeaderList | undefined): void {
    this.complete = true
    this.#trailers = trailers
    if (this.#sink !== undefined && !this.#held && this.#early.length === 0) this.#end()
  }

  #end(): void {
    const sink = this.#sink
    this.#detach()
    sink?.end(this.#trailers)
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
    this.#over = true
    this.#sink = undefined
    this.#early = []
    this.#earlyCost = 0
  }
}

const give = containing((body: RequestBody) => body.give())
