import { assert, describe, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import { hinted, named, object, optional, type Rule, required, ruled } from "./field.ts"

const inForm = (schema: Schema.Top) => SchemaAST.resolve(SchemaAST.toEncoded(schema.ast))
const positive = Schema.makeFilter<unknown>(() => true)
const never: Rule<unknown> = { check: () => "never", jsonSchema: { not: {} } }

const Fields = Schema.Struct({ a: Schema.NumberFromString })

/** As it is said by turning the schema around, which is what it means. */
const around = <S extends Schema.Top>(schema: S) =>
  Schema.annotateEncoded({ identifier: "S", description: "d" })(schema)

describe("what is said of the form in the file", () => {
  it.each<readonly [string, Schema.Top]>([
    ["an object", Fields],
    ["an object whose value has a check", Fields.check(positive)],
    ["an object whose form has a rule", ruled(Fields, never)],
    ["both", ruled(Fields.check(positive), never)],
    ["a union", Schema.Union([Fields, Schema.String])],
    ["a union whose form has a rule", ruled(Schema.Union([Fields, Schema.String]), never)],
    ["a list whose value has a check", Schema.Array(Schema.NumberFromString).check(positive)],
    ["a transformation", Schema.NumberFromString],
    ["a string", Schema.String]
  ])("%s is named in its form", (_, schema) => {
    const expected = inForm(around(schema))
    assert.strictEqual(expected?.["identifier"], "S")
    const found = inForm(named(schema, "S", "d"))
    assert.deepStrictEqual([found?.["identifier"], found?.["description"]], ["S", "d"])
    assert.deepStrictEqual(inForm(hinted(schema, { b: "c" }))?.["hints"], { b: "c" })
  })

  it("rules are about the form, not about the value", () => {
    const even: Rule<{ readonly a: string }> = { check: ({ a }) => (typeof a === "string" ? undefined : "no text") }
    const schema = ruled(Fields, even, { check: ({ a }) => (a.length < 3 ? undefined : "too long") })
    assert.deepStrictEqual(Schema.decodeUnknownSync(schema)({ a: "12" }), { a: 12 })
    assert.deepStrictEqual(Schema.encodeUnknownSync(schema)({ a: 12 }), { a: "12" })
    assert.throws(() => Schema.decodeUnknownSync(schema)({ a: "123" }), /too long/)
    assert.throws(() => Schema.encodeUnknownSync(schema)({ a: 123 }), /too long/)
  })

  it("an object with rules still has its fields", () => {
    const schema = object(
      "O",
      "d",
      { a: required(Schema.String, "first"), b: optional(Schema.String, "second") },
      never
    )
    assert.deepStrictEqual(Object.keys(schema.fields), ["a", "b"])
  })
})
