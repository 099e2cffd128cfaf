/** How well an endpoint does: a score that follows its answers and what it still owes, and for how long it is left alone after bad ones. */

/** The share of the newest sample in what follows samples. */
const weight = 0.3
/** How long an endpoint is left alone when nobody says. */
const defaultEviction = 3000
/** How long an endpoint that is new, or back, takes to get its whole share. */
const growing = 10_000
/** What it gets of its share to begin with. */
const smallest = 0.1

const follow = (before: number, sample: number): number =>
  // What is exactly nothing has no history.
  before === 0 ? sample : before + weight * (sample - before)

/** When an endpoint is left alone. Durations are milliseconds. */
export interface Eviction {
  readonly duration?: number | undefined
  /** The health on return; as it was when left out. */
  readonly restoreHealth?: number | undefined
  readonly consecutiveFailures?: number | undefined
  readonly healthThreshold?: number | undefined
}

/** A call under way, in a list with the others of its endpoint that wait for an answer. */
export interface OpenCall {
  /** The endpoint has all of the request: from here on it is the one that we wait for. */
  sent(now: number): void
  /** There is an answer, or will be none: for so many seconds it was waited for. The body of an answer may last. */
  answered(now: number): number
  /** The call has ended, however it did. One that has no answer by then would have taken longer than it did. Further calls do nothing. */
  over(now: number): void
}

export class EndpointHealth {
  #health = 1
  /** Of answers, and of calls that were given up, in seconds; `undefined` as long as there was none. */
  #latency: number | undefined = undefined
  #pending = 0
  #failures = 0
  #timesEvicted = 0
  #evictedUntil: number | undefined = undefined
  #restoreHealth: number | undefined = undefined
  /** Since when it is there again, while it is not yet fully grown. */
  #since: number | undefined = undefined
  #answers = 0
  readonly #open = new Unanswered()

  /** It has come, or come back, where there are others: from now on it grows to its share. */
  grow(now: number): void {
    this.#since = now
  }

  get health(): number {
    return this.#health
  }

  /** How many calls had an answer, or failed. */
  get answers(): number {
    return this.#answers
  }

  /** How many calls are under way. */
  get pending(): number {
    return this.#pending
  }

  /** Seconds, of the answers that there were. */
  get sampled(): number | undefined {
    return this.#latency
  }

  /** Until when it is left alone. */
  get evictedUntil(): number | undefined {
    return this.#evictedUntil
  }

  /** What an answer takes, in seconds: at least as long as the oldest call has waited for one. */
  latency(now: number, otherwise: number): number {
    return Math.max(this.#latency ?? otherwise, this.#open.oldest(now) / 1000)
  }

  /**
   * The higher, the better: healthy, fast and idle.
   * @param otherwise seconds, where it never answered.
   */
  score(now: number, otherwise: number): number {
    return this.#health / (1 + this.latency(now, otherwise) * (1 + 0.1 * this.#pending))
  }

  /** How much of its share it gets: all of it unless it has come, or come back, a moment ago. */
  grown(now: number): number {
    if (this.#since === undefined) return 1
    const grown = (now - this.#since) / growing
    if (grown < 1) return Math.max(smallest, grown)
    this.#since = undefined
    return 1
  }

  /** Whether it may be called. */
  active(now: number): boolean {
    const until = this.#evictedUntil
    if (until === undefined) return true
    if (now < until) return false
    this.#evictedUntil = undefined
    this.#health = this.#restoreHealth ?? this.#health
    this.#since = until
    return true
  }

  /** A call begins. Its request is on the way until it was sent. */
  begin(): OpenCall {
    this.#pending++
    return new Pending(this.#open, (took) => {
      this.#pending--
      if (took !== undefined && took > (this.#latency ?? 0)) this.#took(took)
    })
  }

  #took(seconds: number): void {
    this.#latency = this.#latency === undefined ? seconds : follow(this.#latency, seconds)
  }

  succeeded(seconds: number): void {
    this.#answers++
    this.#health = follow(this.#health, 1)
    this.#took(seconds)
    this.#failures = 0
    this.#timesEvicted = 0
  }

  /**
   * @param eviction without it the score alone changes.
   * @param asked how long the answer asks to be left alone.
   * @param most the longest that it is left alone.
   */
  failed(
    now: number,
    eviction: Eviction | undefined,
    asked: number | undefined,
    most = Number.POSITIVE_INFINITY
  ): void {
    this.#answers++
    const before = this.#health
    this.#health = follow(before, 0)
    this.#failures++
    if (eviction === undefined) return
    const { duration, restoreHealth, consecutiveFailures, healthThreshold } = eviction
    const enough =
      consecutiveFailures === undefined && healthThreshold === undefined
        ? true
        : (healthThreshold !== undefined && before < healthThreshold) ||
          (consecutiveFailures !== undefined && this.#failures >= consecutiveFailures)
    if (!enough || !this.active(now)) return
    const wanted = (duration ?? asked ?? defaultEviction) * (this.#timesEvicted + 1)
    this.#evictedUntil = now + Math.min(wanted, most)
    this.#timesEvicted++
    this.#restoreHealth = restoreHealth
  }
}

/** The calls that were sent and have no answer, the oldest first. */
class Unanswered {
  first: Pending | undefined = undefined
  last: Pending | undefined = undefined

  /** Milliseconds that the oldest has waited. */
  oldest(now: number): number {
    return this.first === undefined ? 0 : now - this.first.since!
  }

  add(call: Pending): void {
    call.before = this.last
    if (this.last === undefined) this.first = call
    else this.last.after = call
    this.last = call
  }

  remove(call: Pending): void {
    const { before, after } = call
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    call.before = call.after = undefined
  }
}

class Pending implements OpenCall {
  before: Pending | undefined = undefined
  after: Pending | undefined = undefined
  /** Since when it waits for an answer, while it does. */
  since: number | undefined = undefined
  #mayWait = true
  readonly #open: Unanswered
  #ended: ((took: number | undefined) => void) | undefined

  /** @param ended told for how many seconds it had waited for an answer, if there was none. */
  constructor(open: Unanswered, ended: (took: number | undefined) => void) {
    this.#open = open
    this.#ended = ended
  }

  sent(now: number): void {
    if (!this.#mayWait) return
    this.#mayWait = false
    this.since = now
    this.#open.add(this)
  }

  answered(now: number): number {
    this.#mayWait = false
    const { since } = this
    if (since === undefined) return 0
    this.since = undefined
    this.#open.remove(this)
    return (now - since) / 1000
  }

  over(now: number): void {
    const ended = this.#ended
    if (ended === undefined) return
    this.#ended = undefined
    const isAnswered = this.since === undefined
    const waited = this.answered(now)
    ended(isAnswered ? undefined : waited)
  }
}
