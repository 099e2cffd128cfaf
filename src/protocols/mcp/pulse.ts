/** The heartbeat of a backend: one timer for all its open streams and sessions, and none while it has nothing open. */
import type { McpClock } from "./contract.ts"

/** Something that has to look at the clock now and then. */
export interface Beating {
  readonly beat: (now: number) => void
}

/** Beats every so many milliseconds while it has members. */
export class Pulse {
  readonly #clock: McpClock
  readonly #millis: number
  readonly #members = new Set<Beating>()
  #stop: (() => void) | undefined

  constructor(clock: McpClock, millis: number) {
    this.#clock = clock
    this.#millis = millis
  }

  add(member: Beating): void {
    this.#members.add(member)
    if (this.#stop === undefined) this.#arm()
  }

  delete(member: Beating): void {
    this.#members.delete(member)
    if (this.#members.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }

  #arm(): void {
    this.#stop = this.#clock.after(this.#millis, () => {
      this.#stop = undefined
      const now = this.#clock.now()
      for (const member of [...this.#members]) member.beat(now)
      if (this.#members.size > 0 && this.#stop === undefined) this.#arm()
    })
  }
}
