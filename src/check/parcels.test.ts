import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Redacted, Schema } from "effect"
import { environmentOf } from "../../test/fences.ts"
import { check } from "./check.ts"
import { type Parcel, pack, Unpacking } from "./parcels.ts"

const examples = resolve(import.meta.dirname, "../../examples")

/** Through as many messages as it takes. */
const sent = (
  value: unknown,
  weight?: number
): { readonly value: unknown; readonly parcels: ReadonlyArray<Parcel> } => {
  const parcels: Array<Parcel> = []
  pack(value, (parcel) => parcels.push(structuredClone(parcel)), weight)
  const unpacking = new Unpacking()
  for (const parcel of parcels) unpacking.open(parcel)
  return { value: unpacking.value, parcels }
}

/** Credentials as text: otherwise all of them are equal. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return `secret ${Redacted.value(value)}`
  if (typeof value !== "object" || value === null || value instanceof Set || ArrayBuffer.isView(value)) return value
  if (Array.isArray(value)) return value.map(revealed)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revealed(inner)]))
}

describe("parcels", () => {
  for (const file of globSync("*/config.yaml", { cwd: examples }).sort())
    it(`carry the configuration of ${file}, whatever they hold at the most`, () => {
      const text = readFileSync(join(examples, file), "utf8")
      const { config, positions, hidden, problems } = check({ name: file, text, env: environmentOf(text) })
      assert.isDefined(config, problems.map(({ message }) => message).join())
      const told = { config, outline: positions?.outline, hidden, problems }
      for (const weight of [1, 7, undefined]) assert.deepStrictEqual(revealed(sent(told, weight).value), revealed(told))
    })

  it.effect.prop(
    "carry any value",
    [Arbitrary.schema(Schema.Json), Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })))],
    ([value, weight]) =>
      Effect.sync(() => {
        const arrived = sent({ value, again: value }, weight).value as {
          readonly value: unknown
          readonly again: unknown
        }
        assert.deepStrictEqual(arrived, { value, again: value })
        assert.strictEqual(arrived.value, arrived.again)
      })
  )

  it("carry an entry of every name", () => {
    const value = { value: JSON.parse('{"a":{"__proto__":{"b":1}},"__proto__":2,"constructor":[]}') }
    for (const weight of [1, 2, undefined]) {
      const arrived = sent(value, weight).value as typeof value
      assert.strictEqual(JSON.stringify(arrived), JSON.stringify(value))
    }
  })

  it("keep the order of keys, what is undefined, credentials, and records without a prototype", () => {
    const bare = Object.assign(Object.create(null), { constructor: { a: 1 } })
    const value = { z: { deep: [1] }, a: undefined, key: Redacted.make("hush"), bare, bytes: new Uint8Array([1, 2]) }
    const arrived = sent(value, 1).value as typeof value
    assert.deepStrictEqual(Object.keys(arrived), ["z", "a", "key", "bare", "bytes"])
    assert.strictEqual(Redacted.value(arrived.key), "hush")
    assert.isNull(Object.getPrototypeOf(arrived.bare))
    assert.deepStrictEqual(arrived.bytes, value.bytes)
  })

  it("hold little each, however the value is made", () => {
    const many = Array.from({ length: 5000 }, (_, index) => ({ index, inner: { path: ["routes", index] } }))
    const value = { many, byName: Object.fromEntries(many.map((each) => [`name${each.index}`, each.inner])) }
    const { value: arrived, parcels } = sent(value, 100)
    assert.deepStrictEqual(arrived, value)
    const sizes = parcels.map(
      ({ objects, links, entries }) =>
        objects.length + links.length + entries.reduce((sum, [, keys]) => sum + keys.length, 0)
    )
    assert.isAtMost(Math.max(...sizes), 500)
  })

  it("refuse what would arrive as something else", () => {
    class Special {}
    assert.throws(() => sent({ special: new Special() }), "a Special cannot be packed")
  })
})
