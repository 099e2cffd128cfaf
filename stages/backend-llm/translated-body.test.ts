import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import { TranslatedBody } from "./translated-body.ts"

/** A stream whose events are put in brackets, and what reaches the client of it. */
const translated = (end = () => [{ data: "done" }]) => {
  let sink!: BodySink
  const provider = { resumed: 0, cancelled: 0 }
  const source: BodySource = {
    start: (to) => {
      sink = to
    },
    resume: () => {
      provider.resumed++
    },
    cancel: () => {
      provider.cancelled++
    }
  }
  const events: Array<string> = []
  const client: BodySink = {
    data: (chunk) => {
      events.push(Buffer.from(chunk).toString().trim())
      return true
    },
    end: () => events.push("end"),
    fail: ({ detail }) => events.push(`fail: ${detail}`)
  }
  const translation = {
    push: (event: object) => [{ data: `[${"data" in event ? event.data : ""}]` }],
    end,
    abort: () => [{ data: "broken" }],
    usage: undefined,
    error: undefined
  }
  const reader = new StreamReader("completions")
  const body = new TranslatedBody(source, translation, "sse", reader, () => 0)
  body.start(client)
  return {
    body,
    facts: reader.facts,
    events,
    provider,
    push: (text: string) => sink.data(Buffer.from(text)),
    sink: () => sink
  }
}

describe("a translated stream", () => {
  it("is handed on event by event, and ends once", () => {
    const { events, push, sink } = translated()
    assert.isTrue(push("data: a\n"))
    assert.deepStrictEqual(events, [])
    assert.isTrue(push("\ndata: b\n\n"))
    sink().end()
    sink().end()
    assert.isFalse(push("data: c\n\n"))
    sink().fail(new BodyAborted({ source: "backend", detail: "late" }))
    assert.deepStrictEqual(events, ["data: [a]\n\ndata: [b]", "data: done", "end"])
  })

  it("that breaks off says so in the client's terms, and then that it is not whole", () => {
    const { events, push, sink } = translated()
    push("data: a\n\n")
    sink().fail(new BodyAborted({ source: "backend", detail: "reset" }))
    sink().fail(new BodyAborted({ source: "backend", detail: "reset" }))
    sink().end()
    assert.deepStrictEqual(events, ["data: [a]", "data: broken", "fail: reset"])
  })

  it("whose translation throws at its end can still be broken off", () => {
    const { events, sink } = translated(() => {
      throw new Error("at the end")
    })
    assert.throws(() => sink().end(), "at the end")
    sink().fail(new BodyAborted({ source: "backend", detail: "its reader failed" }))
    assert.deepStrictEqual(events, ["data: broken", "fail: its reader failed"])
  })

  it("tells its usage while it is translated, and the client nothing of an event that was not over", () => {
    for (const stop of ["fail", "cancel"] as const) {
      const { body, facts, events, push, sink } = translated()
      push('data: {"choices":[]}\n\ndata: {"usage":{"prompt_tokens":3,"completion_tokens":5}}\n')
      if (stop === "fail") sink().fail(new BodyAborted({ source: "backend", detail: "reset" }))
      else body.cancel()
      assert.strictEqual(facts.events, 2)
      assert.strictEqual(facts.usage?.output, 5)
      assert.deepStrictEqual(events, [
        'data: [{"choices":[]}]',
        ...(stop === "fail" ? ["data: broken", "fail: reset"] : [])
      ])
    }
  })

  it("whose events have no end is given up", () => {
    const { events, push, provider } = translated()
    assert.isFalse(push(`data: ${"x".repeat(40 << 20)}`))
    assert.strictEqual(provider.cancelled, 1)
    assert.strictEqual(events[0], "data: broken")
    assert.match(events[1] ?? "", /^fail: /)
    assert.isFalse(push("data: a\n\n"))
    assert.strictEqual(events.length, 2)
  })
})
