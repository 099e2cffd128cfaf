import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  arrayText,
  edited,
  filteredObject,
  maxDepth,
  member,
  objectAt,
  objectText,
  oneLine,
  path,
  settingMembers,
  stringIn,
  valueIn
} from "./text.ts"

const parses = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const accepts = (text: string) => (objectText(text) ?? arrayText(text)) !== undefined

/** Valid texts with one character replaced: near misses are where a grammar goes wrong. */
const pieces = Schema.Literals([
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "1",
  "-",
  ".",
  "e",
  "t",
  " ",
  "\n",
  "\u0001",
  ""
])

describe("json text", () => {
  it.prop(
    "accepts what JSON.parse accepts, and nothing else",
    {
      value: Schema.Array(Schema.Json),
      at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })),
      piece: pieces
    },
    ({ value, at, piece }) => {
      const text = JSON.stringify(value)
      assert.isTrue(accepts(text))
      const index = at % text.length
      const mutated = text.slice(0, index) + piece + text.slice(index + 1)
      // Only arrays and objects are messages; everything else is refused whether JSON or not.
      if (/^\s*[[{]/.test(mutated)) assert.strictEqual(accepts(mutated), parses(mutated), mutated)
    },
    { arbitrary: { runs: 500 } }
  )

  it("accepts every form of number, string and literal, and no near miss", () => {
    for (const good of [
      "0",
      "-0",
      "1.5e+10",
      "1E5",
      "12345678901234567890",
      '"\\u00e9\\n\\/"',
      "true",
      "null",
      "{}",
      "[]"
    ])
      assert.isTrue(accepts(`[${good}]`), good)
    for (const bad of [
      "01",
      "1.",
      ".5",
      "+1",
      "1e",
      "tru",
      "nulll",
      "'a'",
      '"\\x"',
      '"\\u12g4"',
      '"a\nb"',
      "{a:1}",
      "[1,]",
      '{"a":1,}',
      "undefined",
      "NaN"
    ])
      assert.isFalse(accepts(`[${bad}]`), bad)
  })

  it("refuses documents deeper than the limit, in linear time", () => {
    assert.isTrue(accepts("[".repeat(maxDepth) + "]".repeat(maxDepth)))
    assert.isFalse(accepts("[".repeat(maxDepth + 2) + "]".repeat(maxDepth + 2)))
    const before = process.cpuUsage()
    assert.isFalse(accepts("[".repeat(2_000_000)))
    assert.isFalse(accepts(`["${"\\\\".repeat(1_000_000)}`))
    assert.isBelow(process.cpuUsage(before).user, 1_000_000)
  })

  it("refuses an object in which a key stands twice, also when it is spelled differently", () => {
    assert.isUndefined(objectText('{"name":1,"name":2}'))
    assert.isUndefined(objectText('{"name":1,"n\\u0061me":2}'))
    const many = Array.from({ length: 40 }, (_, i) => `"k${i}":${i}`).join(",")
    assert.isDefined(objectText(`{${many}}`))
    assert.isUndefined(objectText(`{${many},"k7":0}`))
  })

  it.prop(
    "a member replaced is replaced, and every other byte stays",
    { before: Schema.Json, after: Schema.Json, value: Schema.String, by: Schema.String },
    ({ before, after, value, by }) => {
      const text = `{ "a": ${JSON.stringify(before)}, "it":${JSON.stringify(value)} ,"z":${JSON.stringify(after)}}`
      const members = objectText(text)!
      const it = member(members, "it")!
      assert.strictEqual(stringIn(text, it), value)
      const changed = edited(text, [{ start: it.start, end: it.end, by: JSON.stringify(by) }])
      assert.strictEqual(changed.slice(0, it.start), text.slice(0, it.start))
      assert.strictEqual(changed.slice(it.start + JSON.stringify(by).length), text.slice(it.end))
      assert.deepStrictEqual(JSON.parse(changed), JSON.parse(JSON.stringify({ a: before, it: by, z: after })))
    },
    { arbitrary: { runs: 100 } }
  )

  it("sets members that are there and members that are not, in empty objects too", () => {
    const set = (text: string) =>
      edited(
        text,
        settingMembers(0, objectAt(text, 0)!, [
          ["a", "1"],
          ["b", '"x"']
        ])
      )
    assert.strictEqual(set("{}"), '{"a":1,"b":"x"}')
    assert.strictEqual(set('{"c":0}'), '{"a":1,"b":"x","c":0}')
    assert.strictEqual(set('{"b":0,"a":{}}'), '{"b":"x","a":1}')
  })

  it("removes members and keeps the text of the others", () => {
    const text = '{"a" : 1.0, "b":[ ],"c":"\\u0041"}'
    assert.strictEqual(
      filteredObject(text, objectText(text)!, ({ key }) => key !== "b"),
      '{"a" : 1.0,"c":"\\u0041"}'
    )
    assert.strictEqual(
      filteredObject(text, objectText(text)!, () => false),
      "{}"
    )
  })

  it("finds members of members, and nothing where something else stands", () => {
    const text = '{"params":{"_meta":{"progressToken":7}},"x":[1]}'
    const members = objectText(text)
    assert.strictEqual(valueIn(text, path(text, members, "params", "_meta", "progressToken")!), 7)
    assert.isUndefined(path(text, members, "params", "name"))
    assert.isUndefined(path(text, members, "x", "name"))
    assert.isUndefined(stringIn(text, path(text, members, "x")))
  })

  it.prop(
    "line breaks between tokens become blanks, and the value stays",
    { value: Schema.JsonObject },
    ({ value }) => {
      const text = oneLine(JSON.stringify(value, undefined, 2).replaceAll("\n", "\r\n"))
      assert.notMatch(text, /[\r\n]/)
      assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    },
    { arbitrary: { runs: 50 } }
  )
})
