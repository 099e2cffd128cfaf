/**
 * The token bucket of local limits, as arithmetic on two numbers. Where buckets live (a map, shared memory) and which key they belong to
 * is not known here; times are milliseconds that the caller passes in.
 */

export interface BucketRule {
  /** What a full bucket holds, and its most. */
  readonly capacity: number
  /** What one interval adds. */
  readonly refill: number
  readonly intervalMs: number
}

/** The state of one bucket. */
export interface Bucket {
  readonly available: number
  /** When the next refill is due. */
  readonly refillAt: number
}

/** A bucket starts full. */
export const fullBucket = (rule: BucketRule, now: number): Bucket => ({
  available: rule.capacity,
  refillAt: now + rule.intervalMs
})

/** The bucket at `now`: whole intervals only, whatever their number, and never over the capacity. */
export const refillBucket = (rule: BucketRule, bucket: Bucket, now: number): Bucket => {
  if (now < bucket.refillAt) return bucket
  const intervals = Math.floor((now - bucket.refillAt) / rule.intervalMs) + 1
  return {
    available: Math.min(rule.capacity, bucket.available + intervals * rule.refill),
    refillAt: bucket.refillAt + intervals * rule.intervalMs
  }
}

/** The outcome of asking a (refilled) bucket. `charged` is what was really taken, and what a settlement is measured against. */
export interface Admission {
  readonly admitted: boolean
  readonly charged: number
  readonly bucket: Bucket
}

const denied = (bucket: Bucket): Admission => ({ admitted: false, charged: 0, bucket })
const take = (bucket: Bucket, amount: number): Admission => ({
  admitted: true,
  charged: amount,
  bucket: { available: bucket.available - amount, refillAt: bucket.refillAt }
})

/** A limit on requests: takes one, or denies. */
export const takeRequest = (bucket: Bucket): Admission => (bucket.available >= 1 ? take(bucket, 1) : denied(bucket))

/**
 * A limit on tokens, with a guess of the input: admitted while anything is left; the guess is charged down to zero and never denies.
 * Real counts come too late to deny: the request that crosses the limit completes.
 */
export const reserveEstimate = (bucket: Bucket, estimate: number): Admission =>
  bucket.available > 0 ? take(bucket, Math.min(bucket.available, Math.max(0, estimate))) : denied(bucket)

/** A limit on tokens with an exact count of the input: it must fit, and nothing to count cannot be admitted. */
export const reserveExact = (bucket: Bucket, tokens: number): Admission =>
  tokens >= 1 && tokens <= bucket.available ? take(bucket, tokens) : denied(bucket)

/** Corrects the bucket when the real number is known: an overrun empties it at most, a refund fills it at most. */
export const settleBucket = (rule: BucketRule, bucket: Bucket, correction: number): Bucket => ({
  available: Math.min(rule.capacity, Math.max(0, bucket.available - correction)),
  refillAt: bucket.refillAt
})

/** The three numbers of the `x-ratelimit-` headers; `reset` in whole seconds. */
export const bucketHeaders = (rule: BucketRule, bucket: Bucket, now: number) => ({
  limit: rule.capacity,
  remaining: bucket.available,
  reset: Math.max(0, Math.floor((bucket.refillAt - now) / 1000))
})
