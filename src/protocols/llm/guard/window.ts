/**
 * A streamed answer under guard: its bytes are held back until enough text is together to be judged, and released or dropped as the
 * guards say. A state machine without guards of its own, because judging may take time while more bytes arrive.
 */
import { Buffer } from "node:buffer"
import { encodeSse } from "../sse/encoder.ts"
import { overlapBytes, StreamTexts } from "./stream-text.ts"
import type { GuardedFormat } from "./texts.ts"

/** Text of a window, in bytes of UTF-8, that is worth a judgement. */
const windowBytes = 1024

/** What the caller has to do now. */
export type WindowStep =
  /** Nothing: wait for more. */
  | { readonly type: "hold" }
  /** Judge this text and then call `pass`, or send `blockedEvent` and end. Until then everything is held. */
  | { readonly type: "judge"; readonly text: string }
  /** Send these bytes: they had no text in them. */
  | { readonly type: "release"; readonly chunks: ReadonlyArray<Buffer> }
  /** Send `blockedEvent` and end: an event cannot be read, and what is held must not go. */
  | { readonly type: "unreadable" }

const hold: WindowStep = { type: "hold" }

const blocked = (message: string, more: object = {}) => ({
  type: "guardrail_blocked",
  code: "guardrail_intervention",
  message,
  ...more
})

/**
 * The event that ends a blocked stream; no `[DONE]` follows it. Clients must take it for an error: those of messages pass over what has no
 * name, those of generateContent look for a status.
 */
export const blockedEvent = (format: GuardedFormat, message: string): string => {
  switch (format) {
    case "messages":
      return encodeSse({ event: "error", data: JSON.stringify({ type: "error", error: blocked(message) }) })
    case "generateContent":
      return encodeSse({
        data: JSON.stringify({ error: blocked(message, { code: 403, status: "PERMISSION_DENIED" }) })
      })
    default:
      return encodeSse({ data: JSON.stringify({ error: blocked(message) }) })
  }
}

/** What a guard that fails closed says there. */
export const failedGuardMessage = "Content blocked by guardrail policy"

/** The end of `text` that is at most `bytes` long, whole characters only. */
const tail = (text: string, bytes: number): string => {
  const encoded = Buffer.from(text)
  let start = Math.max(0, encoded.length - bytes)
  // Continuation bytes of UTF-8 are 10xxxxxx.
  while (start < encoded.length && (encoded[start]! & 0xc0) === 0x80) start++
  return encoded.toString("utf8", start)
}

const escaped = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g
const meant: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

/** The text, and once more with what JSON text escapes in clear: arguments of calls are such text. */
const inClear = (text: string): string => {
  if (!text.includes("\\")) return text
  const clear = text.replace(escaped, (_, digits: string | undefined, letter: string) =>
    digits === undefined ? (meant[letter] ?? letter) : String.fromCharCode(Number.parseInt(digits, 16))
  )
  return clear === text ? text : `${text}\n${clear}`
}

/**
 * One guarded stream. Whoever decodes it says each event to `hear` and then pushes the chunk in which it ended; do what the steps say, call
 * `pass` after a judgement that lets the text go, then ask `next`.
 */
export class GuardWindow {
  private readonly reader: StreamTexts
  private readonly maxHeldBytes: number
  private held: Array<Buffer> = []
  private heldBytes = 0
  /** Stream offset of the first held byte. */
  private releasedBytes = 0
  private whole = 0
  /** Texts that come side by side are judged one after the other, not as their pieces alternate. */
  private readonly texts = new Map<string, string>()
  private textBytes = 0
  private readonly overlaps = new Map<string, string>()
  private judging: { readonly texts: ReadonlyMap<string, string>; readonly boundary: number } | undefined
  private ended = false
  private broken = false
  private hasRoom = true
  private unreadable = false

  /** `maxHeldBytes`: the buffer limit; a stream that holds more is judged, or released if there is no text in it. */
  constructor(format: GuardedFormat, maxHeldBytes: number) {
    this.maxHeldBytes = maxHeldBytes
    this.reader = new StreamTexts(format)
  }

  /** An event, as the client will read it. */
  hear(event: string | undefined, data: string): void {
    const read = this.reader.read(event, data)
    this.unreadable ||= read === undefined
    for (const { channel, text, repeated } of read ?? []) {
      if (repeated) {
        this.overlaps.set(channel, tail(text, overlapBytes))
        continue
      }
      this.texts.set(channel, (this.texts.get(channel) ?? "") + text)
      this.textBytes += Buffer.byteLength(text)
    }
  }

  /**
   * @param whole how many bytes of the stream belong to events that are over: those behind them are of one that is still coming.
   * @param hasRoom whether more may be held. Otherwise what there is is judged at once.
   */
  push(chunk: Uint8Array, whole: number, hasRoom = true): WindowStep {
    this.hasRoom = hasRoom
    this.held.push(Buffer.from(chunk))
    this.heldBytes += chunk.length
    this.whole = whole
    return this.next()
  }

  /** The stream is over; what is left is judged and released in one. */
  end(): WindowStep {
    this.ended = true
    return this.next()
  }

  /** The stream broke off: what is left is judged and released, but for an event that is not over. */
  cut(): WindowStep {
    this.broken = true
    return this.end()
  }

  /** How much is held back. */
  get bytes(): number {
    return this.heldBytes
  }

  /** The judged text may pass: its bytes. What arrived meanwhile stays held; `next` says what to do with it. */
  pass(): ReadonlyArray<Buffer> {
    const judged = this.judging
    if (judged === undefined) return []
    this.judging = undefined
    for (const [channel, text] of judged.texts) this.overlaps.set(channel, tail(text, overlapBytes))
    return this.take(judged.boundary)
  }

  /** What is due now: to be asked again after a `pass`. */
  next(): WindowStep {
    if (this.judging !== undefined) return hold
    if (this.unreadable) return { type: "unreadable" }
    const full = !this.hasRoom || this.heldBytes >= this.maxHeldBytes
    if (this.textBytes >= windowBytes || ((full || this.ended) && this.textBytes > 0)) {
      const texts = new Map(
        [...this.texts].map(([channel, text]) => [channel, (this.overlaps.get(channel) ?? "") + text])
      )
      this.judging = { texts, boundary: this.boundary() }
      this.texts.clear()
      this.textBytes = 0
      return { type: "judge", text: [...texts.values()].map(inClear).join("\n") }
    }
    if (!(full || this.ended)) return hold
    const chunks = this.take(this.boundary())
    return chunks.length === 0 ? hold : { type: "release", chunks }
  }

  /** Up to where the text is known: the end of the last whole event, and when all has come everything. */
  private boundary(): number {
    return this.ended && !this.broken ? this.releasedBytes + this.heldBytes : this.whole
  }

  private take(boundary: number): ReadonlyArray<Buffer> {
    let wanted = boundary - this.releasedBytes
    let whole = 0
    while (whole < this.held.length && this.held[whole]!.length <= wanted) wanted -= this.held[whole++]!.length
    // At once: a provider may send its bytes one by one.
    const taken = this.held.splice(0, whole)
    const [first] = this.held
    if (wanted > 0 && first !== undefined) {
      taken.push(first.subarray(0, wanted))
      this.held[0] = first.subarray(wanted)
    }
    const bytes = taken.reduce((sum, chunk) => sum + chunk.length, 0)
    this.heldBytes -= bytes
    this.releasedBytes += bytes
    return taken
  }
}
