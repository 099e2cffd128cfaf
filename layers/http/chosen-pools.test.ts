import { assert, describe, it } from "@effect/vitest"
import { FakeClock } from "../../test/fake-clock.ts"
import { ChosenPools } from "./chosen-pools.ts"
import { Pool } from "./client/pool.ts"

/** Pools whose connections never come: a call waits in them, or is refused where they are closed. */
const world = () => {
  const clock = new FakeClock()
  let evicted = 0
  let made = 0
  const pools = new ChosenPools(() => evicted++)
  const at = (key: string) =>
    pools.at(key, () => {
      made++
      const pool = new Pool({
        dial: () => {},
        follow: () => () => {},
        most: undefined,
        idleTimeout: 1000,
        acquireTimeout: 1000,
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
        form: undefined,
        idle: undefined,
        now: () => 0,
        later: () => () => {}
      }
    })
  const isOpen = ({ pool }: { readonly pool: Pool }) => {
    let refused = false
    const waiter = {
      fresh: false,
      repeatable: true,
      connected: () => {},
      refused: () => {
        refused = true
      }
    }
    pool.acquire(waiter)
    pool.forget(waiter)
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
