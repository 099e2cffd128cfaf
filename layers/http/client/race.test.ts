import { assert, describe, it } from "@effect/vitest"
import { NameUnresolved } from "../../../src/services/names.ts"
import { FakeClock } from "../../../test/fake-clock.ts"
import { Race } from "./race.ts"

/** A race of which the test decides who connects when. */
const world = (preferred: "v4" | "v6" = "v6") => {
  const clock = new FakeClock()
  const log: Array<string> = []
  const race = new Race({
    preferred,
    later: clock.after,
    attempt: (address) => {
      log.push(`${clock.now()} ${address}`)
      return () => log.push(`${clock.now()} no ${address}`)
    },
    lost: (error) => log.push(`${clock.now()} lost: ${error.message || error.name}`)
  })
  const pass = (milliseconds: number) => clock.advance(milliseconds)
  return { race, log, pass, waits: () => clock.timers }
}

const v6 = ["2001:db8::1", "2001:db8::2"]
const v4 = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]

describe("a race of addresses", () => {
  it("tries both families in turn, a quarter of a second apart", () => {
    const { race, log, pass, waits } = world()
    race.hear({ v4, v6 })
    pass(10_000)
    assert.deepStrictEqual(log, [
      "0 2001:db8::1",
      "250 192.0.2.1",
      "500 2001:db8::2",
      "750 192.0.2.2",
      "1000 192.0.2.3"
    ])
    assert.strictEqual(waits(), 0)
  })

  it("begins with the family that is preferred", () => {
    const { race, log, pass } = world("v4")
    race.hear({ v4, v6 })
    pass(300)
    assert.deepStrictEqual(log, ["0 192.0.2.1", "250 2001:db8::1"])
  })

  it("goes on at once when an attempt fails, and tells of the last failure", () => {
    const { race, log, pass } = world()
    race.hear({ v4: ["192.0.2.1"], v6: ["2001:db8::1"] })
    pass(10)
    race.failed("2001:db8::1", new Error("unreachable"))
    pass(10)
    race.failed("192.0.2.1", new Error("refused"))
    pass(1000)
    assert.deepStrictEqual(log, ["0 2001:db8::1", "10 192.0.2.1", "20 lost: refused"])
  })

  it("the first that connects wins, and the others are given up", () => {
    const { race, log, pass, waits } = world()
    race.hear({ v4, v6 })
    pass(600)
    assert.isTrue(race.connected("192.0.2.1"))
    assert.isFalse(race.connected("2001:db8::1"))
    pass(1000)
    assert.deepStrictEqual(log.slice(3), ["600 no 2001:db8::1", "600 no 2001:db8::2"])
    assert.strictEqual(waits(), 0)
  })

  it("waits 50 ms for the preferred family", () => {
    const { race, log, pass } = world()
    race.hear({ v4, v6: undefined })
    pass(49)
    assert.deepStrictEqual(log, [])
    pass(1)
    assert.deepStrictEqual(log, ["50 192.0.2.1"])
    // It comes late, and has its turn.
    race.hear({ v4, v6 })
    pass(250)
    assert.deepStrictEqual(log, ["50 192.0.2.1", "300 2001:db8::1"])
  })

  it("and begins when it comes in that time, or has nothing", () => {
    const first = world()
    first.race.hear({ v4, v6: undefined })
    first.pass(20)
    first.race.hear({ v4, v6 })
    assert.deepStrictEqual(first.log, ["20 2001:db8::1"])
    const second = world()
    second.race.hear({ v4, v6: undefined })
    second.pass(20)
    second.race.hear({ v4, v6: [] })
    assert.deepStrictEqual(second.log, ["20 192.0.2.1"])
  })

  it("does not wait for the other family", () => {
    const { race, log } = world()
    race.hear({ v4: undefined, v6 })
    assert.deepStrictEqual(log, ["0 2001:db8::1"])
  })

  it("whatever is known late is tried when all else has failed", () => {
    const { race, log, pass } = world()
    race.hear({ v4: undefined, v6: ["2001:db8::1"] })
    race.failed("2001:db8::1", new Error("refused"))
    pass(400)
    race.hear({ v4: ["192.0.2.1"], v6: ["2001:db8::1"] })
    assert.deepStrictEqual(log, ["0 2001:db8::1", "400 192.0.2.1"])
    race.failed("192.0.2.1", new Error("refused"))
    assert.deepStrictEqual(log.slice(2), ["400 lost: refused"])
  })

  it("waits a second for a family that nobody tells of when all that is known has failed", () => {
    const { race, log, pass, waits } = world()
    race.hear({ v4: ["192.0.2.1", "192.0.2.2"], v6: undefined })
    pass(60)
    race.failed("192.0.2.1", new Error("refused"))
    race.failed("192.0.2.2", new Error("refused, too"))
    pass(999)
    assert.deepStrictEqual(log, ["50 192.0.2.1", "60 192.0.2.2"])
    pass(1)
    assert.deepStrictEqual(log.slice(2), ["1060 lost: refused, too"])
    assert.strictEqual(waits(), 0)
  })

  it("and no longer when something is told in that time, but for what is then to be tried", () => {
    const { race, log, pass, waits } = world()
    race.hear({ v4: ["192.0.2.1"], v6: undefined })
    pass(50)
    race.failed("192.0.2.1", new Error("refused"))
    pass(900)
    race.hear({ v4: ["192.0.2.1"], v6 })
    pass(260)
    assert.deepStrictEqual(log, ["50 192.0.2.1", "950 2001:db8::1", "1200 2001:db8::2"])
    pass(5000)
    assert.deepStrictEqual([log.length, waits()], [3, 0])
  })

  it("is lost when there is no such name", () => {
    const { race, log } = world()
    race.hear(new NameUnresolved({ code: "ENOTFOUND" }))
    assert.deepStrictEqual(log, ["0 lost: NameUnresolved"])
  })

  it("is over when it is called off", () => {
    const { race, log, pass } = world()
    race.hear({ v4, v6 })
    race.stop()
    race.hear({ v4, v6 })
    race.failed("2001:db8::1", new Error("refused"))
    pass(1000)
    assert.deepStrictEqual(log, ["0 2001:db8::1", "0 no 2001:db8::1"])
  })
})
