/**
 * What of server-sent events is read by whoever judges them, as bytes: data and names of events. Comments, ids and fields that nobody
 * knows reach a client too, and could hold any text.
 */
import { Buffer } from "node:buffer"

const LF = 10
const CR = 13
const COLON = 58

const nothing = Buffer.alloc(0)
/** A comment without its text still tells that the stream lives. */
const livingSign = Buffer.from(":")
/** The names of events are known words. */
const namedEvent = /^event(?:: ?[A-Za-z0-9_.-]{0,64})?$/
/** The longest beginning of a line that may have to be known before it passes. */
const longest = 80
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** One stream, cut into chunks anywhere. Lines that are not spoken are left out with their ends. */
export class SpokenLines {
  /** The beginning of the line, while it does not tell yet what becomes of it. */
  #begun = nothing
  /** Of a line that is `emptied`, and of no other that does not pass, the end stays. */
  #line: "undecided" | "passes" | "dropped" | "emptied" = "undecided"
  #isFirst = true
  /** The end of the last line was dropped, and a LF that comes next belongs to it. */
  #dropsLf = false

  push(chunk: Uint8Array): Buffer {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const spoken: Array<Buffer> = []
    let start = this.#dropsLf && bytes[0] === LF ? 1 : 0
    if (bytes.length > 0) this.#dropsLf = false
    while (start < bytes.length) {
      const end = endOfLine(bytes, start)
      const isOver = end < bytes.length
      const part = bytes.subarray(start, end)
      if (this.#line === "passes") spoken.push(part)
      else if (this.#line === "undecided") {
        const known = this.#begun.length === 0 ? part : Buffer.concat([this.#begun, part])
        this.#begun = nothing
        this.#line = this.#fateOf(known, isOver)
        if (this.#line === "passes") spoken.push(known)
        else if (this.#line === "emptied") spoken.push(livingSign)
        // The chunk is somebody else's.
        else if (this.#line === "undecided") this.#begun = Buffer.from(known)
      }
      if (!isOver) break
      start = end + 1
      if (this.#line !== "dropped") spoken.push(bytes.subarray(end, start))
      else if (bytes[end] === CR) {
        if (start === bytes.length) this.#dropsLf = true
        else if (bytes[start] === LF) start++
      }
      this.#line = "undecided"
      this.#isFirst = false
    }
    return spoken.length === 1 ? spoken[0]! : Buffer.concat(spoken)
  }

  #fateOf(known: Buffer, isOver: boolean): "undecided" | "passes" | "dropped" | "emptied" {
    const hasMark = this.#isFirst && known.subarray(0, 3).equals(byteOrderMark)
    const line = hasMark ? known.subarray(3) : known
    if (line[0] === COLON) return hasMark ? "dropped" : "emptied"
    const begins = line.toString("latin1", 0, longest + 1)
    if (begins.startsWith("data:")) return "passes"
    if (isOver) return begins === "" || begins === "data" || namedEvent.test(begins) ? "passes" : "dropped"
    return begins.length > longest ? "dropped" : "undecided"
  }
}

const endOfLine = (bytes: Buffer, from: number): number => {
  for (let i = from; i < bytes.length; i++) if (bytes[i] === LF || bytes[i] === CR) return i
  return bytes.length
}
