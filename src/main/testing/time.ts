/**
 * The time of a world. It stands still for as long as anything can go on, and moves to the next timer when everything
 * waits: what takes an hour is over at once, and no load of the machine changes what happens first.
 */
import { type Clock, Duration, Effect } from "effect"
import type { Later } from "../../services/timer.ts"

interface Timer {
  readonly at: number
  readonly action: () => void
}

/** Turns of the event loop that the times of all worlds have asked for. */
let asked = 0

/** Whether anything but the times of worlds wants a turn of the event loop. What a fiber goes on with comes in such a turn. */
const busy = (): boolean => {
  let turns = 0
  for (const resource of process.getActiveResourcesInfo()) if (resource === "Immediate") turns++
  return turns > asked
}

export class WorldTime {
  readonly #start: number
  #now = 0
  /** In the order in which they are due; of two at the same time the one first that was set first. */
  readonly #timers: Array<Timer> = []
  #asked = false

  /** @param start milliseconds since 1970. */
  constructor(start: number) {
    this.#start = start
  }

  /** Milliseconds since the world began. */
  readonly monotonic = (): number => this.#now

  /** Milliseconds since 1970. */
  readonly wall = (): number => this.#start + this.#now

  /** How many timers are set. */
  get waiting(): number {
    return this.#timers.length
  }

  readonly later: Later = (milliseconds, action) => {
    // Nothing waits for the end of time.
    if (milliseconds === Number.POSITIVE_INFINITY) return () => {}
    const timer = { at: this.#now + Math.max(0, milliseconds), action }
    const next = this.#timers.findIndex(({ at }) => at > timer.at)
    this.#timers.splice(next === -1 ? this.#timers.length : next, 0, timer)
    this.#ask()
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index !== -1) this.#timers.splice(index, 1)
    }
  }

  readonly clock: Clock.Clock = {
    currentTimeMillisUnsafe: this.wall,
    currentTimeMillis: Effect.sync(this.wall),
    currentTimeNanosUnsafe: () => nanoseconds(this.wall()),
    currentTimeNanos: Effect.sync(() => nanoseconds(this.wall())),
    monotonicTimeNanosUnsafe: () => nanoseconds(this.#now),
    monotonicTimeNanos: Effect.sync(() => nanoseconds(this.#now)),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const callOff = this.later(Duration.toMillis(duration), () => resume(Effect.void))
        return Effect.sync(callOff)
      })
  }

  #ask(): void {
    if (this.#asked || this.#timers.length === 0) return
    this.#asked = true
    asked++
    setImmediate(this.#turn)
  }

  /** One timer a turn: what it sets going comes before the next one. */
  readonly #turn = (): void => {
    this.#asked = false
    asked--
    const next = this.#timers[0]
    if (next === undefined) return
    if (!busy()) {
      this.#timers.shift()
      this.#now = next.at
      next.action()
    }
    this.#ask()
  }
}

/** Exact to a thousandth of a millisecond. */
const nanoseconds = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1000)) * 1000n
