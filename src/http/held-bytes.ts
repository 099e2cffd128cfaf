/** The bytes of bodies that the process holds in memory, whoever asked for it: one budget for all of them. */

export class HeldBytes {
  readonly #most: number
  held = 0
  /** How often there was no room. */
  refused = 0

  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  /** Takes so many bytes of the budget; `false` when they are not there. */
  take(bytes: number): boolean {
    if (this.held + bytes > this.#most) {
      this.refused++
      return false
    }
    this.held += bytes
    return true
  }

  giveBack(bytes: number): void {
    this.held -= bytes
  }
}
