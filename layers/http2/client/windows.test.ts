import { assert, describe, it } from "@effect/vitest"
import { firstWindow, Inflow, mostOfSession, Windows } from "./windows.ts"

/** Windows whose round trips end when the test says so. */
const world = () => {
  const sizes: Array<number> = []
  const answers: Array<() => void> = []
  const windows = new Windows({
    ping: (answered) => {
      answers.push(answered)
      return true
    },
    resize: (window) => sizes.push(window)
  })
  return { windows, sizes, answers, answer: () => answers.shift()?.() }
}

describe("windows of streams", () => {
  it("grow while one stream fills them within a round trip, up to what a session may hold", () => {
    const { windows, sizes, answer } = world()
    windows.opened(1)
    const stream = new Inflow()
    for (let i = 0; i < 10; i++) {
      windows.received(stream, windows.window / 4)
      windows.received(stream, windows.window / 2)
      answer()
    }
    assert.deepStrictEqual(sizes, [firstWindow * 2, firstWindow * 4, firstWindow * 8, mostOfSession])
  })
  it("stay as they are for streams that are slow, small, or many", () => {
    const { windows, sizes, answers, answer } = world()
    windows.opened(1)
    const slow = new Inflow()
    for (let i = 0; i < 20; i++) {
      windows.received(slow, 20_000)
      windows.received(slow, 20_000)
      answer()
    }
    assert.deepStrictEqual(sizes, [])
    for (let i = 0; i < 50; i++) windows.received(new Inflow(), 50_000)
    assert.strictEqual(answers.length, 0)
    windows.opened(16)
    windows.received(slow, 10 * firstWindow)
    assert.strictEqual(answers.length, 0)
  })
  it("shrink when there are more streams than they are for, in steps, and none has nothing", () => {
    const { windows, sizes } = world()
    for (let open = 1; open <= 100; open++) {
      windows.opened(open)
      assert.isTrue(windows.window * open <= mostOfSession || windows.window === 65_536)
    }
    for (let open = 99; open >= 0; open--) windows.closed(open)
    assert.deepStrictEqual(sizes, [131_072, 65_536])
  })
})
