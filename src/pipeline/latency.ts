/** How long a node takes, for every request: preallocated buckets that a run increments, and nothing else. */

/** Upper bounds of the buckets in microseconds: powers of two from 1 µs to 8 s, then everything above. */
export const latencyBounds: ReadonlyArray<number> = Array.from({ length: 24 }, (_, i) => 2 ** i)

export class Latency {
  readonly counts = new Float64Array(latencyBounds.length + 1)
  count = 0
  /** Milliseconds. */
  sum = 0
  /** Declared failures that were forgiven because the policy fails open. */
  failedOpen = 0

  /** @param elapsed milliseconds, with fractions. */
  record(elapsed: number): void {
    this.count++
    this.sum += elapsed
    const micros = elapsed * 1000
    // 32 - clz32 is the number of bits: the index of the first power of two that is not smaller.
    const bucket = micros <= 1 ? 0 : 32 - Math.clz32(Math.ceil(micros) - 1)
    this.counts[Math.min(bucket, 24)]!++
  }
}
