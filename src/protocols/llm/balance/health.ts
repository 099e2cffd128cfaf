/** How well an endpoint does: a score that follows its answers, and for how long it is left alone after bad ones. */

/** The share of the newest answer in a score. */
const weight = 0.3
/** How long an endpoint is left alone when nobody says. */
const defaultEviction = 3000

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

export class EndpointHealth {
  #health = 1
  /** Of answers that were good, in seconds. */
  #latency = 0
  #pending = 0
  #failures = 0
  #timesEvicted = 0
  #evictedUntil: number | undefined = undefined
  #restoreHealth: number | undefined = undefined

  get health(): number {
    return this.#health
  }

  /** The higher, the better: healthy, fast and idle. */
  get score(): number {
    return this.#health / (1 + this.#latency * (1 + 0.1 * this.#pending))
  }

  /** Whether it may be called. */
  active(now: number): boolean {
    if (this.#evictedUntil === undefined) return true
    if (now < this.#evictedUntil) return false
    this.#evictedUntil = undefined
    this.#health = this.#restoreHealth ?? this.#health
    return true
  }

  /** A call begins; the returned function says that it is over. */
  begin(): () => void {
    this.#pending++
    let over = false
    return () => {
      if (over) return
      over = true
      this.#pending--
    }
  }

  succeeded(seconds: number): void {
    this.#health = follow(this.#health, 1)
    this.#latency = follow(this.#latency, seconds)
    this.#failures = 0
    this.#timesEvicted = 0
  }

  /**
   * @param eviction without it the score alone changes.
   * @param asked how long the answer asks to be left alone.
   */
  failed(now: number, eviction: Eviction | undefined, asked: number | undefined): void {
    this.#health = follow(this.#health, 0)
    this.#failures++
    if (eviction === undefined) return
    const { duration, restoreHealth, consecutiveFailures, healthThreshold } = eviction
    const enough =
      consecutiveFailures === undefined && healthThreshold === undefined
        ? true
        : (healthThreshold !== undefined && this.#health < healthThreshold) ||
          (consecutiveFailures !== undefined && this.#failures >= consecutiveFailures)
    if (!enough || !this.active(now)) return
    this.#evictedUntil = now + (duration ?? asked ?? defaultEviction) * (this.#timesEvicted + 1)
    this.#timesEvicted++
    this.#restoreHealth = restoreHealth
  }
}
