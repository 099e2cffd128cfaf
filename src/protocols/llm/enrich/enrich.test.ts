import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { JsonObject } from "../formats/json.ts"
import { applyComputed, applyMutations } from "./mutations.ts"
import { compilePrompts, type Prompts } from "./prompts.ts"

const prompts: Prompts = {
  prepend: [
    { role: "SYSTEM", content: "before" },
    { role: "USER", content: "first" }
  ],
  append: [
    { role: "system", content: "after" },
    { role: "assistant", content: "last" }
  ]
}

describe("prompt enrichment", () => {
  it.each([
    [
      "completions",
      { model: "m", messages: [{ role: "user", content: "hi" }] },
      {
        model: "m",
        messages: [
          { role: "system", content: "before" },
          { role: "user", content: "first" },
          { role: "user", content: "hi" },
          { role: "system", content: "after" },
          { role: "assistant", content: "last" }
        ]
      }
    ],
    [
      "messages",
      { system: "own", messages: [{ role: "user", content: "hi" }] },
      {
        system: [
          { type: "text", text: "before" },
          { type: "text", text: "own" },
          { type: "text", text: "after" }
        ],
        messages: [
          { role: "user", content: "first" },
          { role: "user", content: "hi" },
          { role: "assistant", content: "last" }
        ]
      }
    ],
    [
      "messages",
      { system: [{ type: "text", text: "own", cache_control: {} }], messages: [] },
      {
        system: [
          { type: "text", text: "before" },
          { type: "text", text: "own", cache_control: {} },
          { type: "text", text: "after" }
        ],
        messages: [
          { role: "user", content: "first" },
          { role: "assistant", content: "last" }
        ]
      }
    ],
    [
      "responses",
      { input: "hi" },
      {
        input: [
          { type: "message", role: "system", content: "before" },
          { type: "message", role: "user", content: "first" },
          { type: "message", role: "user", content: "hi" },
          { type: "message", role: "system", content: "after" },
          { type: "message", role: "assistant", content: "last" }
        ]
      }
    ],
    [
      "generateContent",
      {
        systemInstruction: { role: "x", parts: [{ text: "own" }] },
        contents: [{ role: "user", parts: [{ text: "hi" }] }]
      },
      {
        systemInstruction: { role: "x", parts: [{ text: "before" }, { text: "own" }, { text: "after" }] },
        contents: [
          { role: "user", parts: [{ text: "first" }] },
          { role: "user", parts: [{ text: "hi" }] },
          { role: "model", parts: [{ text: "last" }] }
        ]
      }
    ],
    [
      "generateContent",
      { system_instruction: { parts: [] }, contents: [] },
      {
        system_instruction: { parts: [{ text: "before" }, { text: "after" }] },
        contents: [
          { role: "user", parts: [{ text: "first" }] },
          { role: "model", parts: [{ text: "last" }] }
        ]
      }
    ]
  ])("%s", (format, body, expected) => {
    assert.deepStrictEqual<unknown>(compilePrompts(prompts, format)(body), expected)
  })

  it("formats without a conversation, and no prompts, leave the body alone", () => {
    const body = { input: "x" }
    for (const format of ["embeddings", "rerank", "detect", "constructor"])
      assert.strictEqual<unknown>(compilePrompts(prompts, format)(body), body)
    assert.strictEqual<unknown>(compilePrompts({ prepend: [], append: [] }, "completions")(body), body)
  })

  it.prop(
    "whatever the body is, the client's own entries keep their order between the prompts",
    { body: Schema.JsonObject, list: Schema.Array(Schema.Json) },
    ({ body, list }) => {
      for (const [format, key] of [
        ["completions", "messages"],
        ["messages", "messages"],
        ["responses", "input"],
        ["generateContent", "contents"]
      ] as const) {
        compilePrompts(prompts, format)(body)
        const changed = compilePrompts(prompts, format)({ ...body, [key]: list })[key] as ReadonlyArray<unknown>
        const before = changed.length - list.length - (format === "completions" || format === "responses" ? 2 : 1)
        assert.deepStrictEqual<unknown>(changed.slice(before, before + list.length), list)
      }
    }
  )
})

describe("mutations", () => {
  const map = (object: object) => new Map(Object.entries(object))
  it("overrides, then computed values, then defaults for what is missing", () => {
    const body = { keep: 1, override: 1, computed: 1, removed: 1 }
    assert.deepStrictEqual<unknown>(
      applyMutations(body, {
        overrides: map({ override: 2, computed: 2 }),
        computed: [
          ["computed", 3],
          ["removed", undefined],
          ["created", 4]
        ],
        defaults: map({ keep: 9, removed: 9, fresh: 9 })
      }),
      { keep: 1, override: 2, computed: 3, created: 4, removed: 9, fresh: 9 }
    )
  })

  it("a null is a value, a hostile field name is only a name", () => {
    assert.deepStrictEqual<unknown>(
      applyMutations({ a: null }, { overrides: map({}), computed: [], defaults: map({ a: 1 }) }),
      { a: null }
    )
    const body = applyComputed({}, [["__proto__", { x: 1 }]])
    assert.deepStrictEqual(Object.keys(body), ["__proto__"])
    assert.strictEqual(Object.getPrototypeOf(body), Object.prototype)
  })

  const fields = Schema.Literals(["a", "b", "c", "__proto__"])
  const values = Schema.Array(Schema.Tuple([fields, Schema.UndefinedOr(Schema.Int)]))
  it.prop(
    "applying the same mutations again changes nothing, and an empty set gives the same object",
    {
      body: Schema.Record(fields, Schema.Int),
      computed: values,
      overrides: Schema.Array(Schema.Tuple([fields, Schema.Int])),
      defaults: Schema.Array(Schema.Tuple([fields, Schema.Int]))
    },
    ({ body, computed, overrides, defaults }) => {
      const last = [...new Map(computed)].filter(([, value]) => value !== undefined)
      const mutations = { computed: last, overrides: new Map(overrides), defaults: new Map(defaults) }
      const once = applyMutations(body, mutations)
      assert.deepStrictEqual(applyMutations(once, mutations), once)
      assert.strictEqual<JsonObject>(
        applyMutations(body, { computed: [], overrides: new Map(), defaults: new Map() }),
        body
      )
      for (const [field, value] of last) assert.strictEqual(once[field], value)
      for (const field of Object.keys(body))
        if (!last.some(([f]) => f === field) && !overrides.some(([f]) => f === field))
          assert.strictEqual(once[field], body[field as "a"])
    },
    { arbitrary: { runs: 300 } }
  )
})
