/** A streamed answer in the client's format, made event by event out of the provider's while it passes. */
import { Buffer } from "node:buffer"
import {
  BodyAborted as Aborted,
  type Body,
  type BodyAborted,
  type BodySink,
  type BodySource,
  type HeaderList,
  isSource
} from "../../src/policy/policy.ts"
import { EventStreamDecoder } from "../../src/protocols/llm/eventstream/decoder.ts"
import type { EventStreamBroken } from "../../src/protocols/llm/eventstream/failure.ts"
import { parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { SseEvent } from "../../src/protocols/llm/formats/stream.ts"
import { SseDecoder } from "../../src/protocols/llm/sse/decoder.ts"
import { encodeSse } from "../../src/protocols/llm/sse/encoder.ts"
import type { SseTooLarge } from "../../src/protocols/llm/sse/limit.ts"
import type { StreamTranslation } from "../../src/protocols/llm/translate/translator.ts"
import type { Framing } from "../../src/protocols/llm/usage/stream.ts"

export class TranslatedBody implements BodySource, BodySink {
  readonly #source: Body
  readonly #translation: StreamTranslation
  readonly #decoder: {
    readonly push: (chunk: Uint8Array) => SseTooLarge | EventStreamBroken | undefined
    readonly end: () => SseTooLarge | EventStreamBroken | undefined
  }
  #sink: BodySink | undefined
  #text = ""
  #over = false

  constructor(source: Body, translation: StreamTranslation, framing: Framing) {
    this.#source = source
    this.#translation = translation
    this.#decoder =
      framing === "sse"
        ? new SseDecoder(({ event, data }) => this.#take(translation.push({ event, data })))
        : new EventStreamDecoder(({ eventType, messageType, exceptionType, body }) =>
            this.#take(
              translation.push({
                headers: headersOf({
                  ":event-type": eventType,
                  ":message-type": messageType,
                  ":exception-type": exceptionType
                }),
                body: parseJson(Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8"))
              })
            )
          )
  }

  start(sink: BodySink): void {
    this.#sink = sink
    const source = this.#source
    if (isSource(source)) {
      source.start(this)
      return
    }
    // A short stream may have come whole.
    if (source !== undefined) this.data(typeof source === "string" ? Buffer.from(source, "utf8") : source)
    this.end()
  }
  resume(): void {
    if (isSource(this.#source)) this.#source.resume()
  }
  cancel(): void {
    if (isSource(this.#source)) this.#source.cancel()
  }

  #take(events: ReadonlyArray<SseEvent>): void {
    for (const event of events) this.#text += encodeSse(event)
  }

  /** Hands over what has been translated; `true` when more may come. */
  #flush(): boolean {
    if (this.#text === "") return true
    const bytes = Buffer.from(this.#text, "utf8")
    this.#text = ""
    return this.#sink!.data(bytes)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    const broken = this.#decoder.push(chunk)
    if (broken === undefined) return this.#flush()
    this.cancel()
    this.#break(broken.message)
    return false
  }
  end(_trailers?: HeaderList): void {
    if (this.#over) return
    const broken = this.#decoder.end()
    if (broken !== undefined) {
      this.#break(broken.message)
      return
    }
    this.#over = true
    this.#take(this.#translation.end())
    this.#flush()
    this.#sink!.end()
  }
  fail(error: BodyAborted): void {
    if (!this.#over) this.#break(error.detail)
  }

  /** The client is told what can be told, and then that its answer is not whole. */
  #break(detail: string): void {
    this.#over = true
    this.#take(this.#translation.abort())
    this.#flush()
    this.#sink!.fail(new Aborted({ source: "backend", detail }))
  }
}

const headersOf = (names: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(names).filter((entry): entry is [string, string] => entry[1] !== undefined))
