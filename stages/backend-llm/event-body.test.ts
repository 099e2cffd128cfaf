/** What whoever stands behind a stream is told of its events, against what a client makes of its bytes. */
import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import type { BodySource } from "../../src/http/body.ts"
import { SseDecoder } from "../../src/protocols/llm/sse/decoder.ts"
import { StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import type { EventBody } from "./event-body.ts"
import { ObservedStream } from "./observed-stream.ts"
import { TranslatedBody } from "./translated-body.ts"

const piece = Arbitrary.schema(
  Schema.Literals([
    "data: ",
    "event: ",
    "id: 1\n",
    "é",
    "😀",
    "\n",
    "\r\n",
    "\n\n",
    ": c\n",
    '{"a":"b"}',
    "[DONE]",
    "x"
  ])
)
const pieces = Arbitrary.array(piece, { maxLength: 40 })
const size = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })))
const sizes = Arbitrary.array(size, { maxLength: 60 })

const cut = (whole: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  let at = 0
  const chunks = sizes.map((size) => {
    at += size
    return whole.subarray(at - size, at)
  })
  return [...chunks, whole.subarray(at)].filter(({ length }) => length > 0)
}

type Told = ReadonlyArray<readonly [event: string | undefined, data: string]>

/** Sends a stream through: what was told before each chunk, and the chunks. */
const passed = (made: (source: BodySource) => EventBody, chunks: ReadonlyArray<Buffer>) => {
  const source: BodySource = {
    start: (sink) => {
      for (const chunk of chunks) sink.data(chunk)
      sink.end()
    },
    resume: () => {},
    cancel: () => {}
  }
  const body = made(source)
  const told: Array<readonly [event: string | undefined, data: string]> = []
  const sent: Array<Uint8Array> = []
  const client: Array<readonly [event: string | undefined, data: string]> = []
  const decoder = new SseDecoder(({ event, data }) => client.push([event, data]))
  const complaints: Array<string> = []
  body.heard = (event, data) => told.push([event, data])
  let ended = 0
  body.start({
    data: (chunk) => {
      sent.push(chunk)
      decoder.push(chunk)
      if (client.length > told.length) complaints.push("bytes came before what they say")
      if (body.boundary !== decoder.eventBoundary) complaints.push(`boundary ${body.boundary}`)
      return true
    },
    end: () => {
      ended++
      decoder.end()
    },
    fail: ({ detail }) => complaints.push(detail)
  })
  return { told: told as Told, client: client as Told, bytes: Buffer.concat(sent), complaints, ended }
}

const reader = () => new StreamReader("completions")

describe("the events of a stream", () => {
  it.prop(
    "are told as a client decodes them, before their bytes, which pass as they came",
    { pieces, sizes },
    (drawn) => {
      const whole = Buffer.from(drawn.pieces.join(""))
      const made = (source: BodySource) => new ObservedStream(source, "sse", reader(), () => 0)
      const { told, client, bytes, complaints, ended } = passed(made, cut(whole, drawn.sizes))
      assert.deepStrictEqual([complaints, ended], [[], 1])
      assert.isTrue(bytes.equals(whole))
      assert.deepStrictEqual(told, client)
    }
  )

  it.prop("are told in the words into which they are translated", { pieces, sizes }, (drawn) => {
    const whole = Buffer.from(drawn.pieces.join(""))
    const translation = {
      push: (event: object) => [
        { event: "event" in event ? String(event.event) : undefined, data: JSON.stringify(event) },
        { data: "and\nmore" }
      ],
      end: () => [{ data: "[DONE]" }],
      abort: () => [],
      usage: undefined,
      error: undefined
    }
    const made = (source: BodySource) => new TranslatedBody(source, translation, "sse", reader(), () => 0)
    const { told, client, complaints, ended } = passed(made, cut(whole, drawn.sizes))
    assert.deepStrictEqual([complaints, ended], [[], 1])
    assert.isAbove(client.length, 0)
    assert.deepStrictEqual(told, client)
  })
})
