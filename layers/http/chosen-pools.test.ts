import { assert, describe, it } from "@effect/vitest"
import { HeldBytes } from "../../src/http/held-bytes.ts"
import { FakeClock } from "../../test/fake-clock.ts"
import { ChosenPools } from "./chosen-pools.ts"
import { settle } from "./connection-settings.ts"
import { Versions } from "./versions.ts"

/** Pools whose connections never come: a call waits in them, or is refused where they are closed. */
const world = () => {
  const clock = new FakeClock()
  let evicted = 0
  let made = 0
  const pools = new ChosenPools(() => evicted++)
  const at = (key: string) =>
    pools.at(key, () => {
      made++
      const pool = new Versions({
        dialler: { dial: () => {}, dialSocket: () => () => {}, follow: () => () => {} },
        settings: settle({ kind: "tcp", host: "a", port: 1, tls: false }, { connectTimeout: 1000, idleTimeout: 1000 }),
        now: clock.now,
        later: clock.after,
        defect: (cause) => {
          throw cause
        },
        refused: () => {}
      })
      return {
        tell: () => {},
        pool,
        connectTimeout: 1000,
        scheme: "http" as const,
        held: new HeldBytes(),
        form: undefined,
        idle: undefined,
        now: () => 0,
        later: () => () => {}
      }
    })
  const isOpen = ({ pool }: { readonly pool: Versions }) => {
    let refused = false
    const waiter = {
      fresh: false,
      repeatable: true,
      connected: () => {},
      refused: () => {
        refused = true
      }
    }
    const refusals = (["1.1", "2"] as const).map((version) => {
      refused = false
      pool.for(version).acquire(waiter)
      pool.for(version).forget(waiter)
      return refused
    })
    assert.strictEqual(refusals[0], refusals[1])
    return !refused
  }
  return { pools, at, isOpen, made: () => made, evicted: () => evicted }
}

const most = 4_096

describe("pools of addresses that requests name", () => {
  it("are the same ones for the same address", () => {
    const { at, made } = world()
    assert.strictEqual(at("a"), at("a"))
    assert.notStrictEqual(at("a"), at("b"))
    assert.strictEqual(made(), 2)
  })

  it("are 4,096 at most: whoever was called longest ago is closed, and opened again when it is called", () => {
    const { at, isOpen, made, evicted } = world()
    const all = Array.from({ length: most }, (_, i) => at(`host${i}`))
    at("host0")
    assert.deepStrictEqual([made(), evicted()], [most, 0])
    at("one more")
    assert.strictEqual(evicted(), 1)
    assert.isFalse(isOpen(all[1]!))
    assert.isTrue(all.every((one, i) => i === 1 || isOpen(one)))
    assert.isTrue(isOpen(at("host1")))
    assert.deepStrictEqual([made(), evicted()], [most + 2, 2])
    assert.isFalse(isOpen(all[2]!))
  })

  it("are closed when nobody calls them any more, and others are not", () => {
    const { pools, at, isOpen, evicted } = world()
    const [one, other] = [at("one a"), at("other a")]
    pools.close("one ")
    assert.deepStrictEqual([isOpen(one), isOpen(other), evicted()], [false, true, 0])
    assert.notStrictEqual(at("one a"), one)
  })
})
