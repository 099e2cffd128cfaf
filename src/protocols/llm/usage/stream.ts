/** Watches the bytes of a streamed answer, which are forwarded untouched, for its usage, model, first token and finish reason. */
import { Buffer } from "node:buffer"
import { defaultMaxFrameBytes, EventStreamDecoder, type EventStreamFrame } from "../eventstream/decoder.ts"
import type { EventStreamBroken } from "../eventstream/failure.ts"
import { parseJson, stringMember } from "../formats/json.ts"
import { SseDecoder } from "../sse/decoder.ts"
import { defaultSseLimits, type SseTooLarge } from "../sse/limit.ts"
import { newStreamFacts, type StreamFacts } from "./stream-facts.ts"
import { type EventReader, eventReaders, eventType, type StreamFormat } from "./stream-observers.ts"

/** `sse`: text/event-stream; `frames`: application/vnd.amazon.eventstream. */
export type Framing = "sse" | "frames"

/** By the answer's content type. */
export const framingOf = (contentType: string | undefined): Framing =>
  contentType?.includes("application/vnd.amazon.eventstream") ? "frames" : "sse"

/** What a frame says, as text. */
export const textOf = ({ body }: EventStreamFrame): string =>
  Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8")

/** What the events of one stream tell: `facts` is always what is known so far. Times are those of arrival. */
export class StreamReader {
  readonly facts: StreamFacts = newStreamFacts()
  private readonly reader: EventReader

  constructor(format: StreamFormat) {
    this.reader = eventReaders[format]
  }

  event(name: string | undefined, data: string, now: number): void {
    if (data === "[DONE]") this.facts.complete = true
    else {
      this.facts.events++
      const type = eventType(name, data)
      if (this.reader.idle(type, data, this.facts)) return
      const json = parseJson(data)
      this.reader.read(type ?? stringMember(json, "type"), json, this.facts, now)
    }
  }

  frame({ eventType: type, messageType }: EventStreamFrame, text: string, now: number): void {
    if (messageType === "event") this.event(type, text, now)
    else this.facts.failed = true
  }
}

/** Reads the events of a stream out of a copy of its bytes. Chunks go in with the time of their arrival. */
export class StreamObserver {
  readonly facts: StreamFacts
  /** Whoever else reads the events: they are decoded once. Frames are no events of a client. */
  heard: ((event: string | undefined, data: string) => void) | undefined = undefined
  private readonly decoder: SseDecoder | EventStreamDecoder
  private now = 0

  /** `maxEventBytes`: the most that one event or frame may weigh; default the body buffer limit. */
  constructor(reader: StreamReader, framing: Framing, maxEventBytes?: number) {
    this.facts = reader.facts
    this.decoder =
      framing === "sse"
        ? new SseDecoder(
            ({ event, data }) => {
              reader.event(event, data, this.now)
              this.heard?.(event, data)
            },
            maxEventBytes === undefined ? defaultSseLimits : { maxLineBytes: maxEventBytes, maxEventBytes }
          )
        : new EventStreamDecoder(
            (frame) => reader.frame(frame, textOf(frame), this.now),
            maxEventBytes ?? defaultMaxFrameBytes
          )
  }

  /** How many of the bytes belong to events that are over; of frames, none. */
  get boundary(): number {
    return this.decoder instanceof SseDecoder ? this.decoder.eventBoundary : 0
  }

  /** A failure means that nothing more will be read: fatal where the format is known, ignorable where it is only guessed (`detect`). */
  push(chunk: Uint8Array, now: number): SseTooLarge | EventStreamBroken | undefined {
    this.now = now
    return this.decoder.push(chunk)
  }

  end(now: number): SseTooLarge | EventStreamBroken | undefined {
    this.now = now
    return this.decoder.end()
  }
}
