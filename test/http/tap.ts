/** A body source in the hands of a test: it yields what it is given, when it is given. */
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import type { HeaderList } from "../../src/http/header-list.ts"

export class Tap implements BodySource {
  #sink: BodySink | undefined
  readonly #early: Array<(sink: BodySink) => void> = []
  /** How often the sink asked to go on. */
  resumed = 0
  cancelled = false
  /** Whether the last chunk was answered with "go on". */
  flowing = true

  start(sink: BodySink): void {
    this.#sink = sink
    for (const early of this.#early) early(sink)
  }
  resume(): void {
    this.flowing = true
    this.resumed++
  }
  cancel(): void {
    this.cancelled = true
  }
  push(chunk: string | Uint8Array): this {
    return this.#tell((sink) => {
      this.flowing = sink.data(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk)
    })
  }
  end(trailers?: HeaderList): this {
    return this.#tell((sink) => sink.end(trailers))
  }
  fail(): this {
    return this.#tell((sink) => sink.fail(new BodyAborted({ source: "backend", detail: "reset" })))
  }
  #tell(what: (sink: BodySink) => void): this {
    if (this.#sink === undefined) this.#early.push(what)
    else what(this.#sink)
    return this
  }
}
