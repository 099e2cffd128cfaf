/** Time that passes when a test tells it to: for what is given its clock and its timers. Each timer runs at its own time. */
export class FakeClock {
  #now = 0
  #timers: Array<{ readonly at: number; readonly action: () => void }> = []
  readonly now = () => this.#now
  readonly after = (millis: number, action: () => void) => {
    const timer = { at: this.#now + millis, action }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }
  get timers(): number {
    return this.#timers.length
  }
  advance(millis: number): void {
    const until = this.#now + millis
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter((other) => other !== due)
      this.#now = Math.max(this.#now, due.at)
      due.action()
    }
    this.#now = until
  }
}
