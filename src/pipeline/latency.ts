/** How long a node takes, for every request: sums that a run adds to, and nothing else. */
export class Latency {
  count = 0
  /** Milliseconds. */
  sum = 0
  /** Declared failures that were forgiven because the policy fails open. */
  failedOpen = 0

  /** @param elapsed milliseconds, with fractions. */
  record(elapsed: number): void {
    this.count++
    this.sum += elapsed
  }
}
