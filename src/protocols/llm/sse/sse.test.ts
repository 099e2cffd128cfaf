import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { createParser } from "eventsource-parser"
import { type DecodedEvent, SseDecoder } from "./decoder.ts"
import { encodeSse } from "./encoder.ts"
import type { SseLimits } from "./limit.ts"

const decode = (chunks: ReadonlyArray<Uint8Array>, limits?: SseLimits) => {
  const events: Array<DecodedEvent> = []
  const decoder = new SseDecoder((event) => events.push(event), limits)
  for (const chunk of chunks) decoder.push(chunk)
  return { events, failure: decoder.end() }
}
const text = (source: string, limits?: SseLimits) => decode([Buffer.from(source)], limits)

/** What a stream is made of, mostly valid, with every trap of the grammar in it. */
const pieces = Schema.Literals([
  "data: ",
  "data:",
  "data",
  'data: {"a":1}',
  "event: ",
  "event",
  "id: ",
  "id: 7",
  "id: \0",
  ":",
  ": ping",
  "retry: 10",
  "foo: bar",
  "dat: x",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "\r\n\r\n",
  "é",
  "€",
  "😀",
  "\uFEFF",
  " ",
  "x",
  "[DONE]",
  "eventually: x",
  "database",
  "idea"
])
const stream = Arbitrary.map(Arbitrary.array(Arbitrary.schema(pieces), { maxLength: 40 }), (parts) => parts.join(""))
const cuts = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))), {
  maxLength: 60
})
const cut = (bytes: Buffer, sizes: ReadonlyArray<number>): Array<Buffer> => {
  const chunks: Array<Buffer> = []
  let at = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  chunks.push(bytes.subarray(Math.min(at, bytes.length)))
  return chunks
}
const garbage = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))), {
    maxLength: 80
  }),
  (bytes) => Buffer.from(bytes)
)

describe("SSE decoder", () => {
  it("reads events, names and ids", () => {
    assert.deepStrictEqual(text("event: a\nid: 1\ndata: x\n\ndata: y\n\n").events, [
      { event: "a", id: "1", data: "x" },
      { event: undefined, id: undefined, data: "y" }
    ])
  })

  it("joins several data lines with a line feed", () => {
    assert.strictEqual(text("data: a\ndata:\ndata:  b\n\n").events[0]?.data, "a\n\n b")
  })

  it("takes LF, CR and CRLF for line ends, mixed", () => {
    assert.deepStrictEqual(
      text("data: a\r\rdata: b\r\n\r\ndata: c\n\n").events.map((e) => e.data),
      ["a", "b", "c"]
    )
  })

  it("drops comments, unknown fields, a leading byte order mark and an id with NUL", () => {
    assert.deepStrictEqual(text("\uFEFF: ping\nfoo: 1\nid: a\0b\ndata: x\n\n").events, [
      { event: undefined, id: undefined, data: "x" }
    ])
  })

  it("gives out the last event of a stream that ends without its blank line", () => {
    assert.deepStrictEqual(
      text('data: {"usage":1}').events.map((e) => e.data),
      ['{"usage":1}']
    )
  })

  it("an event without data is none", () => {
    assert.deepStrictEqual(text("event: ping\n\n: x\n\n").events, [])
  })

  it("refuses a line over its limit, finished or not, and an event over its limit, and then stays refused", () => {
    const limits = { maxLineBytes: 12, maxEventBytes: 8 }
    for (const source of ["data: 1234567", "data: 1234567\n\n", "data: 12345\ndata: 6789\n\n"]) {
      const { events, failure } = text(source, limits)
      assert.deepStrictEqual(events, [])
      assert.strictEqual(failure?._tag, "SseTooLarge")
      assert.strictEqual(failure?.status, 502)
    }
    assert.strictEqual(text("data: 1234\ndata: 56\n\n", limits).failure, undefined)
    const decoder = new SseDecoder(() => assert.fail("an event after the failure"), limits)
    const failure = decoder.push(Buffer.from("data: 1234567890\n\n"))
    assert.isDefined(failure)
    assert.strictEqual(decoder.push(Buffer.from("data: x\n\n")), failure)
    assert.strictEqual(decoder.end(), failure)
  })

  it.prop(
    "any chunking gives the same events and the same failure",
    { stream, cuts },
    ({ stream, cuts }) => {
      const bytes = Buffer.from(stream)
      for (const limits of [undefined, { maxLineBytes: 20, maxEventBytes: 12 }])
        for (const chunks of [
          cut(bytes, cuts),
          cut(
            bytes,
            Array.from(bytes, () => 1)
          )
        ])
          assert.deepStrictEqual(decode(chunks, limits), decode([bytes], limits))
    },
    { arbitrary: { runs: 400 } }
  )

  it.prop(
    "a large chunk gives the same events as its bytes one by one, whether each of them is a character or not",
    { stream },
    ({ stream }) => {
      const limits = { maxLineBytes: 1200, maxEventBytes: 12 }
      for (const text of [stream, stream.replaceAll(/[^\0-\x7f]/g, "z")]) {
        const bytes = Buffer.from(`:${"x".repeat(1100)}\n${text}\ndata: ${text}`)
        const single = Array.from(bytes, (byte) => Buffer.of(byte))
        for (const within of [undefined, limits])
          assert.deepStrictEqual(decode([bytes], within), decode(single, within))
      }
    },
    { arbitrary: { runs: 200 } }
  )

  it("a CRLF cut in two ends one line", () => {
    const { events } = decode(["data: a\r", "\ndata: b\r", "\n\r", "\n"].map((part) => Buffer.from(part)))
    assert.deepStrictEqual(
      events.map(({ data }) => data),
      ["a\nb"]
    )
  })

  it("knows where the last whole event ended", () => {
    const decoder = new SseDecoder(() => undefined)
    const boundaries = ["data: a\n", "\ndata: b", "\n\ndata: c\r\n\r\n", ": x"].map((part) => {
      decoder.push(Buffer.from(part))
      return decoder.eventBoundary
    })
    assert.deepStrictEqual(boundaries, [0, 9, 29, 29])
  })

  it.prop(
    "agrees with an independent parser",
    { stream },
    ({ stream }) => {
      const expected: Array<DecodedEvent> = []
      // The other parser drops an unfinished event; ours gives it out: finish it for both.
      const whole = `${stream}\n\n`
      const other = createParser({ onEvent: (e) => expected.push({ event: e.event, id: e.id, data: e.data }) })
      other.feed(whole)
      assert.deepStrictEqual(text(whole).events, expected)
    },
    { arbitrary: { runs: 400 } }
  )

  it.prop(
    "no bytes make it throw, and the chunk is left alone",
    { garbage, cuts },
    ({ garbage, cuts }) => {
      const before = Buffer.from(garbage)
      decode(cut(garbage, cuts), { maxLineBytes: 16, maxEventBytes: 16 })
      assert.isTrue(before.equals(garbage))
    },
    { arbitrary: { runs: 300 } }
  )
})

describe("SSE encoder", () => {
  it("a line end cannot smuggle a field", () => {
    assert.strictEqual(encodeSse({ event: "a\ndata: b", data: "x" }), "event: a\ndata: x\n\n")
  })

  it.prop(
    "what is written is read back, line ends normalised",
    { data: Schema.String, stream },
    ({ data, stream }) => {
      for (const source of [data, stream])
        assert.deepStrictEqual(text(encodeSse({ event: "e", id: "1", data: source })).events, [
          { event: "e", id: "1", data: source.replaceAll(/\r\n|\r/g, "\n").toWellFormed() }
        ])
    },
    { arbitrary: { runs: 300 } }
  )
})
