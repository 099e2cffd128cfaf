/**
 * Bodies: nothing, text, bytes, or a source that pushes chunks into a sink with back-pressure. A body that no stage reads
 * goes from one socket to the other as it came; a stage that must read one does so through `read`, with a limit.
 */
import { Data, Effect } from "effect"
import type { HeaderList } from "./header-list.ts"

/** The peer went away, or broke the framing, before its body was complete; or the proxy cut it. */
export class BodyAborted extends Data.TaggedError("BodyAborted")<{
  readonly source: "client" | "backend" | "proxy"
  readonly detail: string
}> {
  readonly status = this.source === "client" ? 400 : 502
  override get message() {
    return `body ended early: ${this.detail}`
  }
}

/** Where the chunks of a body go. */
export interface BodySink {
  /** Takes a chunk. `false` asks the source to wait for `resume`. */
  data(chunk: Uint8Array): boolean
  end(trailers?: HeaderList): void
  fail(error: BodyAborted): void
}

/** A body on its way. It is started at most once, and ended by exactly one of `end`, `fail` and `cancel`. */
export interface BodySource {
  /** Starts the flow into `sink`; chunks may arrive before this call returns. */
  start(sink: BodySink): void
  /** Goes on after a chunk was answered with `false`. */
  resume(): void
  /** Nobody wants the rest: releases what stands behind the source. Harmless when it has ended. */
  cancel(): void
}

/** No body, one in memory (a text is sent as UTF-8), or one on its way. */
export type Body = undefined | string | Uint8Array | BodySource

/** Whether a body is still on its way: then `read` it, or hand it on as it is. */
export const isSource = (body: Body): body is BodySource => typeof body === "object" && !(body instanceof Uint8Array)

const encoder = new TextEncoder()
const nothing = new Uint8Array(0)

/** What `read` found: the whole body, or its beginning and a body that still yields all of it. */
export type Read =
  | { readonly complete: true; readonly bytes: Uint8Array; readonly body: Uint8Array | BodySource }
  | { readonly complete: false; readonly bytes: Uint8Array; readonly body: BodySource }

const whole = (bytes: Uint8Array, trailers?: HeaderList): Read => ({
  complete: true,
  bytes,
  body: trailers === undefined ? bytes : new Rejoined([bytes], undefined, trailers)
})

/**
 * Reads a body up to `limit` bytes. Nothing is lost: a longer one comes back as a source that begins with what was read.
 * Answers at once for a body that is in memory.
 * @param holds asked for each chunk that comes; what it does not admit ends the reading like a body that is too long.
 */
export const read = (
  body: Body,
  limit: number,
  holds?: (bytes: number) => boolean
): Effect.Effect<Read, BodyAborted> => {
  if (!isSource(body)) {
    const bytes = body === undefined ? nothing : typeof body === "string" ? encoder.encode(body) : body
    return Effect.succeed(
      bytes.length <= limit
        ? whole(bytes)
        : { complete: false, bytes: bytes.subarray(0, limit), body: new Rejoined([bytes], undefined) }
    )
  }
  return Effect.callback<Read, BodyAborted>((resume) => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    /** How many chunks at the end are small, and their bytes. */
    let crumbs = 0
    let crumbBytes = 0
    const collector: BodySink = {
      data: (chunk) => {
        chunks.push(chunk)
        size += chunk.length
        if (chunk.length > crumb) crumbs = crumbBytes = 0
        else {
          crumbs++
          crumbBytes += chunk.length
          if (crumbs === mostCrumbs) {
            chunks.push(join(chunks.splice(-crumbs), crumbBytes))
            crumbs = crumbBytes = 0
          }
        }
        if (size <= limit && holds?.(chunk.length) !== false) return true
        const bytes = join(chunks, size)
        resume(
          Effect.succeed({ complete: false, bytes: bytes.subarray(0, limit), body: new Rejoined([bytes], switched) })
        )
        return false
      },
      end: (trailers) => resume(Effect.succeed(whole(join(chunks, size), trailers))),
      fail: (error) => resume(Effect.fail(error))
    }
    const switched = new Switch(body, collector)
    switched.begin()
    return Effect.sync(() => body.cancel())
  })
}

/** Up to how many bytes a chunk is small, and how many of them are kept before they become one: each costs memory of its own. */
const crumb = 1024
const mostCrumbs = 64

const join = (chunks: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  if (chunks.length === 1) return chunks[0]!
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/** A running source whose sink can be exchanged while it waits; what arrives in between is kept. */
class Switch implements BodySink {
  readonly source: BodySource
  sink: BodySink
  #pushing = false
  #resumed = false
  constructor(source: BodySource, sink: BodySink) {
    this.source = source
    this.sink = sink
  }
  begin(): void {
    this.source.start(this)
  }
  data(chunk: Uint8Array): boolean {
    this.#pushing = true
    this.#resumed = false
    const more = this.sink.data(chunk)
    this.#pushing = false
    return more || this.#resumed
  }
  /** A reader that comes while a chunk is being pushed is told to the source by the answer to that push. */
  resume(): void {
    if (this.#pushing) this.#resumed = true
    else this.source.resume()
  }
  end(trailers?: HeaderList): void {
    this.sink.end(trailers)
  }
  fail(error: BodyAborted): void {
    this.sink.fail(error)
  }
}

/** Chunks that were read already, followed by the rest of the source they came from. */
class Rejoined implements BodySource, BodySink {
  readonly #chunks: Array<Uint8Array>
  readonly #rest: Switch | undefined
  #sink: BodySink | undefined
  #ended: (() => void) | undefined

  constructor(chunks: Array<Uint8Array>, rest: Switch | undefined, trailers?: HeaderList) {
    this.#chunks = chunks
    this.#rest = rest
    if (rest !== undefined) rest.sink = this
    else this.#ended = () => this.#sink?.end(trailers)
  }
  start(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }
  resume(): void {
    while (this.#chunks.length > 0) if (!this.#sink!.data(this.#chunks.shift()!)) return
    if (this.#ended !== undefined) {
      const ended = this.#ended
      this.#ended = undefined
      ended()
      return
    }
    this.#rest?.resume()
  }
  cancel(): void {
    this.#chunks.length = 0
    this.#rest?.source.cancel()
  }
  // The rest may still push while nobody listens: the chunk is kept and the source asked to wait.
  data(chunk: Uint8Array): boolean {
    if (this.#sink !== undefined && this.#chunks.length === 0) return this.#sink.data(chunk)
    this.#chunks.push(chunk)
    return false
  }
  end(trailers?: HeaderList): void {
    this.#finish(() => this.#sink!.end(trailers))
  }
  fail(error: BodyAborted): void {
    this.#finish(() => this.#sink!.fail(error))
  }
  #finish(ended: () => void): void {
    if (this.#sink !== undefined && this.#chunks.length === 0) ended()
    else this.#ended = ended
  }
}

/** Sees a copy of a body that passes: every chunk, then how it ended. It can neither change nor slow it. */
export interface BodyObserver {
  data(chunk: Uint8Array): void
  /** `undefined` when the body came whole; else why it did not (`BodyAborted`, or `cancelled`). */
  end(failure: BodyAborted | "cancelled" | undefined): void
}

/** The same body, with an observer beside it. */
export const observe = (body: Body, observer: BodyObserver): Body => {
  if (isSource(body)) return new Observed(body, observer)
  if (body !== undefined && body.length > 0) observer.data(typeof body === "string" ? encoder.encode(body) : body)
  observer.end(undefined)
  return body
}

/**
 * A body that something is done to on its way: the sink of its source, and the source of whoever reads it. What is not overridden passes
 * as it came; a body in memory comes as one chunk.
 */
export abstract class PassingBody implements BodySource, BodySink {
  protected readonly source: Body
  protected sink: BodySink | undefined

  constructor(source: Body) {
    this.source = source
  }
  start(sink: BodySink): void {
    this.sink = sink
    const { source } = this
    if (isSource(source)) source.start(this)
    else {
      if (source !== undefined && source.length > 0)
        this.data(typeof source === "string" ? encoder.encode(source) : source)
      this.end()
    }
  }
  resume(): void {
    if (isSource(this.source)) this.source.resume()
  }
  cancel(): void {
    if (isSource(this.source)) this.source.cancel()
  }
  abstract data(chunk: Uint8Array): boolean
  end(trailers?: HeaderList): void {
    this.sink!.end(trailers)
  }
  fail(error: BodyAborted): void {
    this.sink!.fail(error)
  }
}

class Observed extends PassingBody {
  readonly #observer: BodyObserver
  #over = false
  constructor(source: BodySource, observer: BodyObserver) {
    super(source)
    this.#observer = observer
  }
  override cancel(): void {
    this.#close("cancelled")
    super.cancel()
  }
  data(chunk: Uint8Array): boolean {
    this.#observer.data(chunk)
    return this.sink!.data(chunk)
  }
  override end(trailers?: HeaderList): void {
    this.#close(undefined)
    super.end(trailers)
  }
  override fail(error: BodyAborted): void {
    this.#close(error)
    super.fail(error)
  }
  #close(failure: BodyAborted | "cancelled" | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#observer.end(failure)
  }
}
