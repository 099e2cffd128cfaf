import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { parse } from "yaml"
import type { JsonObject } from "../formats/json.ts"
import { type ContentScope, contentScopes, defaultScopes } from "./assignment.ts"
import { choicesOf, withChoices } from "./choices.ts"
import { conversationOf, shownConversation, withConversation, withShown } from "./conversation.ts"
import { applyRegexGuard } from "./evaluate.ts"
import { defaultRejection } from "./outcome.ts"
import { compileRegexGuard, type RegexRule } from "./regex-guard.ts"
import type { Rewrite } from "./text-walk.ts"
import { type GuardedFormat, guardedFormats, rewriteRequest, rewriteTexts, TextUnreadable } from "./texts.ts"

const data = <A>(file: string): ReadonlyArray<A> => parse(readFileSync(join(import.meta.dirname, file), "utf8"))
const everything = new Set(contentScopes)
const rewriteResponse = (format: GuardedFormat, body: JsonObject, rewrite: Rewrite) =>
  rewriteTexts(format, "answer", body, everything, rewrite)
const letter: Readonly<Record<ContentScope, string>> = {
  systemPrompt: "S",
  messages: "M",
  toolOutput: "O",
  toolInput: "I"
}
const guard = (...rules: ReadonlyArray<RegexRule>) => Result.getOrThrow(compileRegexGuard(rules))

interface Scoped {
  readonly format: GuardedFormat
  readonly body: JsonObject
  readonly seen: ReadonlyArray<string>
}
const scoped = data<Scoped>("scopes.yaml")

describe("what a guard sees", () => {
  for (const { format, body, seen } of scoped)
    it(`${format}: ${seen[0]}`, () => {
      const shown: Array<string> = []
      const same = rewriteRequest(format, body, everything, (text, scope) => {
        assert.strictEqual(text[0], letter[scope], text)
        shown.push(text)
        return text
      })
      assert.deepStrictEqual(shown, seen)
      assert.strictEqual(same, body)
      // Each scope alone shows its part of the list.
      for (const scope of contentScopes) {
        const part: Array<string> = []
        rewriteRequest(format, body, new Set([scope]), (text) => {
          part.push(text)
          return text
        })
        assert.deepStrictEqual(
          part,
          seen.filter((text) => text[0] === letter[scope])
        )
      }
    })

  it("a change lands in its slot, a changed run in its last part, everything else is the same object", () => {
    for (const { format, body } of scoped) {
      const before = JSON.stringify(body)
      const changed = rewriteRequest(format, body, everything, (text) =>
        text.startsWith("M") ? text.toLowerCase() : text
      )
      assert.strictEqual(JSON.stringify(body), before)
      if (changed instanceof TextUnreadable) return assert.fail()
      // Undoing the change in the text gives the old body back, but for the parts that collapsed.
      const again = JSON.stringify(changed)
      for (const hidden of before.match(/NOT|[SOI]\d/g) ?? []) assert.include(again, hidden)
    }
    const parts = {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "12" },
            { type: "text", text: "34", x: 1 },
            { type: "text", text: "5" }
          ]
        },
        { role: "user", content: "k" }
      ]
    }
    const out = rewriteRequest("completions", parts, everything, (text) => text.replace("12 34", "<masked>"))
    assert.deepStrictEqual<unknown>(out, {
      messages: [
        { role: "user", content: [{ type: "text", text: "<masked> 5" }] },
        { role: "user", content: "k" }
      ]
    })
    assert.strictEqual((out as typeof parts).messages[1], parts.messages[1])
  })

  it("changed output text of responses loses its annotations and log probabilities", () => {
    const part = { type: "output_text", text: "a@b.cd", annotations: [{ x: 1 }], logprobs: [1] }
    const body = {
      output: [{ type: "message", content: [part, { type: "output_text", text: "plain", annotations: [1] }] }]
    }
    const masked = rewriteResponse("responses", body, (text) => guard({ builtin: "email" }).mask(text)!)
    assert.deepStrictEqual<unknown>(masked, {
      output: [
        {
          type: "message",
          content: [
            { type: "output_text", text: "<EMAIL_ADDRESS>", annotations: [], logprobs: [] },
            { type: "output_text", text: "plain", annotations: [1] }
          ]
        }
      ]
    })
  })

  it("tool traffic nested beyond reach fails the guard instead of passing it", () => {
    let input: unknown = "123-45-6789"
    for (let i = 0; i < 5000; i++) input = { a: input }
    const body = { messages: [{ role: "assistant", content: [{ type: "tool_use", input }] }] }
    assert.instanceOf(
      rewriteRequest("messages", body, everything, (text) => text),
      TextUnreadable
    )
    assert.deepStrictEqual(
      applyRegexGuard(guard({ builtin: "ssn" }), "mask", defaultRejection, "messages", "request", body, everything),
      { type: "failed", fatal: false }
    )
    // Out of scope it is nobody's business.
    assert.strictEqual<unknown>(
      rewriteRequest("messages", body, defaultScopes, (text) => text),
      body
    )
  })

  it("nesting is no way to break a guard, whatever nests in whatever", () => {
    const nest = (depth: number, wrap: (inner: unknown) => unknown) => {
      let value: unknown = "x"
      for (let i = 0; i < depth; i++) value = wrap(value)
      return value
    }
    const wraps: ReadonlyArray<(inner: unknown) => unknown> = [
      (inner) => [inner],
      (content) => ({ type: "document", source: { type: "content", content: [content] } }),
      (content) => ({ type: "search_result", content: [content] }),
      (content) => ({ type: "tool_result", content: [content] }),
      (args) => ({ functionCall: { args } })
    ]
    for (const wrap of wraps) {
      const item = nest(20_000, wrap)
      const hostile = {
        messages: [{ role: "user", content: [item] }, item],
        input: [
          { role: "user", content: [item] },
          { type: "mcp_call", output: item }
        ],
        contents: [{ parts: [item] }]
      }
      for (const format of guardedFormats) {
        rewriteRequest(format, hostile, everything, (text) => text)
        withConversation(format, hostile, conversationOf(format, hostile))
      }
    }
  })

  // Bodies put together from the members that matter, with any JSON in them.
  const hostile = Arbitrary.map(
    Arbitrary.all({
      json: Arbitrary.schema(Schema.Json),
      text: Arbitrary.schema(Schema.String),
      type: Arbitrary.schema(
        Schema.Literals([
          "text",
          "tool_result",
          "tool_use",
          "function_call",
          "document",
          "message",
          "output_text",
          "base64"
        ])
      )
    }),
    ({ json, text, type }) => {
      const part = {
        type,
        text,
        content: json,
        input: json,
        source: json,
        arguments: json,
        output: json,
        functionCall: { args: json }
      }
      const item = {
        role: text,
        type,
        content: [part, json, part],
        parts: [part, { text }, json],
        tool_calls: json,
        output: json,
        message: { content: json }
      }
      return {
        messages: [item, json],
        system: json,
        input: [item, json],
        instructions: json,
        contents: [item, json],
        systemInstruction: item,
        choices: [item],
        candidates: [{ content: item }],
        content: [part],
        output: [item]
      }
    }
  )
  it.prop(
    "no body makes a walk throw, and one that changes nothing gives back the same object",
    { hostile },
    ({ hostile }) => {
      for (const format of guardedFormats) {
        assert.strictEqual<unknown>(
          rewriteRequest(format, hostile, everything, (text) => text),
          hostile
        )
        assert.strictEqual<unknown>(
          rewriteResponse(format, hostile, (text) => text),
          hostile
        )
        rewriteRequest(format, hostile, everything, () => "x")
        rewriteResponse(format, hostile, () => "x")
        const messages = conversationOf(format, hostile)
        assert.strictEqual<unknown>(withConversation(format, hostile, messages), hostile)
        withConversation(format, hostile, [...messages, { role: "user", content: "x" }])
        assert.strictEqual<unknown>(withChoices(format, hostile, choicesOf(format, hostile)), hostile)
      }
    }
  )

  it.prop(
    "after masking nothing of the pattern is left in scope, and what is out of scope is untouched",
    { hostile },
    ({ hostile }) => {
      for (const format of guardedFormats) {
        const digit = guard({ pattern: "[a-z]" })
        const finding = applyRegexGuard(
          digit,
          "mask",
          defaultRejection,
          format,
          "request",
          hostile,
          new Set(["messages"])
        )
        if (finding.type !== "mask") continue
        rewriteRequest(format, finding.body, new Set(["messages"]), (text) => {
          assert.notMatch(text.replaceAll("<masked>", ""), /[a-z]/)
          return text
        })
        const others = (body: JsonObject) => {
          const texts: Array<string> = []
          rewriteRequest(format, body, new Set(["systemPrompt", "toolInput", "toolOutput"]), (text) => {
            texts.push(text)
            return text
          })
          return texts
        }
        assert.deepStrictEqual(others(finding.body), others(hostile))
      }
    }
  )
})

describe("the time of a change", () => {
  const quickly = (change: () => unknown) => {
    const started = process.cpuUsage()
    assert.isDefined(change())
    assert.isBelow(process.cpuUsage(started).user, 4_000_000)
  }
  const members = (value: string) => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, value]))

  it("does not grow faster than the members of an object that are masked, nor than the strings of the rest", () => {
    const masks = (odd: JsonObject) => {
      const ssn = guard({ builtin: "ssn" })
      const body = { messages: [], odd }
      const finding = applyRegexGuard(ssn, "mask", defaultRejection, "completions", "request", body, everything)
      return finding.type === "mask" ? finding.body["odd"] : undefined
    }
    quickly(() => {
      const masked = masks(members("123-45-6789"))
      assert.deepStrictEqual(masked, members("<SSN>"))
      return masked
    })
    const lines = { messages: [], odd: Array.from({ length: 500_000 }, () => "a") }
    quickly(() => withShown("completions", lines, [{ role: "user", content: lines.odd.map(() => "b").join("\n") }]))
  })
})

describe("conversations", () => {
  it("a list of another shape replaces the conversation alone, not what was shown beside it", () => {
    const body = {
      tools: [{ type: "function", function: { name: "f", description: "finds" } }],
      stop: ["END"],
      messages: [{ role: "user", content: "hi" }]
    }
    const shown = shownConversation("completions", body)
    if (shown instanceof TextUnreadable) return assert.fail(shown.message)
    assert.lengthOf(shown, 3)
    assert.deepStrictEqual<unknown>(withShown("completions", body, [...shown, { role: "user", content: "more" }]), {
      ...body,
      messages: [...body.messages, { role: "user", content: "more" }]
    })
  })

  interface Golden {
    readonly name: string
    readonly format: GuardedFormat
    readonly body: JsonObject
    readonly shown: ReadonlyArray<readonly [string, string]>
    readonly masked: JsonObject
    readonly replaced: JsonObject
  }
  for (const { name, format, body, shown, masked, replaced } of data<Golden>("conversations.yaml"))
    it(name, () => {
      const messages = conversationOf(format, body)
      assert.deepStrictEqual<unknown>(
        messages.map(({ role, content }) => [role, content]),
        shown
      )
      assert.strictEqual(withConversation(format, body, messages), body)
      const stars = messages.map(({ role, content }) => ({ role, content: `${content}*` }))
      assert.deepStrictEqual(withConversation(format, body, stars), masked)
      const other = [
        { role: "system", content: "rules" },
        { role: "tool", content: "tool text" },
        { role: "assistant", content: "yes" }
      ]
      assert.deepStrictEqual(withConversation(format, body, other), replaced)
    })

  for (const { format, body, texts, masked } of data<{
    format: GuardedFormat
    body: JsonObject
    texts: ReadonlyArray<string>
    masked: JsonObject
  }>("answers.yaml"))
    it(`choices of ${format}`, () => {
      assert.deepStrictEqual(choicesOf(format, body), texts)
      assert.strictEqual(withChoices(format, body, texts), body)
      assert.deepStrictEqual(
        withChoices(
          format,
          body,
          texts.map((text) => (text === "" ? "" : `${text}*`))
        ),
        masked
      )
      assert.isUndefined(withChoices(format, body, [...texts, "more"]))
    })
})
