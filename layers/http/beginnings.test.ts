/** Who is let in by a loop that is played: it has turns as the real one, requests that cost, and backends that take their time. */
import { assert, describe, it } from "@effect/vitest"
import { Beginnings } from "./beginnings.ts"

interface Play {
  /** Milliseconds of the loop for each request: before its backend is called, and when that has answered. */
  readonly before: number
  readonly after: number
  /** Milliseconds that the backend takes; `undefined`: there is none. */
  readonly backend?: number
  readonly most?: number
  /** Requests a second, at each time. */
  readonly rate: (now: number) => number
  readonly duration: number
  /** They cannot wait, as streams of HTTP/2. */
  readonly urgent?: boolean
  /** Milliseconds for which the loop stands still, whoever waits, now and then. */
  readonly pause?: { readonly every: number; readonly takes: number }
}

interface Ended {
  readonly at: number
  /** Milliseconds from its arrival; `undefined`: turned away. */
  readonly took: number | undefined
}

const play = ({
  before,
  after,
  backend,
  most = 100,
  rate,
  duration,
  urgent = false,
  pause
}: Play): ReadonlyArray<Ended> => {
  let now = 0
  let idle = 0
  let seed = 7
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  const ending: Array<() => void> = []
  const defects: Array<unknown> = []
  const load = new Beginnings({
    most,
    clock: () => now,
    idle: () => idle,
    atEndOfTurn: (ended, ending_) => ending.push(() => ended(ending_)),
    defect: (cause) => defects.push(cause)
  })
  const ended: Array<Ended> = []
  let called: Array<{ readonly at: number; readonly since: number }> = []
  let next = 0
  let paused = pause?.every ?? Number.POSITIVE_INFINITY
  while (now < duration) {
    const ready: Array<{ readonly since: number; readonly answered: boolean }> = []
    for (; next <= now; next += (-Math.log(1 - random()) * 1000) / rate(next))
      ready.push({ since: next, answered: false })
    for (const call of called) if (call.at <= now) ready.push({ since: call.since, answered: true })
    called = called.filter(({ at }) => at > now)
    if (ready.length === 0) {
      if (ending.length > 0) {
        for (const end of ending.splice(0)) end()
        now += 0.01
        continue
      }
      const wakes = Math.min(next, ...called.map(({ at }) => at))
      idle += wakes - now
      now = wakes
      continue
    }
    if (pause !== undefined && now >= paused) {
      now += pause.takes
      paused += pause.every
    }
    // A poll has no order.
    for (let i = ready.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[ready[i], ready[j]] = [ready[j]!, ready[i]!]
    }
    for (const { since, answered } of ready) {
      if (answered) {
        now += after
        ended.push({ at: now, took: now - since })
        continue
      }
      const begins = (admitted: boolean) => {
        if (!admitted) {
          now += 0.04
          ended.push({ at: now, took: undefined })
        } else if (backend === undefined) {
          now += before + after
          ended.push({ at: now, took: now - since })
        } else {
          now += before
          called.push({ at: now + backend, since })
        }
      }
      now += 0.01
      if (urgent) begins(load.admits())
      else if (load.begin({ begins, contain: (cause) => defects.push(cause) })) begins(true)
    }
    for (const end of ending.splice(0)) end()
  }
  assert.deepStrictEqual(defects, [])
  return ended
}

/** Of a part of the time: answers a second, how many were turned away, and milliseconds that all but one in a hundred took at most. */
const within = (all: ReadonlyArray<Ended>, from: number, to: number) => {
  const part = all.filter(({ at }) => at >= from && at < to)
  const took = part.flatMap(({ took }) => took ?? []).sort((a, b) => a - b)
  return {
    goodput: (took.length * 1000) / (to - from),
    turnedAway: part.length - took.length,
    p99: took[Math.floor(took.length * 0.99)] ?? 0
  }
}

const burst = (before: number, during: number) => (now: number) => (now < 5000 || now >= 40_000 ? before : during)

describe("what begins in a loop", () => {
  it("at five times of what can be done, all that can be done is done, in time, and two seconds later nothing remains of it", () => {
    // 476 a second.
    const all = play({ before: 0.1, after: 2, rate: burst(300, 2380), duration: 50_000 })
    assert.strictEqual(within(all, 0, 5000).turnedAway, 0)
    const during = within(all, 5000, 40_000)
    assert.isAbove(during.goodput, 0.85 * 476)
    assert.isBelow(during.p99, 200)
    assert.isAbove(during.turnedAway, 50_000)
    const later = within(all, 42_000, 50_000)
    assert.strictEqual(later.turnedAway, 0)
    assert.isBelow(later.p99, 30)
  })

  it("so it does where the work comes later, when a backend has answered", () => {
    const all = play({ before: 0.1, after: 2, backend: 5, rate: burst(300, 2380), duration: 50_000 })
    const during = within(all, 7000, 40_000)
    assert.isAbove(during.goodput, 0.85 * 476)
    assert.isBelow(during.p99, 300)
    assert.strictEqual(within(all, 42_000, 50_000).turnedAway, 0)
  })

  it("so it does where nobody can wait in the row", () => {
    const all = play({ before: 0.1, after: 2, rate: burst(300, 2380), duration: 50_000, urgent: true })
    const during = within(all, 7000, 40_000)
    assert.isAbove(during.goodput, 0.8 * 476)
    assert.isBelow(during.p99, 500)
    assert.strictEqual(within(all, 42_000, 50_000).turnedAway, 0)
  })

  it("when those that waited too long are gone, what cannot wait begins again", () => {
    let now = 0
    const ending: Array<() => void> = []
    const load = new Beginnings({
      most: 100,
      clock: () => now,
      idle: () => now,
      atEndOfTurn: (ended, of) => ending.push(() => ended(of)),
      defect: (cause) => assert.fail(String(cause))
    })
    const wait = { begins: () => {}, contain: (cause: unknown) => assert.fail(String(cause)) }
    for (let i = 0; i < 50; i++) {
      now += 2
      for (let j = 0; j < 10; j++) load.enqueue(wait)
    }
    now += 200
    for (const end of ending.splice(0)) end()
    now += 10_000
    while (ending.length > 0) for (const end of ending.splice(0)) end()
    assert.strictEqual(load.waiting, 0)
    now += 10_000
    assert.isTrue(load.admits())
  })

  it("a pause turns nobody away, however long, where what has waited is done soon", () => {
    for (const takes of [60, 150, 400]) {
      const all = play({
        before: 0.05,
        after: 0.05,
        rate: () => 1500,
        duration: 30_000,
        pause: { every: 1500, takes }
      })
      assert.strictEqual(within(all, 0, 30_000).turnedAway, 0, `${takes} ms`)
    }
  })

  it("whoever is just not overloaded is left alone", () => {
    const all = play({ before: 0.1, after: 2, rate: () => 400, duration: 60_000 })
    assert.strictEqual(within(all, 0, 60_000).turnedAway, 0)
  })

  it("a few costly requests are no crowd", () => {
    const all = play({ before: 0, after: 120, rate: () => 4, duration: 60_000 })
    assert.strictEqual(within(all, 0, 60_000).turnedAway, 0)
  })

  it("without a limit nobody is turned away", () => {
    const all = play({ before: 0.1, after: 2, most: 0, rate: () => 2000, duration: 5000 })
    assert.strictEqual(within(all, 0, 5000).turnedAway, 0)
  })

  it("what cannot wait begins again when nobody has waited for a while, though nothing else has begun since", () => {
    let now = 0
    const ending: Array<() => void> = []
    const load = new Beginnings({
      most: 100,
      clock: () => now,
      idle: () => 0,
      atEndOfTurn: (ended, beginnings) => ending.push(() => ended(beginnings)),
      defect: () => assert.fail()
    })
    const turn = () => {
      for (const end of ending.splice(0)) end()
    }
    // Each has waited too long, for half a second.
    for (let i = 0; i < 5; i++) {
      load.enqueue({ begins: () => {}, contain: () => assert.fail() })
      now += 150
      turn()
    }
    assert.isFalse(load.admits())
    turn()
    now += 60_000
    assert.isTrue(load.admits())
  })
})
