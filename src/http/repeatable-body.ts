/**
 * A body on its way that may have to be sent again. The attempt under way paces it; what has passed is kept up to a bound,
 * and beyond that, or beyond the budget of the process, the right to send it again is given up.
 */
import type { BodyAborted, BodySink, BodySource } from "./body.ts"
import type { HeaderList } from "./header-list.ts"
import type { HeldBytes } from "./held-bytes.ts"

export class RepeatableBody implements BodySink {
  readonly #source: BodySource
  #most: number
  readonly #budget: HeldBytes
  /** What has come and is not forgotten yet. While it can be sent again that is all of it. */
  readonly #chunks: Array<Uint8Array> = []
  #kept = 0
  #repeatable = true
  #started = false
  /** The source was told to wait. */
  #held = false
  /** A chunk is being handed over: a reader that wants more meanwhile is told to the source by the answer. */
  #pushing = false
  #wanted = false
  #end: "none" | { readonly trailers: HeaderList | undefined } | BodyAborted = "none"
  #reader: Reader | undefined = undefined

  constructor(source: BodySource, most: number, budget: HeldBytes) {
    this.#source = source
    this.#most = most
    this.#budget = budget
  }

  /** Whether all of it can be sent once more. */
  get repeatable(): boolean {
    return this.#repeatable
  }

  /** The whole body for the next attempt. The one before gets no more of it. */
  next(): BodySource {
    this.#reader = new Reader(this)
    return this.#reader
  }

  /** Before any of it has come: less of it will be kept. */
  keepAtMost(most: number): void {
    this.#most = Math.min(this.#most, most)
  }

  /** No further attempt will want it. */
  giveUp(): void {
    this.#repeatable = false
    this.#giveBack()
    const reader = this.#reader
    if (reader === undefined) {
      if (this.#started) this.#source.cancel()
      this.#chunks.length = 0
    } else reader.forget()
  }

  #giveBack(): void {
    this.#budget.giveBack(this.#kept)
    this.#kept = 0
  }

  // What comes.

  data(chunk: Uint8Array): boolean {
    if (this.#repeatable) {
      if (this.#kept + chunk.length <= this.#most && this.#budget.take(chunk.length)) this.#kept += chunk.length
      else {
        this.#repeatable = false
        this.#giveBack()
      }
    }
    this.#chunks.push(chunk)
    const reader = this.#reader
    this.#pushing = true
    this.#wanted = false
    // Between two attempts, and while a reader is busy with what came before, nobody takes it.
    const more = reader?.started === true && reader.pump()
    this.#pushing = false
    // The next attempt may have begun within the call.
    this.#held = !more && !this.#wanted
    return !this.#held
  }

  end(trailers?: HeaderList): void {
    this.#end = { trailers }
    this.#reader?.ended()
  }

  fail(error: BodyAborted): void {
    this.#end = error
    this.#repeatable = false
    this.#giveBack()
    this.#reader?.ended()
  }

  // What its reader asks for.

  get ending(): "none" | { readonly trailers: HeaderList | undefined } | BodyAborted {
    return this.#end
  }

  chunk(index: number): Uint8Array | undefined {
    return this.#chunks[index]
  }

  /** Drops what its reader has taken, if nobody will want it again. Returns how many chunks that were. */
  drop(taken: number): number {
    if (this.#repeatable) return 0
    this.#chunks.splice(0, taken)
    return taken
  }

  /** The reader has taken everything that is here. */
  wanted(): void {
    if (this.#end !== "none") return
    if (this.#pushing) this.#wanted = true
    else if (!this.#started) {
      this.#started = true
      this.#source.start(this)
    } else if (this.#held) {
      this.#held = false
      this.#source.resume()
    }
  }

  left(reader: Reader): void {
    if (this.#reader !== reader) return
    this.#reader = undefined
    if (this.#repeatable) return
    this.#chunks.length = 0
    this.#source.cancel()
  }
}

/** The body as one attempt reads it. */
class Reader implements BodySource {
  readonly #body: RepeatableBody
  #sink: BodySink | undefined = undefined
  /** How many of the chunks it has taken. */
  #taken = 0
  #held = false
  #pumping = false
  #over = false

  constructor(body: RepeatableBody) {
    this.#body = body
  }

  get started(): boolean {
    return this.#sink !== undefined
  }

  start(sink: BodySink): void {
    this.#sink = sink
    this.#goOn()
  }

  resume(): void {
    if (!this.#held) return
    this.#held = false
    if (!this.#pumping) this.#goOn()
  }

  cancel(): void {
    if (this.#over) return
    this.#over = true
    this.#sink = undefined
    this.#body.left(this)
  }

  #goOn(): void {
    if (this.pump()) this.ended()
    if (!this.#over && !this.#held) this.#body.wanted()
  }

  /** Hands on what is here. Returns whether the sink takes more. */
  pump(): boolean {
    // The sink asks for more while it is given some: the loop that gives sees to it.
    if (this.#pumping) return false
    this.#pumping = true
    for (;;) {
      const chunk = this.#over || this.#held ? undefined : this.#body.chunk(this.#taken)
      if (chunk === undefined) break
      this.#taken++
      this.forget()
      this.#held = true
      const more = this.#sink!.data(chunk)
      // `resume` within the call has taken the hold back.
      if (more) this.#held = false
    }
    this.#pumping = false
    return !this.#over && !this.#held
  }

  /** What it has taken need not be kept on its account. */
  forget(): void {
    this.#taken -= this.#body.drop(this.#taken)
  }

  /** The body may have ended, and its end be due. */
  ended(): void {
    const { ending } = this.#body
    const sink = this.#sink
    if (ending === "none" || sink === undefined || this.#over || this.#held) return
    if (this.#body.chunk(this.#taken) !== undefined) return
    this.#over = true
    this.#sink = undefined
    if ("trailers" in ending) sink.end(ending.trailers)
    else sink.fail(ending)
  }
}
