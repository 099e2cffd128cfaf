import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { addVary, HeaderList, isHeaderName, isHeaderValue } from "./header-list.ts"

// Few names, in several cases, so that duplicates are common.
const names = Schema.Literals(["A", "a", "B", "Set-Cookie", "set-cookie", "X-Other"])
const pairs = Arbitrary.array(Arbitrary.schema(Schema.Tuple([names, Schema.String])), { maxLength: 8 })

/** The same operations on a list of pairs, as slowly and plainly as can be. */
const model = {
  of: (pairs: ReadonlyArray<readonly [string, string]>) =>
    pairs.map(([name, value]) => [name.toLowerCase(), value] as const),
  set: (list: ReadonlyArray<readonly [string, string]>, name: string, value: string) => {
    const at = list.findIndex(([key]) => key === name)
    if (at < 0) return [...list, [name, value] as const]
    return list.flatMap((line, i) => (i === at ? [[name, value] as const] : line[0] === name ? [] : [line]))
  }
}

describe("header list", () => {
  it.prop("keeps duplicates and order, lower-cases names", [pairs], ([pairs]) => {
    assert.deepStrictEqual([...HeaderList.from(pairs)], model.of(pairs))
  })

  it.prop("get, getAll and has agree with the lines", [pairs, names], ([pairs, name]) => {
    const list = HeaderList.from(pairs)
    const key = name.toLowerCase()
    const values = model.of(pairs).flatMap(([at, value]) => (at === key ? [value] : []))
    assert.deepStrictEqual(list.getAll(key), values)
    assert.strictEqual(list.get(key), values[0])
    assert.strictEqual(list.has(key), values.length > 0)
  })

  it.prop("set leaves one line, at the place of the first", [pairs, names], ([pairs, name]) => {
    const list = HeaderList.from(pairs)
    list.set(name, "new")
    assert.deepStrictEqual([...list], model.set(model.of(pairs), name.toLowerCase(), "new"))
  })

  it.prop("delete removes all lines of a name and no other", [pairs, names], ([pairs, name]) => {
    const list = HeaderList.from(pairs)
    list.delete(name)
    assert.deepStrictEqual(
      [...list],
      model.of(pairs).filter(([key]) => key !== name.toLowerCase())
    )
    assert.strictEqual(list.size, [...list].length)
  })

  it("a clone is independent", () => {
    const list = HeaderList.from([["a", "1"]])
    const copy = list.clone()
    copy.add("b", "2")
    copy.set("a", "3")
    assert.deepStrictEqual([...list], [["a", "1"]])
  })

  it("tells names and values that may be sent from those that may not", () => {
    for (const name of ["a", "X-1", "!#$%&'*+-.^_`|~"]) assert.isTrue(isHeaderName(name), name)
    for (const name of ["", "a b", "a:", "ä", "a\r"]) assert.isFalse(isHeaderName(name), JSON.stringify(name))
    for (const value of ["", "a b\tc", "\xe4\xff"]) assert.isTrue(isHeaderValue(value), JSON.stringify(value))
    for (const value of ["a\r\nb: c", "\0", "\x7f", "€"]) assert.isFalse(isHeaderValue(value), JSON.stringify(value))
  })
})

describe("adding to vary", () => {
  const varyOf = (...lines: ReadonlyArray<string>) => {
    const list = HeaderList.from(lines.map((line) => ["vary", line]))
    addVary(list, "Origin")
    return list.getAll("vary")
  }

  it("keeps what is there and adds what is missing, once", () => {
    assert.deepStrictEqual(varyOf(), ["Origin"])
    assert.deepStrictEqual(varyOf("Accept-Encoding", "Cookie"), ["Accept-Encoding, Cookie, Origin"])
    assert.deepStrictEqual(varyOf("Accept, origin"), ["Accept, origin"])
    assert.deepStrictEqual(varyOf("*"), ["*"])
  })
})
