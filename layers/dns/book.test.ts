import { assert, describe, it } from "@effect/vitest"
import { type Families, type Known, NameUnresolved } from "../../src/services/names.ts"
import { FakeClock } from "../../test/fake-clock.ts"
import { Book } from "./book.ts"
import type { Found } from "./search.ts"

/** A book whose lookups end as the test says, in a time that the test makes pass. */
const world = () => {
  const clock = new FakeClock()
  let changed = false
  const lookups: Array<Found & { readonly name: string; readonly families: Families; readonly steadfast: boolean }> = []
  const counted: Array<string> = []
  let evicted = 0
  const book = new Book({
    lookUp: (name, families, steadfast, found) => lookups.push({ name, families, steadfast, ...found }),
    changed: () => {
      const before = changed
      changed = false
      return before
    },
    now: clock.now,
    later: clock.after,
    count: (outcome) => counted.push(outcome),
    evicted: () => evicted++
  })
  return {
    book,
    lookups,
    counted,
    evicted: () => evicted,
    timers: () => clock.timers,
    change: () => {
      changed = true
    },
    ask: (name = "a", families: Families = "both") => {
      const heard: Array<Known | string> = []
      const callOff = book.ask(name, families, (known) =>
        heard.push(known instanceof NameUnresolved ? known.code : known)
      )
      return { heard, callOff }
    },
    /** Ends the oldest lookup. */
    answer: (v4: ReadonlyArray<string>, v6: ReadonlyArray<string> = [], ttl = 60) => {
      const { families, family, over } = lookups.shift()!
      for (const [one, addresses] of [
        ["v6", v6],
        ["v4", v4]
      ] as const)
        if (families === "both" || families === one) family(one, addresses.length === 0 ? "none" : { addresses, ttl })
      over(undefined)
    },
    fail: (code: string) => lookups.shift()!.over(code),
    pass: (milliseconds: number) => clock.advance(milliseconds)
  }
}

const one = { v4: ["192.0.2.1"], v6: [] }
const day = 86_400_000
const two = { v4: ["192.0.2.2"], v6: [] }

describe("what is known of names", () => {
  it("is looked up once for all who ask at a time, and tells each family when it comes", () => {
    const { ask, lookups } = world()
    const [first, second] = [ask(), ask("A")]
    assert.strictEqual(lookups.length, 1)
    lookups[0]!.family("v4", { addresses: ["192.0.2.1"], ttl: 60 })
    const third = ask()
    lookups[0]!.family("v6", { addresses: ["2001:db8::1"], ttl: 60 })
    lookups[0]!.over(undefined)
    for (const { heard } of [first, second, third])
      assert.deepStrictEqual(heard, [
        { v4: ["192.0.2.1"], v6: undefined },
        { v4: ["192.0.2.1"], v6: ["2001:db8::1"] }
      ])
    assert.strictEqual(lookups.length, 1)
  })

  it("tells whoever has left nothing more", () => {
    const { ask, answer, timers } = world()
    const { heard, callOff } = ask()
    callOff()
    answer(["192.0.2.1"])
    assert.deepStrictEqual([heard.length, timers()], [0, 0])
  })

  it.each([
    [0, 1],
    [1, 1],
    [60, 60],
    [300, 300],
    [86_400, 300]
  ] as const)("(a time to live of %i s) is kept for %i s", (ttl, kept) => {
    const { ask, answer, lookups, pass } = world()
    ask()
    answer(["192.0.2.1"], [], ttl)
    pass(kept * 1000 - 1)
    assert.deepStrictEqual(ask().heard, [one])
    assert.strictEqual(lookups.length, 0)
    pass(1)
    assert.deepStrictEqual(ask().heard, [])
    assert.strictEqual(lookups.length, 1)
  })

  it("is kept for as long as the family that is known for less time", () => {
    const { ask, lookups, pass } = world()
    ask()
    const { family, over } = lookups.shift()!
    family("v4", { addresses: ["192.0.2.1"], ttl: 100 })
    family("v6", { addresses: ["2001:db8::1"], ttl: 10 })
    over(undefined)
    pass(10_000)
    ask()
    assert.strictEqual(lookups.length, 1)
  })

  it.each(["ENOTFOUND", "ESERVFAIL"])("(%s) is a failure for a second", (code) => {
    const { ask, fail, lookups, pass, counted } = world()
    const { heard } = ask()
    fail(code)
    pass(999)
    assert.deepStrictEqual([heard, ask().heard], [[code], [code]])
    assert.strictEqual(lookups.length, 0)
    pass(1)
    ask()
    assert.strictEqual(lookups.length, 1)
    assert.deepStrictEqual(counted, [code === "ENOTFOUND" ? "absent" : "failed"])
  })

  it("holds when nobody can say otherwise, and not when there is no such name", () => {
    const { ask, answer, fail, lookups, pass } = world()
    ask()
    answer(["192.0.2.1"])
    pass(60_000)
    const later = ask()
    assert.isTrue(lookups[0]!.steadfast)
    fail("ETIMEOUT")
    assert.deepStrictEqual(later.heard, [one])
    assert.deepStrictEqual(ask().heard, [one])
    pass(1000)
    const last = ask()
    fail("ENOTFOUND")
    assert.deepStrictEqual(last.heard, ["ENOTFOUND"])
  })

  it("holds for a day without anybody who confirms it, and no longer: the address may be somebody else's by then", () => {
    const { book, ask, answer, fail, lookups, pass } = world()
    ask()
    answer(["192.0.2.1"], ["2001:db8::1"])
    pass(day - 1)
    ask()
    // One family is confirmed, the other one is not.
    const { family, over } = lookups.shift()!
    family("v4", { failed: "ETIMEOUT" })
    family("v6", { addresses: ["2001:db8::1"], ttl: 60 })
    over(undefined)
    assert.deepStrictEqual(ask().heard, [{ v4: ["192.0.2.1"], v6: ["2001:db8::1"] }])
    pass(1000)
    const { heard } = ask()
    pass(1000)
    assert.deepStrictEqual(heard, [{ v4: [], v6: ["2001:db8::1"] }])
    fail("ETIMEOUT")
    const told: Array<ReadonlyArray<string>> = []
    book.follow("a", "both", (addresses) => told.push([...addresses]))
    pass(day)
    for (let i = 0; i < 2; i++) {
      fail("ETIMEOUT")
      pass(1000)
    }
    assert.deepStrictEqual(told, [["2001:db8::1"], []])
    const last = ask()
    fail("ETIMEOUT")
    assert.deepStrictEqual(last.heard, ["ETIMEOUT"])
  })

  it("holds for the family that failed alone, and is asked for again soon", () => {
    const { ask, answer, lookups, pass } = world()
    ask()
    answer(["192.0.2.1"], ["2001:db8::1"])
    pass(60_000)
    const { heard } = ask()
    const { family, over } = lookups.shift()!
    family("v4", { addresses: ["192.0.2.2"], ttl: 60 })
    family("v6", { failed: "ESERVFAIL" })
    over(undefined)
    assert.deepStrictEqual(heard.at(-1), { v4: ["192.0.2.2"], v6: ["2001:db8::1"] })
    pass(1000)
    ask()
    assert.strictEqual(lookups.length, 1)
  })

  it("is told a second later when it is old and nothing newer comes", () => {
    const { ask, answer, lookups, pass } = world()
    ask()
    answer(["192.0.2.1"])
    pass(60_000)
    const { heard } = ask()
    pass(999)
    assert.deepStrictEqual(heard, [])
    pass(1)
    assert.deepStrictEqual(heard, [one])
    answer(["192.0.2.2"])
    assert.deepStrictEqual([heard, ask().heard, lookups.length], [[one], [two], 0])
  })

  it("is looked up in the background while somebody follows, who is told of changes alone", () => {
    const { book, ask, answer, lookups, pass, timers } = world()
    ask()
    answer(["192.0.2.1", "192.0.2.2"])
    const told: Array<ReadonlyArray<string>> = []
    const stop = book.follow("a", "both", (addresses) => told.push([...addresses]))
    assert.deepStrictEqual(told, [["192.0.2.1", "192.0.2.2"]])
    pass(60_000)
    answer(["192.0.2.2", "192.0.2.1"], [], 5)
    pass(5000)
    assert.deepStrictEqual(ask().heard, [])
    answer(["192.0.2.2"])
    pass(60_000)
    assert.strictEqual(lookups.length, 1)
    stop()
    answer(["192.0.2.3"])
    assert.deepStrictEqual(told.slice(1), [["192.0.2.2"]])
    assert.strictEqual(timers(), 0)
    pass(600_000)
    assert.strictEqual(lookups.length, 0)
  })

  it("of which each answer holds others costs no connection: what comes back has not gone for good", () => {
    const { book, ask, answer, pass } = world()
    const told: Array<string> = []
    book.follow("a", "both", (addresses) => told.push([...addresses].join(" ")))
    ask()
    const hear = (...addresses: ReadonlyArray<string>) => {
      answer(addresses)
      pass(60_000)
      return told.at(-1)
    }
    assert.strictEqual(hear("192.0.2.1"), "192.0.2.1")
    assert.strictEqual(hear("192.0.2.2"), "192.0.2.2")
    // Once may be a change that was taken back.
    assert.strictEqual(hear("192.0.2.1"), "192.0.2.1")
    assert.strictEqual(hear("192.0.2.3"), "192.0.2.3")
    assert.strictEqual(hear("192.0.2.2"), "192.0.2.2 192.0.2.1 192.0.2.3")
    const before = told.length
    hear("192.0.2.3")
    hear("192.0.2.1")
    assert.strictEqual(told.length, before)
    // Whoever connects gets the newest answer alone.
    answer(["192.0.2.2"])
    assert.deepStrictEqual(ask().heard, [two])
    pass(60_000)
    // Ten minutes without it, and it has gone.
    for (let i = 0; i < 10; i++) hear("192.0.2.3")
    assert.strictEqual(told.at(-1), "192.0.2.3")
    assert.strictEqual(hear("192.0.2.4"), "192.0.2.4")
  })

  it("is followed through failures", () => {
    const { book, ask, answer, fail, pass } = world()
    ask()
    answer(["192.0.2.1"])
    const told: Array<ReadonlyArray<string>> = []
    book.follow("a", "both", (addresses) => told.push([...addresses]))
    pass(60_000)
    fail("ESERVFAIL")
    pass(1000)
    fail("ENOTFOUND")
    pass(1000)
    answer(["192.0.2.2"])
    assert.deepStrictEqual(told, [["192.0.2.1"], [], ["192.0.2.2"]])
  })

  it("is forgotten when the files of the system have changed", () => {
    const { book, ask, answer, change, lookups, pass } = world()
    ask("a")
    answer(["192.0.2.1"])
    ask("b")
    answer(["192.0.2.2"])
    book.follow("b", "both", () => {})
    change()
    assert.deepStrictEqual(ask("a").heard, [])
    pass(1)
    assert.deepStrictEqual(
      lookups.map(({ name }) => name),
      ["a", "b"]
    )
  })

  it("is told once, and not kept, when the files of the system changed while it was looked up", () => {
    const { ask, answer, change, lookups } = world()
    const { heard } = ask("a")
    change()
    ask("b")
    answer(["192.0.2.1"])
    assert.deepStrictEqual(heard.at(-1), one)
    assert.deepStrictEqual(ask("a").heard, [])
    assert.deepStrictEqual(
      lookups.map(({ name }) => name),
      ["b", "a"]
    )
    answer(["192.0.2.2"])
    answer(["192.0.2.2"])
    assert.deepStrictEqual([ask("a").heard, ask("b").heard], [[two], [two]])
  })

  it("is bounded: whoever was asked for longest ago is forgotten first, unless somebody uses it", () => {
    const { book, ask, answer, evicted } = world()
    for (const name of ["used", "old", "asked"]) {
      ask(name)
      answer(["192.0.2.1"])
    }
    book.follow("used", "both", () => {})
    ask("asked")
    for (let i = 3; i <= 4096; i++) {
      ask(`${i}`)
      answer(["192.0.2.1"])
    }
    assert.strictEqual(evicted(), 1)
    assert.deepStrictEqual([ask("used").heard, ask("asked").heard, ask("old").heard], [[one], [one], []])
  })

  it("knows the families that are wanted apart", () => {
    const { ask, lookups } = world()
    const { heard } = ask("a", "v4")
    lookups[0]!.family("v4", { addresses: ["192.0.2.1"], ttl: 60 })
    lookups[0]!.over(undefined)
    assert.deepStrictEqual(heard, [one])
    ask("a", "v6")
    assert.strictEqual(lookups.length, 2)
  })

  it("is over when it is closed", () => {
    const { book, ask, answer, pass, lookups, timers } = world()
    ask()
    answer(["192.0.2.1"])
    book.follow("a", "both", () => {})
    pass(60_000)
    const { heard } = ask()
    book.close()
    answer(["192.0.2.1"])
    assert.deepStrictEqual(ask("b").heard, ["ECANCELLED"])
    pass(600_000)
    assert.deepStrictEqual([heard.length, lookups.length, timers()], [0, 0, 0])
  })
})
