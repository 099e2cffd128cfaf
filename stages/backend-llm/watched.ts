/** The health of an endpoint as its calls show it: which answers are bad ones, and what follows from them. */
import { Effect, type Scope } from "effect"
import { EndpointHealth, type OpenCall } from "../../src/balance/endpoint-health.ts"
import { isFailure } from "../../src/balance/judgement.ts"
import { retryHint } from "../../src/balance/retry-hint.ts"
import { type ConfigProblem, compileExpression, Monotonic } from "../../src/policy/policy.ts"
import { fingerprint, Kept, KeptKind, type Passage, shownBy } from "../../src/policy/terminal.ts"
import type { Exchange } from "./exchange.ts"
import type { EndpointConfig, EndpointPolicies } from "./schema.ts"

export interface Watched {
  readonly health: EndpointHealth
  /** A call begins, whose body is whole in memory. */
  readonly begin: () => OpenCall
  /** An answer came: that of the exchange. */
  readonly answered: (x: Exchange, passage: Passage, call: OpenCall) => void
  /** None came; whether that is the endpoint's fault. */
  readonly failed: (passage: Passage, call: OpenCall, isIts: boolean) => void
}

const kind = new KeptKind<EndpointHealth>("health of an endpoint")

/**
 * Compiles the watch over an endpoint. Its health outlives a reload, and is that of a provider with one credential: what another one
 * has used up says nothing of it. Problems carry paths below the policy.
 */
export const compileWatched = (
  { name, provider, hostOverride, pathOverride, pathPrefix, connections = {} }: EndpointConfig,
  { health: policy, backendAuth }: EndpointPolicies
): Effect.Effect<Watched, ReadonlyArray<ConfigProblem>, Kept | Scope.Scope> =>
  Effect.gen(function* () {
    const { keep } = yield* Kept
    const clock = yield* Monotonic
    const credentials = [backendAuth, shownBy(connections)]
    const health = yield* keep(
      kind,
      fingerprint([name, provider, hostOverride, pathOverride, pathPrefix, credentials]),
      Effect.sync(() => new EndpointHealth())
    )
    const unhealthy =
      policy?.unhealthyExpression === undefined
        ? undefined
        : yield* compileExpression(policy.unhealthyExpression, "log", ["unhealthyExpression"])
    const isBad =
      unhealthy === undefined ? (x: Exchange) => isFailure(x.response!) : (x: Exchange) => unhealthy.test(x.variables)
    return {
      health,
      begin: () => {
        const call = health.begin()
        call.sent(clock())
        return call
      },
      answered: (x, passage, call) => {
        const waited = call.answered(passage.answered!)
        if (!isBad(x)) {
          health.succeeded(waited)
          return
        }
        const { status, headers } = x.response!
        const hint = status === 429 ? retryHint((header) => headers.get(header), x.now) : undefined
        health.failed(clock(), policy?.eviction, hint ?? passage.attempts?.pause)
      },
      failed: (passage, call, isIts) => {
        call.answered(clock())
        if (isIts) health.failed(clock(), policy?.eviction, passage.attempts?.pause)
      }
    }
  })
