/** A streamed answer in the client's format, made event by event out of the provider's while it passes. */
import { Buffer } from "node:buffer"
import {
  BodyAborted as Aborted,
  type Body,
  type BodyAborted,
  type HeaderList,
  PassingBody
} from "../../src/policy/policy.ts"
import { EventStreamDecoder } from "../../src/protocols/llm/eventstream/decoder.ts"
import type { EventStreamBroken } from "../../src/protocols/llm/eventstream/failure.ts"
import { parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { SseEvent } from "../../src/protocols/llm/formats/stream.ts"
import { SseDecoder } from "../../src/protocols/llm/sse/decoder.ts"
import { encodeSse } from "../../src/protocols/llm/sse/encoder.ts"
import type { SseTooLarge } from "../../src/protocols/llm/sse/limit.ts"
import type { StreamTranslation } from "../../src/protocols/llm/translate/translator.ts"
import { type Framing, type StreamReader, textOf } from "../../src/protocols/llm/usage/stream.ts"
import type { EventBody } from "./event-body.ts"

export class TranslatedBody extends PassingBody implements EventBody {
  heard: EventBody["heard"] = undefined
  /** Events are handed over whole. */
  boundary = 0
  readonly #translation: StreamTranslation
  readonly #decoder: {
    readonly push: (chunk: Uint8Array) => SseTooLarge | EventStreamBroken | undefined
    readonly end: () => SseTooLarge | EventStreamBroken | undefined
  }
  #text = ""
  #over = false

  /** `reader` is shown what is translated, as the provider said it. */
  constructor(
    source: Body,
    translation: StreamTranslation,
    framing: Framing,
    reader: StreamReader,
    clock: () => number
  ) {
    super(source)
    this.#translation = translation
    this.#decoder =
      framing === "sse"
        ? new SseDecoder(({ event, data }) => {
            reader.event(event, data, clock())
            if (!this.#over) this.#take(translation.push({ event, data }))
          })
        : new EventStreamDecoder((frame) => {
            const { eventType, messageType, exceptionType } = frame
            const headers = { ":event-type": eventType, ":message-type": messageType, ":exception-type": exceptionType }
            const text = textOf(frame)
            reader.frame(frame, text, clock())
            if (!this.#over) this.#take(translation.push({ headers: headersOf(headers), body: parseJson(text) }))
          })
  }

  #take(events: ReadonlyArray<SseEvent>): void {
    for (const event of events) {
      this.heard?.(event.event, event.data)
      this.#text += encodeSse(event)
    }
  }

  /** Hands over what has been translated; `true` when more may come. */
  #flush(): boolean {
    if (this.#text === "") return true
    const bytes = Buffer.from(this.#text, "utf8")
    this.#text = ""
    this.boundary += bytes.length
    return this.sink!.data(bytes)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#over) return false
    const broken = this.#decoder.push(chunk)
    if (broken === undefined) return this.#flush()
    this.cancel()
    this.#break(broken.message)
    return false
  }
  override end(_trailers?: HeaderList): void {
    if (this.#over) return
    const broken = this.#decoder.end()
    if (broken !== undefined) {
      this.#break(broken.message)
      return
    }
    // First: while it is not over, whoever catches what this throws can still tell the client.
    this.#take(this.#translation.end())
    this.#over = true
    this.#flush()
    this.sink!.end()
  }
  override fail(error: BodyAborted): void {
    if (this.#over) return
    this.#readRest()
    this.#break(error.detail)
  }
  override cancel(): void {
    if (!this.#over) this.#readRest()
    super.cancel()
  }

  /** An event that was not over may hold the usage, and is not for the client. */
  #readRest(): void {
    this.#over = true
    this.#decoder.end()
  }

  /** The client is told what can be told, and then that its answer is not whole. */
  #break(detail: string): void {
    this.#over = true
    this.#take(this.#translation.abort())
    this.#flush()
    this.sink!.fail(new Aborted({ source: "backend", detail }))
  }
}

const headersOf = (names: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(names).filter((entry): entry is [string, string] => entry[1] !== undefined))
