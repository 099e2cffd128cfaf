import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { parse } from "yaml"
import { encodeEvent, encodeException } from "../eventstream/encoder.ts"
import { encodeSse } from "../sse/encoder.ts"
import { requestUsageChunk } from "./include-usage.ts"
import { type UsageFormat, usageMembers } from "./members.ts"
import { readResponse } from "./read.ts"
import { type Framing, framingOf, StreamObserver, StreamReader } from "./stream.ts"
import { newStreamFacts, timePerOutputToken } from "./stream-facts.ts"
import { eventReaders, eventType, type StreamFormat } from "./stream-observers.ts"
import { mergeUsage, totalTokens, type Usage } from "./usage.ts"

const data = <A>(file: string): ReadonlyArray<A> => parse(readFileSync(join(import.meta.dirname, file), "utf8"))
const defined = (value: object) => Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined))

describe("usage of a response", () => {
  interface Golden {
    readonly name: string
    readonly format: UsageFormat
    readonly body: unknown
    readonly usage?: object
    readonly model?: string
    readonly finish?: string
    readonly limit?: number
  }
  for (const { name, format, body, usage, model, finish, limit } of data<Golden>("responses.yaml"))
    it(name, () => {
      const facts = readResponse(format, body)
      assert.deepStrictEqual(facts.usage && defined(facts.usage), usage)
      assert.strictEqual(facts.model, model)
      assert.strictEqual(facts.finish, finish)
      if (limit !== undefined) assert.strictEqual(totalTokens(facts.usage!), limit)
    })

  it.prop(
    "no JSON makes it throw, and counts are whole and not negative",
    { body: Schema.Json, at: Schema.Literals(["usage", "usageMetadata", "response", "message", "meta", "choices"]) },
    ({ body, at }) => {
      for (const format of Object.keys(usageMembers) as ReadonlyArray<UsageFormat>)
        for (const value of [body, { [at]: body }, { [at]: { usage: body, prompt_tokens: body, input_tokens: body } }])
          for (const part of Object.values(readResponse(format, value).usage ?? {}))
            if (typeof part === "number") assert.isTrue(Number.isInteger(part) && part >= 0)
    }
  )
})

interface GoldenStream {
  readonly name: string
  readonly format: StreamFormat
  readonly framing?: Framing
  readonly events: ReadonlyArray<{ readonly event?: string; readonly data?: unknown; readonly wrapped?: unknown }>
  readonly facts: object
  readonly limit?: number
}
const streams = data<GoldenStream>("streams.yaml")
const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))
const bytesOf = ({ framing, events }: GoldenStream): ReadonlyArray<Uint8Array> =>
  events.map(({ event, data, wrapped }) =>
    framing === "frames"
      ? encodeEvent(
          event!,
          wrapped === undefined ? data : { bytes: Buffer.from(JSON.stringify(wrapped)).toString("base64") }
        )
      : Buffer.from(encodeSse({ event, data: text(data) }))
  )

describe("usage of a stream", () => {
  for (const stream of streams)
    it(stream.name, () => {
      const observer = new StreamObserver(new StreamReader(stream.format), stream.framing ?? "sse")
      bytesOf(stream).forEach((chunk, i) => assert.isUndefined(observer.push(chunk, i + 1)))
      assert.isUndefined(observer.end(99))
      const { usage, events, ...facts } = observer.facts
      assert.isAtLeast(events, facts.firstTokenAt === undefined ? 0 : 1)
      const { cacheInInput: _, ...counts } = usage ?? { cacheInInput: true }
      assert.deepStrictEqual(defined({ ...facts, ...counts }), stream.facts)
      if (stream.limit !== undefined) assert.strictEqual(totalTokens(usage!), stream.limit)
    })

  it("framing follows the content type", () => {
    assert.strictEqual(framingOf("application/vnd.amazon.eventstream"), "frames")
    assert.strictEqual(framingOf("text/event-stream; charset=utf-8"), "sse")
    assert.strictEqual(framingOf(undefined), "sse")
  })

  it("an exception frame is a failure of the stream, an oversized event one of reading it", () => {
    const observer = new StreamObserver(new StreamReader("converse"), "frames")
    observer.push(encodeException("throttlingException", "x"), 1)
    assert.isTrue(observer.facts.failed)
    assert.strictEqual(
      new StreamObserver(new StreamReader("detect"), "sse", 8).push(Buffer.from("data: 123456789\n\n"), 1)?._tag,
      "SseTooLarge"
    )
    assert.strictEqual(
      new StreamObserver(new StreamReader("detect"), "frames", 8).push(encodeEvent("x", {}), 1)?._tag,
      "EventStreamBroken"
    )
  })

  it("time per token counts from the first one", () => {
    const usage = readResponse("completions", { usage: { prompt_tokens: 1, completion_tokens: 4 } }).usage
    assert.strictEqual(timePerOutputToken({ ...newStreamFacts(), firstTokenAt: 100, usage }, 300), 50)
    assert.isUndefined(timePerOutputToken({ ...newStreamFacts(), firstTokenAt: 100 }, 300))
    assert.isUndefined(timePerOutputToken({ ...newStreamFacts(), usage }, 300))
  })

  const size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
  it.prop(
    "the cut of the chunks changes nothing",
    {
      which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: streams.length - 1 })),
      sizes: Arbitrary.array(Arbitrary.schema(size), { maxLength: 80 })
    },
    ({ which, sizes }) => {
      const stream = streams[which]!
      const whole = Buffer.concat(bytesOf(stream))
      const [a, b] = [0, 1].map(() => new StreamObserver(new StreamReader(stream.format), stream.framing ?? "sse"))
      a!.push(whole, 1)
      let at = 0
      for (const n of sizes) {
        b!.push(whole.subarray(at, at + n), 1)
        at += n
      }
      b!.push(whole.subarray(Math.min(at, whole.length)), 1)
      assert.deepStrictEqual(b!.facts, a!.facts)
    }
  )

  // Parts of events, so that the shortcut meets every trap: keys in text, nulls, spaces, wrong types.
  const delta = Schema.Literals([
    '"content":"x"',
    '"content":""',
    '"content":"\\"usage\\":1"',
    '"tool_calls":[]',
    '"tool_calls":[{}]',
    '"role":"assistant"'
  ])
  const rest = Schema.Literals([
    '"usage":null',
    '"usage" : null',
    '"usage":{"prompt_tokens":3,"completion_tokens":1}',
    '"usage":{"input_tokens":2}',
    '"service_tier":"a"',
    '"finish_reason":"stop"',
    '"model":"m"',
    '"error":{}',
    '"error":null',
    '"response":{"model":"r","status":"completed"}',
    '"delta":{"stop_reason":"z"}',
    '"type":"error"',
    '"candidates":[{"content":{"parts":[1]},"finishReason":"STOP"}]',
    '"usageMetadata":{"promptTokenCount":2}',
    '"bytes":"e30="',
    // The same names, as a client reads them.
    '"\\u0075sage":{"prompt_tokens":7,"completion_tokens":8}',
    '"usag\\u0065":{"input_tokens":5}',
    '"\\u0065rror":{"message":"e"}',
    '"usage\\u004detadata":{"promptTokenCount":3}',
    '"x":"usage"'
  ])
  const type = Schema.Literals([
    "content_block_delta",
    "message_delta",
    "message_stop",
    "response.output_text.delta",
    "response.completed",
    "contentBlockDelta",
    "metadata",
    "event",
    "ping"
  ])
  const event = Arbitrary.all({
    delta: Arbitrary.schema(delta),
    rest: Arbitrary.array(Arbitrary.schema(rest), { maxLength: 3 }),
    name: Arbitrary.schema(Schema.UndefinedOr(type)),
    type: Arbitrary.schema(Schema.UndefinedOr(type))
  })
  it.prop(
    "an event that is skipped would have changed nothing",
    { events: Arbitrary.array(event, { maxLength: 8 }) },
    ({ events }) => {
      for (const reader of Object.values(eventReaders)) {
        const facts = newStreamFacts()
        events.forEach(({ delta, rest, name, type }, i) => {
          const json = `{${type === undefined ? "" : `"type":"${type}",`}"choices":[{"delta":{${delta}}}]${rest.map((r) => `,${r}`).join("")}}`
          const known = eventType(name, json)
          const before = structuredClone(facts)
          const idle = reader.idle(known, json, facts)
          reader.read(known ?? (JSON.parse(json) as { type?: string }).type, JSON.parse(json), facts, i)
          if (idle) assert.deepStrictEqual(facts, before, json)
        })
      }
    },
    { arbitrary: { runs: 400 } }
  )

  it("plain text deltas are skipped once the first was seen", () => {
    const known = { ...newStreamFacts(), firstTokenAt: 1, model: "m" }
    const chat = '{"choices":[{"delta":{"content":"x"},"finish_reason":null}],"usage":null}'
    assert.isTrue(eventReaders.completions.idle(undefined, chat, known))
    assert.isTrue(eventReaders.detect.idle(undefined, chat, known))
    assert.isTrue(eventReaders.messages.idle("content_block_delta", "{}", known))
    assert.isTrue(eventReaders.responses.idle("response.output_text.delta", "{}", known))
    assert.isTrue(eventReaders.converse.idle("contentBlockDelta", "{}", known))
    for (const reader of Object.values(eventReaders)) assert.isFalse(reader.idle(undefined, chat, newStreamFacts()))
  })

  it("a key is only a key outside of strings and with a value", () => {
    const known = { ...newStreamFacts(), firstTokenAt: 1, model: "m" }
    const states = (text: string) => !eventReaders.completions.idle(undefined, text, known)
    assert.isTrue(states('{"usage":{}}'))
    assert.isTrue(states('{"a":null,"usage" : 0}'))
    assert.isTrue(states('{"usage" \t\r\n: \t\r\n0}'))
    assert.isFalse(states('{"usage":null}'))
    assert.isFalse(states('{"usage" \t\r\n: \t\r\nnull}'))
    assert.isFalse(states('{"a":"\\"usage\\":1"}'))
    assert.isFalse(states('{"a":"usage"}'))
    assert.isTrue(states('{"x":{"usage": null},"usage":1}'))
    assert.isTrue(states('{"us\\u0061ge":1}'))
  })

  it("blanks without end are looked past once", () => {
    const known = { ...newStreamFacts(), firstTokenAt: 1, model: "m" }
    const text = `{"a":0${`,"usage"${" ".repeat(1000)}`.repeat(1000)}}`
    const began = process.threadCpuUsage().user
    assert.isTrue(eventReaders.completions.idle(undefined, text, known))
    // A megabyte: were it quadratic, it would take seconds.
    assert.isBelow(process.threadCpuUsage().user - began, 1_000_000)
  })

  it.prop(
    "no bytes make an observer throw",
    { noise: Arbitrary.array(Arbitrary.schema(Schema.Json), { maxLength: 5 }), name: Schema.UndefinedOr(type) },
    ({ noise, name }) => {
      for (const format of Object.keys(eventReaders) as ReadonlyArray<StreamFormat>) {
        const observer = new StreamObserver(new StreamReader(format), "sse")
        for (const json of noise) {
          observer.push(Buffer.from(encodeSse({ event: name, data: JSON.stringify(json) })), 1)
          observer.push(
            Buffer.from(
              encodeSse({
                event: name,
                data: JSON.stringify({ choices: json, delta: json, message: json, response: json })
              })
            ),
            1
          )
        }
        observer.end(2)
      }
    }
  )
})

describe("merging usage", () => {
  const count = Schema.UndefinedOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })))
  const usage = Schema.Struct({
    input: count,
    output: count,
    total: count,
    cacheRead: count,
    cacheWrite: count,
    reasoning: count,
    inputText: count,
    inputImage: count,
    inputAudio: count,
    outputText: count,
    outputImage: count,
    outputAudio: count,
    cacheInInput: Schema.Boolean,
    serviceTier: Schema.UndefinedOr(Schema.String)
  })
  it.prop(
    "is associative, and repeating the last piece changes nothing",
    { a: usage, b: usage, c: usage },
    ({ a, b, c }) => {
      const m = (x: Usage, y: Usage) => mergeUsage(x, y)
      assert.deepStrictEqual(m(m(a, b), c), m(a, m(b, c)))
      assert.deepStrictEqual(m(m(a, b), b), m(a, b))
      assert.deepStrictEqual(mergeUsage(undefined, a), a)
    }
  )
})

describe("asking for usage", () => {
  it("a stream without options gets the option, everything else stays the same object", () => {
    assert.deepStrictEqual(requestUsageChunk({ stream: true }), {
      stream: true,
      stream_options: { include_usage: true }
    })
    for (const body of [
      {},
      { stream: false },
      { stream: "true" },
      { stream: true, stream_options: { include_usage: false } },
      { stream: true, stream_options: {} }
    ])
      assert.strictEqual<unknown>(requestUsageChunk(body), body)
  })
})
