/** Bodies whose chunks the test gives, and readers that it paces. */
import type { BodyAborted, BodySink, BodySource } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"

/** Yields what it is given, at the pace of its reader. */
export class Given implements BodySource {
  readonly #left: Array<Uint8Array>
  readonly #trailers: HeaderList | undefined
  #sink: BodySink | undefined
  #open: boolean
  #over = false
  cancelled = 0

  /** @param open whether more follows. */
  constructor(chunks: ReadonlyArray<Uint8Array | string | number>, trailers?: HeaderList, open = false) {
    this.#left = chunks.map((chunk) => (typeof chunk === "number" ? Buffer.alloc(chunk, 97) : Buffer.from(chunk)))
    this.#trailers = trailers
    this.#open = open
  }
  start(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }
  resume(): void {
    const sink = this.#sink
    if (sink === undefined || this.#over) return
    while (this.#left.length > 0) if (!sink.data(this.#left.shift()!)) return
    if (this.#open || this.#over) return
    this.#over = true
    sink.end(this.#trailers)
  }
  cancel(): void {
    this.#over = true
    this.cancelled++
  }
  give(chunk: string): void {
    this.#left.push(Buffer.from(chunk))
    this.resume()
  }
  end(): void {
    this.#open = false
    this.resume()
  }
}

/** Reads a body, when it is told to. */
export class Reader implements BodySink {
  readonly #source: BodySource
  readonly chunks: Array<Uint8Array> = []
  #most: number
  ended: "whole" | BodyAborted | undefined = undefined
  trailers: HeaderList | undefined = undefined
  #told: () => void = () => {}
  bytes = 0

  /** @param most how many bytes it takes before it asks to wait. */
  constructor(source: BodySource, most = Number.POSITIVE_INFINITY) {
    this.#source = source
    this.#most = most
    source.start(this)
  }
  data(chunk: Uint8Array): boolean {
    this.chunks.push(chunk)
    this.bytes += chunk.length
    this.#told()
    return this.bytes < this.#most
  }
  end(trailers?: HeaderList): void {
    this.ended = "whole"
    this.trailers = trailers
    this.#told()
  }
  fail(error: BodyAborted): void {
    this.ended = error
    this.#told()
  }
  goOn(most = Number.POSITIVE_INFINITY): void {
    this.#most = most
    this.#source.resume()
  }
  cancel(): void {
    this.#source.cancel()
  }
  /** Until that is so. */
  async until(holds: (reader: Reader) => boolean): Promise<this> {
    while (!holds(this))
      await new Promise<void>((resolve) => {
        this.#told = resolve
      })
    return this
  }
  get text(): string {
    return Buffer.concat(this.chunks).toString("latin1")
  }
}
