/** The token buckets of one rule in the memory of this process: exact, and alone. */
import { createHash } from "node:crypto"
import { type BucketRule, type Buckets, type Draw, maxBuckets } from "../../src/services/rate-limits.ts"

interface Bucket {
  left: number
  /** When it was last refilled: its first use, plus whole intervals. `NaN` before that. */
  filled: number
}

/** Longer keys are kept as digests: a client chooses them, and there are many. */
const longestKey = 64
// One character longer than any key that is kept as it is, so that no client can name the bucket of a longer key.
const digestOf = (key: string) => `#${createHash("sha256").update(key).digest("hex")}`

export class MemoryBuckets implements Buckets {
  readonly #rule: BucketRule
  readonly #clock: () => number
  readonly #capacity: number
  /** In the order of their last use. */
  readonly #keyed = new Map<string, Bucket>()
  #newest: Bucket | undefined
  // Apart from the others: no flood of keys can push it out, and thereby refill it.
  readonly #shared: Bucket

  /** @param clock milliseconds that never go back. */
  constructor(rule: BucketRule, clock: () => number, capacity = maxBuckets) {
    this.#rule = rule
    this.#clock = clock
    this.#capacity = capacity
    this.#shared = this.#full()
  }

  draw(key: string | undefined, amount: number, demand: "all" | "any"): Draw {
    const bucket = key === undefined || key === "" ? this.#shared : this.#bucketOf(key)
    const now = this.#clock()
    this.#refill(bucket, now)
    const admitted = demand === "any" ? bucket.left > 0 : amount >= 1 && bucket.left >= amount
    const taken = admitted ? Math.min(bucket.left, amount) : 0
    bucket.left -= taken
    return new Share(this, bucket, admitted, taken, bucket.filled + this.#rule.fillInterval - now)
  }

  /** Takes what is there of `amount`; gives back, as far as there is room, when it is negative. */
  charge(bucket: Bucket, amount: number): void {
    this.#refill(bucket, this.#clock())
    bucket.left = Math.min(this.#rule.maxTokens, Math.max(0, bucket.left - amount))
  }

  #full(): Bucket {
    return { left: this.#rule.maxTokens, filled: Number.NaN }
  }

  #refill(bucket: Bucket, now: number): void {
    if (Number.isNaN(bucket.filled)) bucket.filled = now
    const { fillInterval, tokensPerFill, maxTokens } = this.#rule
    const intervals = Math.floor((now - bucket.filled) / fillInterval)
    if (intervals <= 0) return
    bucket.filled += intervals * fillInterval
    bucket.left = Math.min(maxTokens, bucket.left + intervals * tokensPerFill)
  }

  #bucketOf(key: string): Bucket {
    const name = key.length <= longestKey ? key : digestOf(key)
    let bucket = this.#keyed.get(name)
    if (bucket === undefined) {
      if (this.#keyed.size >= this.#capacity) this.#keyed.delete(this.#keyed.keys().next().value!)
      bucket = this.#full()
      this.#keyed.set(name, bucket)
    } else if (bucket !== this.#newest) {
      this.#keyed.delete(name)
      this.#keyed.set(name, bucket)
    }
    this.#newest = bucket
    return bucket
  }
}

class Share implements Draw {
  readonly admitted: boolean
  readonly taken: number
  readonly remaining: number
  readonly reset: number
  readonly #buckets: MemoryBuckets
  readonly #bucket: Bucket
  #settled: boolean

  constructor(buckets: MemoryBuckets, bucket: Bucket, admitted: boolean, taken: number, reset: number) {
    this.#buckets = buckets
    this.#bucket = bucket
    this.admitted = admitted
    this.taken = taken
    this.remaining = bucket.left
    this.reset = reset
    this.#settled = !admitted
  }

  settle(used: number): void {
    if (this.#settled) return
    this.#settled = true
    if (used !== this.taken) this.#buckets.charge(this.#bucket, used - this.taken)
  }
}
