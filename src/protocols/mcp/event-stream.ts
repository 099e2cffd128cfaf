/**
 * The downstream side of an event stream: queues what comes before the client reads, tells its sources when to pause,
 * and cuts off a client that lets the queue grow without end.
 */
import type { McpEventStream, McpSink } from "./contract.ts"

/** Above this many queued characters a source that can be paused should be. */
const highWater = 64 * 1024

/** One stream to one client. */
export class EventStream implements McpEventStream {
  /** Nobody reads any more. */
  closed = false
  /** The last write, for the keep-alive. */
  writtenAt: number
  readonly #limit: number
  readonly #onClose: (clientGone: boolean) => void
  #queue: Array<string> = []
  #queued = 0
  #sink: McpSink | undefined
  #ready = false
  #ended = false
  #waiting: Array<() => void> = []

  /** `onClose` runs once: when the stream is complete and handed over, or when the client is gone. */
  constructor(now: number, limit: number, onClose: (clientGone: boolean) => void) {
    this.writtenAt = now
    this.#limit = limit
    this.#onClose = onClose
  }

  /** `false`: the source should pause; `whenDrained` tells when to go on. */
  push(text: string, now: number): boolean {
    if (this.closed || this.#ended) return true
    this.writtenAt = now
    if (this.#ready && this.#queued === 0) {
      this.#ready = this.#sink!.write(text)
      return this.#ready
    }
    this.#queue.push(text)
    this.#queued += text.length
    if (this.#queued > this.#limit) {
      this.#drop()
      this.#sink?.end()
      return true
    }
    return this.#queued < highWater
  }

  whenDrained(resume: () => void): void {
    this.#waiting.push(resume)
  }

  end(): void {
    if (this.closed || this.#ended) return
    this.#ended = true
    this.#flush()
  }

  start(sink: McpSink): void {
    if (this.closed) {
      sink.end()
      return
    }
    this.#sink = sink
    this.#ready = true
    this.#flush()
  }

  resume(): void {
    this.#ready = true
    this.#flush()
  }

  cancel(): void {
    if (!this.closed) this.#drop()
  }

  #drop(): void {
    this.closed = true
    this.#queue = []
    this.#queued = 0
    this.#wake()
    this.#onClose(true)
  }

  #flush(): void {
    if (this.#sink === undefined || this.closed || !this.#ready) return
    if (this.#queued > 0) {
      const text = this.#queue.join("")
      this.#queue = []
      this.#queued = 0
      this.#ready = this.#sink.write(text)
    }
    if (this.#ended) {
      this.closed = true
      this.#sink.end()
      this.#onClose(false)
    } else if (this.#ready) this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }
}
