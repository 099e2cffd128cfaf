import { assert, describe, it } from "@effect/vitest"
import { vi } from "vitest"
import { later } from "./timer.ts"

describe("a timer", () => {
  it("may be longer than those of node", () => {
    vi.useFakeTimers()
    try {
      const month = 30 * 24 * 3_600_000
      const rung: Array<string> = []
      later(month, () => rung.push("a"))
      const callOff = later(month, () => rung.push("b"))
      vi.advanceTimersByTime(month - 1)
      assert.deepStrictEqual(rung, [])
      // In its second round.
      callOff()
      vi.advanceTimersByTime(1)
      assert.deepStrictEqual(rung, ["a"])
      assert.strictEqual(vi.getTimerCount(), 0)
    } finally {
      vi.useRealTimers()
    }
  })
})
