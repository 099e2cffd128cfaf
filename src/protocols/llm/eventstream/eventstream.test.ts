import { Buffer } from "node:buffer"
import { crc32 } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { EventStreamDecoder } from "./decoder.ts"
import { encodeEvent, encodeException, encodeMessage } from "./encoder.ts"

interface Seen {
  readonly eventType: string | undefined
  readonly body: string
}

const decode = (chunks: ReadonlyArray<Uint8Array>, max?: number) => {
  const seen: Array<Seen> = []
  const decoder = new EventStreamDecoder(
    (message) => seen.push({ eventType: message.eventType, body: Buffer.from(message.body).toString() }),
    max
  )
  for (const chunk of chunks) decoder.push(chunk)
  return { seen, failure: decoder.end()?.reason }
}

const byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
const events = Arbitrary.array(
  Arbitrary.all({ type: Arbitrary.schema(Schema.String), text: Arbitrary.schema(Schema.String) }),
  { maxLength: 5 }
)
const cuts = Arbitrary.array(Arbitrary.schema(small), { maxLength: 40 })
const cut = (bytes: Uint8Array, sizes: ReadonlyArray<number>): Array<Uint8Array> => {
  let at = 0
  const chunks = sizes.map((size) => {
    at += size
    return bytes.subarray(at - size, at)
  })
  return [...chunks, bytes.subarray(Math.min(at, bytes.length))]
}

describe("event stream decoder", () => {
  it("names what a frame is", () => {
    const seen: Array<ReadonlyArray<string | undefined>> = []
    const decoder = new EventStreamDecoder((m) => seen.push([m.messageType, m.eventType, m.exceptionType]))
    decoder.push(encodeEvent("messageStart", { role: "assistant" }))
    decoder.push(encodeException("throttlingException", "slow down"))
    assert.deepStrictEqual(seen, [
      ["event", "messageStart", undefined],
      ["exception", undefined, "throttlingException"]
    ])
  })

  it("refuses a frame over the limit before it waits for it", () => {
    const frame = encodeEvent("x", { text: "a".repeat(100) })
    assert.strictEqual(decode([frame.subarray(0, 12)], 100).failure, "length")
    assert.strictEqual(decode([frame], frame.length).failure, undefined)
  })

  it("notices a flipped bit wherever it is", () => {
    const frame = encodeEvent("messageStop", { stopReason: "end_turn" })
    for (let i = 0; i < frame.length; i++) {
      const broken = Buffer.from(frame)
      broken[i] = broken[i]! ^ 1
      assert.strictEqual(decode([broken]).failure, "checksum", `byte ${i}`)
    }
  })

  it("calls unreadable headers by their name", () => {
    // A valid frame around a header block that claims a value type which does not exist.
    const frame = Buffer.from(encodeMessage({ a: "b" }, Buffer.from("{}")))
    frame[14] = 42
    frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - 4)), frame.length - 4)
    assert.strictEqual(decode([frame]).failure, "headers")
  })

  it("an end inside a frame is a truncation, an end between frames is not", () => {
    const frame = encodeEvent("x", {})
    assert.strictEqual(decode([frame.subarray(0, 5)]).failure, "truncated")
    assert.strictEqual(decode([frame, frame.subarray(0, 20)]).failure, "truncated")
    assert.strictEqual(decode([frame]).failure, undefined)
  })

  it.prop(
    "any chunking gives the messages that were written",
    { events, cuts },
    ({ events, cuts }) => {
      const bytes = Buffer.concat(events.map(({ type, text }) => encodeEvent(type.toWellFormed(), text)))
      const expected = events.map(({ type, text }) => ({ eventType: type.toWellFormed(), body: JSON.stringify(text) }))
      assert.deepStrictEqual(decode(cut(bytes, cuts)), { seen: expected, failure: undefined })
    },
    { arbitrary: { runs: 200 } }
  )

  it.prop(
    "no bytes make it throw, and any cut of broken bytes fails alike",
    { noise: Arbitrary.array(Arbitrary.schema(byte), { maxLength: 60 }), at: small, cuts, events },
    ({ noise, at, cuts, events }) => {
      const good = Buffer.concat(events.map(({ type, text }) => encodeEvent(type, text)))
      const bytes = Buffer.concat([good.subarray(0, at), Buffer.from(noise), good.subarray(at)])
      assert.deepStrictEqual(decode(cut(bytes, cuts), 512), decode([bytes], 512))
    },
    { arbitrary: { runs: 300 } }
  )
})
