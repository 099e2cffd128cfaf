/** What all calls of models are made with: clocks, chance, counters, the books. */
import { Effect } from "effect"
import { Monotonic } from "../../src/policy/policy.ts"
import { Metrics, Random, Tokenizer } from "../../src/policy/terminal.ts"
import { Catalogs } from "../../src/protocols/llm/cost/catalogs.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { places } from "../../src/protocols/llm/guard/texts.ts"
import { type Accounting, makeAccounting } from "./account.ts"
import { guardChecks } from "./series.ts"

export interface Engine {
  readonly accounting: Accounting
  readonly clock: () => number
  readonly random: () => number
  readonly tokenizer: Tokenizer["Service"]
  readonly guarded: (phase: "Request" | "Response", outcome: GuardOutcome) => void
}

export const makeEngine = Effect.gen(function* () {
  // Now, so that no request waits for it.
  places()
  const clock = yield* Monotonic
  const metrics = yield* Metrics
  const catalogs = yield* Catalogs
  const checks = guardChecks(metrics)
  const engine: Engine = {
    clock,
    random: yield* Random,
    accounting: makeAccounting(metrics, catalogs.current),
    tokenizer: yield* Tokenizer,
    guarded: (phase, { action }) => checks.series([phase, action]).record(1)
  }
  return engine
})
