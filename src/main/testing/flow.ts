/** Bodies in memory: sources that push their chunks turn by turn, and know whether somebody released them. */
import { Effect } from "effect"
import { type Body, BodyAborted, type BodySink, type BodySource, isSource } from "../../http/body.ts"
import type { Content } from "./arbitraries.ts"

/** A source of chunks. Each of them comes in a turn of the event loop of its own. */
export class Flow implements BodySource {
  readonly name: string
  readonly #chunks: Array<Uint8Array>
  readonly #breaks: string | undefined
  #sink: BodySink | undefined
  #waiting = false
  /** Every byte was handed over, or somebody said that nobody wants the rest. */
  released = false

  constructor(name: string, { chunks, breaks }: Pick<Content, "chunks" | "breaks">) {
    this.name = name
    this.#chunks = chunks.map((chunk) => Buffer.from(chunk))
    this.#breaks = breaks
  }
  start(sink: BodySink): void {
    if (this.#sink !== undefined) throw new Error(`the body of a ${this.name} was started twice`)
    this.#sink = sink
    this.#next()
  }
  resume(): void {
    if (this.#waiting) this.#next()
  }
  cancel(): void {
    this.released = true
    this.#chunks.length = 0
  }
  #next(): void {
    this.#waiting = false
    setImmediate(() => {
      if (this.released) return
      const chunk = this.#chunks.shift()
      if (chunk === undefined) {
        this.released = true
        if (this.#breaks === undefined) this.#sink!.end()
        else this.#sink!.fail(new BodyAborted({ source: "backend", detail: this.#breaks }))
      } else if (this.#sink!.data(chunk)) this.#next()
      else this.#waiting = true
    })
  }
}

/** What a body holds, and why it is not whole if it is not. */
export interface Collected {
  readonly text: string
  readonly failure: string | undefined
}

/** Reads a body to its end, as whoever it is meant for does. */
export const collect = (body: Body): Effect.Effect<Collected> => {
  if (!isSource(body)) return Effect.sync(() => ({ text: Buffer.from(body ?? "").toString(), failure: undefined }))
  return Effect.callback((resume) => {
    const chunks: Array<Uint8Array> = []
    const end = (failure: string | undefined) =>
      resume(Effect.sync(() => ({ text: Buffer.concat(chunks).toString(), failure })))
    body.start({
      data: (chunk) => {
        chunks.push(chunk)
        return true
      },
      end: () => end(undefined),
      fail: (error: BodyAborted) => end(error.message)
    })
    return Effect.sync(() => body.cancel())
  })
}

/** The body that some content describes. Sources are added to `flows`. */
export const bodyOf = (name: string, content: Content | undefined, flows: Array<Flow>): Body => {
  if (content === undefined) return undefined
  if (!content.streamed) return Buffer.from(content.chunks.join(""))
  const flow = new Flow(name, content)
  flows.push(flow)
  return flow
}
