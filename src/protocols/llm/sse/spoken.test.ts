import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { SseDecoder } from "./decoder.ts"
import { SpokenLines } from "./spoken.ts"

/** What passes of a stream in chunks of this many bytes. */
const spoken = (text: string, size: number): string => {
  const lines = new SpokenLines()
  const bytes = Buffer.from(text)
  const passed: Array<Buffer> = []
  for (let at = 0; at < bytes.length; at += size) passed.push(Buffer.from(lines.push(bytes.subarray(at, at + size))))
  return Buffer.concat(passed).toString()
}

const dataOf = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const decoder = new SseDecoder(({ data }) => found.push(data))
  decoder.push(Buffer.from(text))
  decoder.end()
  return found
}

const table: ReadonlyArray<readonly [came: string, passes: string]> = [
  ["data: a\n\n", "data: a\n\n"],
  ["event: message_stop\ndata: {}\n\n", "event: message_stop\ndata: {}\n\n"],
  ["event: a secret\ndata: {}\n\n", "data: {}\n\n"],
  ["event\ndata\n\n", "event\ndata\n\n"],
  [": a secret\r\n\r\n", ":\r\n\r\n"],
  ["id: a secret\r\ndata: 1\r\n\r\n", "data: 1\r\n\r\n"],
  ["retry: 1\rdata: 1\r\r", "data: 1\r\r"],
  ["x: a secret\n\ufeffdata: a secret\n datas: a secret\n\n", "\n"],
  ["\ufeffdata: 1\n\n", "\ufeffdata: 1\n\n"],
  [`${"a secret ".repeat(50)}\ndata: 1\n\n`, "data: 1\n\n"],
  [`event: ${"a".repeat(100)}\ndata: 1\n\n`, "data: 1\n\n"],
  ["data: 1\n\nid: a sec", "data: 1\n\n"]
]

describe("what is spoken of a stream", () => {
  it("is data and names of events, however it is cut", () => {
    for (const [came, passes] of table)
      for (const size of [1, 2, 3, 7, 1000]) assert.strictEqual(spoken(came, size), passes, JSON.stringify(came))
  })

  const pieces = [
    "data",
    "data:",
    "event: a",
    "event:",
    "id: 1",
    ":",
    ":x",
    "retry",
    "x",
    " ",
    "\ufeff",
    "\n",
    "\n",
    "\r",
    "\r\n",
    "ä"
  ]
  const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: pieces.length - 1 }))

  it.effect.prop(
    "says the same, and nothing beside",
    [Arbitrary.schema(Schema.Array(index).check(Schema.isMaxLength(30)))],
    ([indices]) =>
      Effect.sync(() => {
        const came = indices.map((each) => pieces[each]!).join("")
        const whole = spoken(`${came}\n\n`, 1000)
        assert.deepStrictEqual(dataOf(whole), dataOf(`${came}\n\n`))
        assert.strictEqual(spoken(`${came}\n\n`, 1), whole)
        assert.match(whole, /^(\ufeff?data(:[^\r\n]*)?|\ufeff?event(: ?[\w.-]*)?|:|\ufeff|[\r\n])*$/)
      }),
    { arbitrary: { runs: 300 } }
  )
})
