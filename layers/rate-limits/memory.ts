/** Keeps the buckets of every rule that some configuration holds, and hands them on from one configuration to the next. */
import { Effect, Layer, type Scope } from "effect"
import { Monotonic } from "../../src/services/monotonic.ts"
import { type BucketRule, type Buckets, RateLimits } from "../../src/services/rate-limits.ts"
import { MemoryBuckets } from "./buckets.ts"

interface Held {
  readonly buckets: Buckets
  /** The scopes of the configurations in which the rule stands, and where it stands there. */
  readonly holders: Map<Scope.Scope, { readonly place: string; times: number }>
}

const contentOf = (rule: BucketRule) =>
  JSON.stringify([rule.maxTokens, rule.tokensPerFill, rule.fillInterval, rule.type, rule.key])

export const layer: Layer.Layer<RateLimits> = Layer.effect(
  RateLimits,
  Effect.map(Monotonic, (clock) => {
    const byContent = new Map<string, Array<Held>>()

    const hold = (rule: BucketRule, content: string, place: string, holder: Scope.Scope): Held => {
      const alike = byContent.get(content) ?? []
      byContent.set(content, alike)
      // A rule of a route that several listeners share is opened for each of them.
      let held = alike.find(({ holders }) => holders.get(holder)?.place === place)
      // Of equal rules, one that stays where it stood keeps its counts when another one goes.
      const stood = ({ holders }: Held) => holders.values().some((other) => other.place === place)
      held ??= alike.find((each) => !each.holders.has(holder) && stood(each))
      // Else the first one that this configuration does not hold is that of the rule's counterpart in the one before.
      held ??= alike.find(({ holders }) => !holders.has(holder))
      if (held === undefined) {
        held = { buckets: new MemoryBuckets(rule, clock), holders: new Map() }
        alike.push(held)
      }
      const holding = held.holders.get(holder)
      if (holding === undefined) held.holders.set(holder, { place, times: 1 })
      else holding.times++
      return held
    }

    const letGo = (held: Held, content: string, holder: Scope.Scope): void => {
      const holding = held.holders.get(holder)
      if (holding !== undefined && --holding.times === 0) held.holders.delete(holder)
      const alike = (byContent.get(content) ?? []).filter(({ holders }) => holders.size > 0)
      if (alike.length > 0) byContent.set(content, alike)
      else byContent.delete(content)
    }

    return {
      open: (rule, place) =>
        Effect.gen(function* () {
          const holder = yield* Effect.scope
          const content = contentOf(rule)
          const held = yield* Effect.acquireRelease(
            Effect.sync(() => hold(rule, content, place, holder)),
            (held) => Effect.sync(() => letGo(held, content, holder))
          )
          return held.buckets
        })
    }
  })
)
