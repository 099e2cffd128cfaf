import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { McpEventMark } from "../../../services/mcp-transport.ts"
import { eventSource } from "./event-source.ts"

type Event = readonly [type: string | undefined, data: string, mark: McpEventMark | undefined]

const read = (bytes: Buffer, sizes: ReadonlyArray<number>, limit = 1_000_000) => {
  const events: Array<Event> = []
  const source = eventSource(limit, (...event) => events.push(event))
  let sound = true
  for (let at = 0, i = 0; at < bytes.length && sound; i++) {
    const size = sizes[i % (sizes.length || 1)] ?? bytes.length
    sound = source.push(bytes.subarray(at, at + size))
    at += size
  }
  source.end()
  return { events, sound }
}

describe("event source", () => {
  it.prop(
    "reads the same events however the bytes are cut",
    {
      events: Schema.Array(
        Schema.Struct({ id: Schema.Literals(["", "7", "é:1"]), data: Schema.JsonObject, crlf: Schema.Boolean })
      ),
      sizes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })))
    },
    ({ events, sizes }) => {
      const text = events
        .map(({ id, data, crlf }) => {
          const frame = `event: message\n${id === "" ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
          return crlf ? frame.replaceAll("\n", "\r\n") : frame
        })
        .join("")
      const bytes = Buffer.from(text)
      const whole = read(bytes, []).events
      assert.strictEqual(whole.length, events.length)
      assert.deepStrictEqual(read(bytes, sizes).events, whole)
      assert.deepStrictEqual(
        whole.map(([, data]) => data),
        events.map(({ data }) => JSON.stringify(data))
      )
    },
    { arbitrary: { runs: 50 } }
  )

  it("joins lines of data, keeps types, ids and reconnection times, and passes over comments", () => {
    const text = ": hello\n\nevent: endpoint\ndata: /m\n\nid: 1\nretry: 500\ndata:\n\ndata: a\ndata: b\n\nretry: 9\n\n"
    assert.deepStrictEqual(read(Buffer.from(text), []).events, [
      ["endpoint", "/m", undefined],
      [undefined, "", { id: "1", retry: 500 }],
      [undefined, "a\nb", undefined],
      [undefined, "", { id: undefined, retry: 9 }]
    ])
  })

  it("stops at an event over the limit, in one line or in many", () => {
    assert.isFalse(read(Buffer.from(`data: ${"x".repeat(200)}`), [10], 100).sound)
    assert.isFalse(read(Buffer.from("data: xxxxxxxx\n".repeat(30)), [10], 100).sound)
    assert.isTrue(read(Buffer.from("data: xxxxxxxx\n\n".repeat(30)), [10], 100).sound)
  })
})
