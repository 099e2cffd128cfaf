/**
 * Port: token buckets. They are known by the content of their rule, so that they outlive a reload which does not change
 * it, and answer at once: whoever asks is in the middle of a request.
 */
import { Context, type Effect, type Scope } from "effect"

/** The most buckets of a rule with a key; the least recently used one gives way (seed). */
export const maxBuckets = 65_536

/** How large buckets are, and how fast they fill. */
export interface BucketRule {
  /** The size of a bucket, which starts full. */
  readonly maxTokens: number
  /** What every refill adds, up to the size. */
  readonly tokensPerFill: number
  /** Milliseconds between refills. Only whole intervals count, from the first use of the bucket. */
  readonly fillInterval: number
  /** What is counted. */
  readonly type: "requests" | "tokens"
  /** The text of the expression that tells buckets apart. */
  readonly key?: string | undefined
}

/** What came of asking a bucket for a share. */
export interface Draw {
  readonly admitted: boolean
  /** What was taken; less than what was asked for where that was not there. */
  readonly taken: number
  /** What is left in the bucket. */
  readonly remaining: number
  /** Milliseconds until the next refill. */
  readonly reset: number
  /**
   * Corrects the share to what was really used: takes the rest, as far as there is any, or gives back, as far as there is
   * room. Counts once; on a draw that was not admitted it does nothing.
   */
  readonly settle: (used: number) => void
}

/** The buckets of one rule. */
export interface Buckets {
  /**
   * Asks the bucket of `key` for a share. No key, or an empty one, means the bucket that all such requests share.
   * @param demand `all`: admitted if the whole amount, and at least one, is there. `any`: admitted if anything is, and takes
   *   no more than that.
   */
  readonly draw: (key: string | undefined, amount: number, demand: "all" | "any") => Draw
}

/** Token buckets, as a service. */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Opens the buckets of a rule. Within one scope, which is that of a configuration, the same place in the configuration
     * has the same buckets, and other rules of the same content have others; the next configuration takes them over in the
     * same order.
     * @param place where the rule stands.
     */
    readonly open: (rule: BucketRule, place: string) => Effect.Effect<Buckets, never, Scope.Scope>
  }
>()("headgate/services/RateLimits") {}
