import { assert, describe, it } from "@effect/vitest"
import type { Outcome, Query } from "./query.ts"
import { candidates, type Family, searchFor } from "./search.ts"

const address = (ip: string): Outcome => ({ addresses: [ip], ttl: 60 })

/** What a search asks and finds, when the names are answered like this. */
const search = (answers: Readonly<Record<string, Outcome>>, steadfast = false, families: "both" | "v4" = "both") => {
  const asked: Array<string> = []
  const found: Array<unknown> = []
  const query: Query = (name, family, done) => {
    asked.push(`${name} ${family}`)
    done(answers[`${name} ${family}`] ?? "none")
  }
  searchFor(["x.a", "x.b", "x"], families, query, steadfast, {
    family: (family: Family, outcome: Outcome) => found.push(family, outcome),
    over: (failure) => found.push(failure)
  })
  return { asked, found }
}

describe("the names that a name may stand for", () => {
  it.each([
    ["a", 1, ["a.b.c", "a.d", "a"]],
    ["a.e", 1, ["a.e", "a.e.b.c", "a.e.d"]],
    ["a.e", 5, ["a.e.b.c", "a.e.d", "a.e"]],
    ["a.", 1, ["a"]],
    ["a", 0, ["a", "a.b.c", "a.d"]]
  ] as const)("%s with %i dots", (name, ndots, expected) => {
    assert.deepStrictEqual(candidates(name, { search: ["b.c", "d"], ndots }), [...expected])
  })
})

describe("a search", () => {
  it("ends with the first name that has an address of either family", () => {
    const { asked, found } = search({ "x.b v4": address("192.0.2.1") })
    assert.deepStrictEqual(asked, ["x.a v6", "x.a v4", "x.b v6", "x.b v4"])
    assert.deepStrictEqual(found, ["v6", "none", "v4", address("192.0.2.1"), undefined])
  })

  it("asks for one family where only that is wanted", () => {
    const { asked } = search({ "x.b v4": address("192.0.2.1") }, false, "v4")
    assert.deepStrictEqual(asked, ["x.a v4", "x.b v4"])
  })

  it("finds nothing where no name exists", () => {
    assert.deepStrictEqual(search({}).found, ["ENOTFOUND"])
  })

  it("goes on past a name of which nobody can say whether it exists, and tells of that when there is no other", () => {
    const answers = { "x.a v4": { failed: "ESERVFAIL" } } as const
    assert.deepStrictEqual(search(answers).found, ["ESERVFAIL"])
    assert.deepStrictEqual(search({ ...answers, "x v6": address("2001:db8::1") }).found, [
      "v6",
      address("2001:db8::1"),
      "v4",
      "none",
      undefined
    ])
  })

  it("but takes no other name for it where there are older answers", () => {
    const { asked, found } = search({ "x.a v4": { failed: "ESERVFAIL" }, "x v6": address("2001:db8::1") }, true)
    assert.strictEqual(asked.length, 2)
    assert.deepStrictEqual(found, ["ESERVFAIL"])
  })

  it("tells of a family that failed where the other one has an address", () => {
    const { found } = search({ "x.a v4": address("192.0.2.1"), "x.a v6": { failed: "ESERVFAIL" } })
    assert.deepStrictEqual(found, ["v6", { failed: "ESERVFAIL" }, "v4", address("192.0.2.1"), undefined])
  })
})
