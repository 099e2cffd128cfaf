import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { SseDecoder } from "../sse/decoder.ts"
import { encodeSse, sseDone } from "../sse/encoder.ts"
import { StreamTexts } from "./stream-text.ts"
import { type GuardedFormat, guardedFormats } from "./texts.ts"
import { blockedEvent, GuardWindow } from "./window.ts"

const event: Readonly<Record<GuardedFormat, (text: string) => unknown>> = {
  completions: (content) => ({ choices: [{ delta: { content } }] }),
  messages: (text) => ({ type: "content_block_delta", delta: { type: "text_delta", text } }),
  responses: (delta) => ({ type: "response.output_text.delta", delta }),
  generateContent: (text) => ({ candidates: [{ content: { parts: [{ text: "", thought: true }, { text }] } }] })
}
/** The visible text; thoughts are texts of their own. */
const textIn = (format: GuardedFormat, data: string) =>
  (new StreamTexts(format).read(undefined, data) ?? [])
    .filter(({ channel }) => !channel.includes("#signed"))
    .map(({ text }) => text)
    .join("")
const bytes = (format: GuardedFormat, texts: ReadonlyArray<string>) =>
  Buffer.from(texts.map((text) => encodeSse({ data: JSON.stringify(event[format](text)) })).join("") + sseDone)

/** A window behind a decoder, as it stands in a gateway. */
const guarding = (format: GuardedFormat, limit = 1 << 20) => {
  const window = new GuardWindow(format, limit)
  const decoder = new SseDecoder(({ event, data }) => window.hear(event, data))
  return {
    push: (chunk: Uint8Array) => {
      assert.isUndefined(decoder.push(chunk))
      return window.push(chunk, decoder.eventBoundary)
    },
    end: () => {
      assert.isUndefined(decoder.end())
      return window.end()
    },
    pass: () => window.pass(),
    next: () => window.next()
  }
}

/** Runs a whole stream; `blocks` judges. Judgements are given at once. */
const run = (
  format: GuardedFormat,
  chunks: ReadonlyArray<Uint8Array>,
  blocks: (text: string) => boolean,
  limit = 1 << 20
) => {
  const window = guarding(format, limit)
  const sent: Array<Buffer> = []
  const judged: Array<string> = []
  for (const step of [...chunks.map((chunk) => () => window.push(chunk)), () => window.end()])
    for (let due = step(); due.type !== "hold"; due = window.next()) {
      if (due.type === "release") sent.push(...due.chunks)
      else if (due.type === "unreadable") return { sent: Buffer.concat(sent), judged, blocked: true }
      else {
        judged.push(due.text)
        if (blocks(due.text)) return { sent: Buffer.concat(sent), judged, blocked: true }
        sent.push(...window.pass())
      }
    }
  return { sent: Buffer.concat(sent), judged, blocked: false }
}
const cut = (whole: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  let at = 0
  const chunks = sizes.map((size) => {
    at += size
    return whole.subarray(at - size, at)
  })
  return [...chunks, whole.subarray(Math.min(at, whole.length))]
}

const n = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
const words = Arbitrary.array(
  Arbitrary.map(
    Arbitrary.all({ word: Arbitrary.schema(Schema.Literals(["a", "é", "😀", "word ", "\n", ""])), times: n(150) }),
    ({ word, times }) => word.repeat(times)
  ),
  { maxLength: 20 }
)
const sizes = Arbitrary.array(n(900), { maxLength: 30 })
const format = Arbitrary.schema(Schema.Literals(guardedFormats))

describe("guarding a stream", () => {
  it.prop(
    "what passes goes out byte for byte, and every text was judged before it went",
    { format, words, sizes },
    ({ format, words, sizes }) => {
      const whole = bytes(format, words)
      let judgedText = ""
      const { sent, judged } = run(format, cut(whole, sizes), (text) => {
        judgedText += text
        return false
      })
      assert.isTrue(sent.equals(whole))
      const text = words.join("")
      // Windows overlap by at most 256 bytes and leave nothing out.
      for (const part of judged) assert.include(text, part)
      assert.isAtLeast(Buffer.byteLength(judgedText), Buffer.byteLength(text))
      for (const part of judged.slice(0, -1)) assert.isAtLeast(Buffer.byteLength(part), 1024)
    },
    { arbitrary: { runs: 150 } }
  )

  it.prop(
    "a blocked text never goes out as a whole, wherever the stream is cut",
    { format, before: words, sizes },
    ({ format, before, sizes }) => {
      const secret = "S3CRET-TOKEN"
      const whole = bytes(format, [...before, secret.slice(0, 5), secret.slice(5), ...before])
      const { sent, blocked } = run(format, cut(whole, sizes), (text) => text.includes(secret))
      assert.isTrue(blocked)
      assert.isTrue(whole.subarray(0, sent.length).equals(sent))
      // Its first half may have been judged, and sent, on its own; the whole never is.
      let text = ""
      const decoder = new SseDecoder(({ data }) => {
        text += textIn(format, data)
      })
      decoder.push(sent)
      assert.notInclude(text, secret)
    },
    { arbitrary: { runs: 150 } }
  )

  it("what spans two windows is seen, and only 256 bytes are judged twice, whole characters", () => {
    const { judged } = run("completions", [bytes("completions", ["€".repeat(400), "€".repeat(400)])], () => false)
    assert.deepStrictEqual(
      judged.map((text) => text.length),
      [800]
    )
    const apart = ["€".repeat(400), "x".repeat(1100)].map((text) =>
      Buffer.from(encodeSse({ data: JSON.stringify(event.completions(text)) }))
    )
    assert.deepStrictEqual(
      run("completions", apart, () => false).judged.map((text) => Buffer.byteLength(text)),
      [1200, 255 + 1100]
    )
  })

  const secret = "S3CRET-TOKEN"
  const several: Readonly<Record<"completions" | "generateContent", (texts: ReadonlyArray<string>) => unknown>> = {
    completions: (texts) => ({ choices: texts.map((content, index) => ({ index, delta: { content } })) }),
    generateContent: (texts) => ({
      candidates: texts.map((text, index) => ({ index, content: { parts: [{ text }] } }))
    })
  }
  for (const [format, of] of Object.entries(several) as ReadonlyArray<["completions", typeof several.completions]>) {
    const sse = (json: unknown) => Buffer.from(encodeSse({ data: JSON.stringify(json) }))
    it(`choices of ${format} that come together are judged apart, all of them`, () => {
      const stream = [...secret].map((letter, i) => sse(of([String(i), letter])))
      assert.isTrue(run(format, stream, (text) => text.includes(secret)).blocked)
    })
    it(`what spans two windows of one choice of ${format} is seen`, () => {
      const long = "x".repeat(2000)
      const stream = [sse(of([long, "S3CRET"])), sse(of([long, "-TOKEN"]))]
      assert.isTrue(run(format, stream, (text) => text.includes(secret)).blocked)
    })
  }
  it("choices that come in events of their own are judged apart", () => {
    const stream = [...secret].flatMap((letter) =>
      [0, 1].map((index) =>
        Buffer.from(
          encodeSse({ data: JSON.stringify({ choices: [{ index, delta: { content: index === 0 ? letter : "-" } }] }) })
        )
      )
    )
    assert.isTrue(run("completions", stream, (text) => text.includes(secret)).blocked)
  })

  it("a full buffer without text is released unjudged, with text it is judged", () => {
    const ping = Buffer.from(": ping\n\n".repeat(20))
    const window = guarding("messages", 64)
    assert.deepStrictEqual(window.push(ping), { type: "release", chunks: [ping] })
    const small = guarding("messages", 100)
    assert.deepStrictEqual(
      small.push(Buffer.from(`${encodeSse({ data: '{"delta":{"text":"hi"}}' })}${": x\n\n".repeat(20)}`)),
      { type: "judge", text: "hi" }
    )
  })

  it("bytes of an event that is still coming stay, whatever was judged before them", () => {
    const window = guarding("completions")
    const event1 = Buffer.from(encodeSse({ data: JSON.stringify(event.completions("a".repeat(1024))) }))
    const coming = Buffer.from('data: {"choices":[{"delta":{"content":"S3C')
    assert.strictEqual(window.push(Buffer.concat([event1, coming])).type, "judge")
    assert.isTrue(Buffer.concat(window.pass()).equals(event1))
  })

  it("bytes that arrive during a judgement wait for the next one", () => {
    const window = guarding("completions")
    const chunk = (text: string) => Buffer.from(encodeSse({ data: JSON.stringify(event.completions(text)) }))
    const [first, second] = [chunk("a".repeat(1024)), chunk("b".repeat(1024))]
    assert.strictEqual(window.push(first).type, "judge")
    assert.strictEqual(window.push(second).type, "hold")
    assert.isTrue(Buffer.concat(window.pass()).equals(first))
    assert.deepStrictEqual(window.next(), { type: "judge", text: `${"a".repeat(256)}${"b".repeat(1024)}` })
    assert.isTrue(Buffer.concat(window.pass()).equals(second))
    assert.deepStrictEqual(window.end(), { type: "hold" })
  })

  it("a blocked stream ends with an event that clients of its format take for an error", () => {
    const error = '{"type":"guardrail_blocked","code":"guardrail_intervention","message":"no"}'
    for (const format of ["completions", "responses"] as const)
      assert.strictEqual(blockedEvent(format, "no"), `data: {"error":${error}}\n\n`)
    assert.strictEqual(blockedEvent("messages", "no"), `event: error\ndata: {"type":"error","error":${error}}\n\n`)
    assert.strictEqual(
      blockedEvent("generateContent", "no"),
      'data: {"error":{"type":"guardrail_blocked","code":403,"message":"no","status":"PERMISSION_DENIED"}}\n\n'
    )
  })

  it.prop("no event makes it throw", { json: Schema.Json, format }, ({ json, format }) => {
    for (const data of [json, { choices: [json, { delta: json }], delta: json, candidates: [json, { content: json }] }])
      assert.isString(textIn(format, JSON.stringify(data)))
    for (const broken of ["{", "7", '"text"', "[DONE", "[]", '{"a":1,"\\u0061":2}'])
      assert.isUndefined(new StreamTexts(format).read(undefined, broken), broken)
  })

  it("what cannot be read is not sent, nor is what was held before it", () => {
    const before = Buffer.from(encodeSse({ data: JSON.stringify(event.completions("fine")) }))
    const window = guarding("completions")
    assert.strictEqual(window.push(before).type, "hold")
    assert.strictEqual(window.push(Buffer.from('data: {"choices":[{"delta":{"content":"S3CRET\n\n')).type, "unreadable")
    assert.strictEqual(window.push(before).type, "unreadable")
  })

  const pieces: Readonly<Record<string, readonly [GuardedFormat, (text: string) => unknown]>> = {
    "arguments of a call": [
      "completions",
      (text) => ({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] })
    ],
    "a refusal": ["completions", (refusal) => ({ choices: [{ delta: { refusal } }] })],
    reasoning: ["completions", (reasoning_content) => ({ choices: [{ delta: { reasoning_content } }] })],
    "a call of Claude": [
      "messages",
      (partial_json) => ({ type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json } })
    ],
    thinking: [
      "messages",
      (thinking) => ({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking } })
    ],
    "arguments in responses": ["responses", (delta) => ({ type: "response.function_call_arguments.delta", delta })],
    "a refusal in responses": ["responses", (delta) => ({ type: "response.refusal.delta", content_index: 0, delta })],
    "a thought of Gemini": [
      "generateContent",
      (text) => ({ candidates: [{ content: { parts: [{ text, thought: true }] } }] })
    ],
    "an error": ["messages", (message) => ({ type: "error", error: { type: "overloaded_error", message } })],
    "an unknown event": ["responses", (said) => ({ type: "response.new", new: { said } })]
  }
  for (const [name, [format, of]] of Object.entries(pieces))
    it(`${name} is read, also in pieces`, () => {
      const secret = "S3CRET-TOKEN"
      const stream = [...secret].map((letter) => Buffer.from(encodeSse({ data: JSON.stringify(of(letter)) })))
      assert.isTrue(run(format, stream, (text) => text.includes(secret)).blocked)
    })

  it("a block that begins with a text goes on with it", () => {
    const begin = { type: "content_block_start", index: 0, content_block: { type: "text", text: "S3CR" } }
    const more = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "ET-TOKEN" } }
    const stream = [begin, more].map((json) => Buffer.from(encodeSse({ data: JSON.stringify(json) })))
    assert.isTrue(run("messages", stream, (text) => text.includes("S3CRET-TOKEN")).blocked)
  })

  it("what a stream says once more at its end is judged once, anything else there is judged", () => {
    const text = "a text that is long enough"
    const ending = (said: string) => [
      { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: text },
      { type: "response.output_text.done", item_id: "i", output_index: 0, content_index: 0, text: said },
      {
        type: "response.completed",
        response: {
          id: "r",
          instructions: "be nice",
          output: [{ type: "message", id: "i", role: "assistant", content: [{ type: "output_text", text: said }] }]
        }
      }
    ]
    const stream = (said: string) => ending(said).map((json) => Buffer.from(encodeSse({ data: JSON.stringify(json) })))
    assert.deepStrictEqual(run("responses", stream(text), () => false).judged, [text])
    assert.isTrue(run("responses", stream("S3CRET-TOKEN"), (judged) => judged.includes("S3CRET-TOKEN")).blocked)
  })

  it("what repeats another text is judged with what stands before and behind it", () => {
    const said = "-TOKEN of somebody else, S3C"
    const pieces: ReadonlyArray<readonly [index: number, text: string]> = [
      [0, said],
      [1, "S3CRET"],
      [1, said],
      [1, "RET-TOKEN"]
    ]
    const stream = (...which: ReadonlyArray<number>) =>
      which.map((i) => {
        const [index, content] = pieces[i]!
        return Buffer.from(encodeSse({ data: JSON.stringify({ choices: [{ index, delta: { content } }] }) }))
      })
    const hasSecret = (text: string) => text.includes(secret)
    assert.isTrue(run("completions", stream(0, 1, 2), hasSecret).blocked)
    assert.isTrue(run("completions", stream(0, 2, 3), hasSecret).blocked)
  })

  it("what arguments escape is judged in clear", () => {
    const escaped = ["\\u0053ECRET/1", "SECRET\\/1", "\\u0053ECRET\\/1", "first:\\nSECRET/1"]
    for (const text of escaped) {
      const stream = [
        Buffer.from(encodeSse({ data: JSON.stringify(pieces["arguments of a call"]![1](`{"a":"${text}"}`)) }))
      ]
      assert.isTrue(run("completions", stream, (judged) => /\bSECRET\/1/.test(judged)).blocked, text)
    }
  })
})
