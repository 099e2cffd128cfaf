/** A group of endpoints under load, without endpoints and without waiting: what tests of balancing are played on. */
import { type Candidate, choose } from "./choice.ts"
import { EndpointHealth, type OpenCall } from "./endpoint-health.ts"

/** Numbers that come again and again. */
export const draws = (...values: ReadonlyArray<number>) => {
  let at = 0
  return () => values[at++ % values.length]!
}

/** Numbers between 0 and 1 that are the same for the same seed. */
export const seeded = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface Load {
  readonly seconds: number
  /** Requests in a second. */
  readonly rate: number
  /** Seconds until an endpoint answers a call made at that second; `undefined`: never. */
  readonly answersAfter: (endpoint: number, at: number) => number | undefined
  /** Seconds after which clients give up. */
  readonly givenUpAfter?: number
}

interface Call {
  readonly endpoint: number
  readonly call: OpenCall
  readonly ends: number
  readonly answers: boolean
}

export class Balancing {
  readonly #endpoints: Array<Candidate>
  readonly #random: () => number
  readonly #chosen: Array<{ readonly at: number; readonly endpoint: number }> = []
  #open: Array<Call> = []
  #now = 0

  constructor(endpoints: number, random: () => number) {
    this.#endpoints = Array.from({ length: endpoints }, (_, at) => ({ key: String(at), health: new EndpointHealth() }))
    this.#random = random
  }

  /** Another endpoint comes. */
  join(): void {
    const health = new EndpointHealth()
    health.grow(this.#now)
    this.#endpoints.push({ key: String(this.#endpoints.length), health })
  }

  run({ seconds, rate, answersAfter, givenUpAfter = Number.POSITIVE_INFINITY }: Load): void {
    const until = this.#now + seconds * 1000
    for (; this.#now < until; this.#now += 1000 / rate) {
      this.#settle()
      const now = this.#now
      const found = choose([this.#endpoints], { now, random: this.#random })!
      const endpoint = this.#endpoints.indexOf(found)
      this.#chosen.push({ at: now / 1000, endpoint })
      const call = found.health.begin()
      call.sent(now)
      const after = answersAfter(endpoint, now / 1000) ?? Number.POSITIVE_INFINITY
      const ends = now + 1000 * Math.min(after, givenUpAfter)
      this.#open.push({ endpoint, call, ends, answers: after <= givenUpAfter })
    }
  }

  #settle(): void {
    const still: Array<Call> = []
    for (const each of this.#open) {
      const { endpoint, call, ends, answers } = each
      if (ends > this.#now) {
        still.push(each)
        continue
      }
      if (answers) {
        this.#endpoints[endpoint]!.health.succeeded(call.answered(ends))
      }
      call.over(ends)
    }
    this.#open = still
  }

  /** What an endpoint got of the requests between two seconds. */
  share(endpoint: number, from: number, to = Number.POSITIVE_INFINITY): number {
    const some = this.#chosen.filter(({ at }) => at >= from && at < to)
    return some.filter((each) => each.endpoint === endpoint).length / some.length
  }
}
