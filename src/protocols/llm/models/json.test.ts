import { Buffer } from "node:buffer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { isObject, mapSame, member, parseJson, withMember, withoutMembers } from "../formats/json.ts"
import { isUnambiguous, memberSpans, setMember, setModel } from "./json-members.ts"

describe("open JSON objects", () => {
  it("inherited names are no members, and a hostile name stays a plain member", () => {
    assert.isUndefined(member({}, "constructor"))
    assert.isUndefined(member([], "length"))
    const polluted = withMember({}, "__proto__", { admin: true })
    assert.deepStrictEqual(Object.keys(polluted), ["__proto__"])
    assert.isUndefined((polluted as { admin?: unknown }).admin)
  })

  it("what does not change stays the same object", () => {
    const object = { a: 1 }
    assert.strictEqual<unknown>(withoutMembers(object, "b"), object)
    assert.deepStrictEqual(withoutMembers(object, "a"), {})
    const list = [1, 2, 3]
    assert.strictEqual(
      mapSame(list, (n) => n),
      list
    )
    assert.deepStrictEqual(
      mapSame(list, (n) => (n === 2 ? 9 : n)),
      [1, 9, 3]
    )
  })

  it("no text is JSON by accident", () => {
    assert.isUndefined(parseJson("{"))
    assert.isNull(parseJson("null"))
  })
})

/** JSON text with every freedom the grammar gives: blanks, escapes in keys, repeated keys, nesting. */
const blank = Arbitrary.schema(Schema.Literals(["", " ", "\n\t", "\r\n "]))
const key = Arbitrary.schema(Schema.Literals(["model", "mod\\u0065l", "Model", "m\\\\", "", 'a\\"b', "model\\\\"]))
const value = Arbitrary.schema(
  Schema.Literals([
    '"gpt-x"',
    '"\\\\"',
    '"a\\"model\\":1"',
    "1.50",
    "-0",
    "1e5",
    "true",
    "null",
    "[]",
    "{}",
    '[1, {"model": "in"}, "]"]',
    '{"model":{"model":"}"}}',
    '"é€"'
  ])
)
const parts = Arbitrary.array(Arbitrary.all({ key, value, a: blank, b: blank }), { maxLength: 5 })
const textOf = (members: ReadonlyArray<{ key: string; value: string; a: string; b: string }>) =>
  `{${members.map(({ key, value, a, b }) => `${a}"${key}"${b}:${a}${value}${b}`).join(",")} }`

describe("changing one member of a JSON text", () => {
  it.prop(
    "equals changing the parsed object, and every other byte stays",
    { parts, blank },
    ({ parts, blank }) => {
      const text = blank + textOf(parts) + blank
      const json = Buffer.from(text)
      const changed = setMember(json, "model", '"new"')!
      const before = JSON.parse(text) as Record<string, unknown>
      assert.deepStrictEqual(JSON.parse(changed.toString()), { ...before, model: "new" })
      const spans = memberSpans(json, "model")!
      assert.strictEqual(spans.length, parts.filter(({ key }) => JSON.parse(`"${key}"`) === "model").length)
      // Taking the written values out of both leaves the same text.
      if (spans.length > 0) {
        let rebuilt = changed.toString()
        for (const { start, end } of spans) rebuilt = rebuilt.replace('"new"', () => json.toString("utf8", start, end))
        assert.strictEqual(rebuilt, text)
      }
    },
    { arbitrary: { runs: 300 } }
  )

  it.prop(
    "the model that is there already changes no byte; a repeated key is written over",
    { parts },
    ({ parts }) => {
      const text = textOf(parts)
      const json = Buffer.from(text)
      const spans = memberSpans(json, "model")!
      const same = setModel(json, "gpt-x")!
      if (
        spans.length === 1 &&
        text.slice(0).includes('"gpt-x"') &&
        json.toString("utf8", spans[0]!.start, spans[0]!.end) === '"gpt-x"'
      )
        assert.strictEqual(same, json)
      else assert.notStrictEqual(same, json)
      for (const { start, end } of memberSpans(same, "model")!)
        assert.strictEqual(same.toString("utf8", start, end), '"gpt-x"')
    },
    { arbitrary: { runs: 200 } }
  )

  it.prop(
    "no bytes make it throw, and a result is only given for an object",
    {
      noise: Arbitrary.array(
        Arbitrary.schema(Schema.Literals(["{", "}", "[", "]", '"', "\\", ":", ",", " ", "model", "1", '"model":'])),
        { maxLength: 14 }
      )
    },
    ({ noise }) => {
      const text = noise.join("")
      const changed = setModel(Buffer.from(text), "m")
      const parsed = parseJson(text)
      if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) assert.isDefined(changed)
      if (!text.trimStart().startsWith("{")) assert.isUndefined(changed)
    },
    { arbitrary: { runs: 500 } }
  )

  it("keeps the spelling of everything else", () => {
    const json = Buffer.from('{ "temperature": 1.0, "model" : "a" ,"big":12345678901234567890 }')
    assert.strictEqual(
      setModel(json, "b")!.toString(),
      '{ "temperature": 1.0, "model" : "b" ,"big":12345678901234567890 }'
    )
    assert.strictEqual(setModel(Buffer.from("{}"), "b")!.toString(), '{"model":"b"}')
    assert.strictEqual(setModel(Buffer.from('{"a":1}'), "b")!.toString(), '{"model":"b","a":1}')
    assert.strictEqual(
      setModel(Buffer.from('{"model":"a","x":0,"model":"b"}'), "b")!.toString(),
      '{"model":"b","x":0,"model":"b"}'
    )
  })
})

describe("a text in which everybody finds the same", () => {
  const verdictOf = (bytes: Buffer) => {
    const read = parseJson(bytes.toString("utf8"))
    return isUnambiguous(bytes, isObject(read) ? read : {})
  }

  it.each(["{}", '{"a":1}', '{"a":1,"A":2,"":3}', '{"__proto__":1,"a":{"a":1,"a":2}}', '{"1":0,"01":0}'])(
    "is %s",
    (text) => assert.isTrue(verdictOf(Buffer.from(text)))
  )

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"__proto__":1,"__proto__":2}',
    '{"\\u0061":1}',
    '{"a":1,"\\u0061":1}',
    "[]"
  ])("is not %s", (text) => assert.isFalse(verdictOf(Buffer.from(text))))

  it("is not one whose keys are the same where bytes that are no text are replaced", () => {
    assert.isFalse(verdictOf(Buffer.from('{"\u00ff":1,"\u00fe":2}', "latin1")))
  })
})
