/** How much of something a client may do: so much at once, and so much in a second for as long as it likes. */
export class Allowance {
  readonly #most: number
  readonly #perSecond: number
  #left: number
  #since: number

  /** @param now milliseconds on the monotonic clock, here and below. */
  constructor(most: number, perSecond: number, now: number) {
    this.#most = this.#left = most
    this.#perSecond = perSecond
    this.#since = now
  }

  /** Takes one; `false`: there is none left. */
  take(now: number): boolean {
    this.#left = Math.min(this.#most, this.#left + ((now - this.#since) / 1000) * this.#perSecond)
    this.#since = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
