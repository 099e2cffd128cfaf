/** The built-in `mock` provider as an upstream: its answers come out of the process, at the pace that it is told. */
import { Buffer } from "node:buffer"
import { Effect } from "effect"
import { type Answer, type BodySink, type BodySource, HeaderList } from "../../src/policy/policy.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { type MockFormat, mockFormats, mockReply } from "../../src/protocols/llm/mock/mock.ts"
import type { MockSettings, TimedChunk } from "../../src/protocols/llm/mock/settings.ts"

export const isMockFormat = (format: string): format is MockFormat =>
  (mockFormats as ReadonlyArray<string>).includes(format)

/** Makes the mock of one model. Calls are numbered, so that failures are spread. */
export const mockUpstream = (settings: MockSettings) => {
  let sequence = 0
  return (format: MockFormat, body: JsonObject, now: number): Effect.Effect<Answer> => {
    const reply = mockReply(settings, format, body, { now: Math.floor(now / 1000), sequence: sequence++ })
    if (reply.type === "stream")
      return Effect.succeed({
        status: 200,
        headers: new HeaderList(["content-type", "text/event-stream", "cache-control", "no-cache"]),
        body: new TimedBody(reply.chunks)
      })
    const answer: Answer = {
      status: reply.status,
      headers: new HeaderList(["content-type", "application/json"]),
      body: reply.body
    }
    return reply.afterMs > 0 ? Effect.delay(Effect.succeed(answer), reply.afterMs) : Effect.succeed(answer)
  }
}

/** Chunks at their times after the start; a reader that is slower than they are delays them. */
class TimedBody implements BodySource {
  readonly #chunks: ReadonlyArray<TimedChunk>
  #next = 0
  #sink: BodySink | undefined
  #began = 0
  #timer: NodeJS.Timeout | undefined

  constructor(chunks: ReadonlyArray<TimedChunk>) {
    this.#chunks = chunks
  }
  start(sink: BodySink): void {
    this.#sink = sink
    this.#began = performance.now()
    this.resume()
  }
  resume(): void {
    this.#timer = undefined
    const elapsed = performance.now() - this.#began
    while (this.#next < this.#chunks.length) {
      const { atMs, text } = this.#chunks[this.#next]!
      if (atMs > elapsed) {
        this.#timer = setTimeout(() => this.resume(), atMs - elapsed)
        return
      }
      this.#next++
      if (!this.#sink!.data(Buffer.from(text, "utf8"))) return
    }
    this.#sink!.end()
  }
  cancel(): void {
    clearTimeout(this.#timer)
  }
}
