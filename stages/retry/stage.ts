/** retry: further attempts at a backend after a call that failed, or after an answer that asks for it. It makes the plan; the engine walks it. */
import { Effect } from "effect"
import {
  compileExpression,
  next,
  type Plan,
  policy,
  preparation,
  slots,
  type Verdict
} from "../../src/policy/policy.ts"
import { Retry } from "./schema.ts"

/** Methods that do no harm twice (RFC 9110 9.2.2). */
const harmless = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

/** The header that tells the backend which try it is. */
const tries = "x-retry-attempt"

export const retry = policy({
  name: "retry",
  traceKey: "retry",
  schema: Retry,
  sites: ["route"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [slots.plan, slots.hedging],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ attempts, backoff, codes, precondition, condition, hedgeAfter }, { site }) =>
    Effect.gen(function* () {
      const may =
        precondition === undefined ? undefined : yield* compileExpression(precondition, site, ["precondition"])
      const asks = condition === undefined ? undefined : yield* compileExpression(condition, "response", ["condition"])
      if (attempts === 0 && hedgeAfter === undefined) return []
      const statuses = new Set<number>(codes)
      const plan: Plan = {
        attempts: attempts + 1,
        pause: backoff === 0 ? undefined : backoff,
        begins: (x, number) => {
          if (number === 1) return
          x.request.headers.set(tries, String(number - 1))
          x.fact("retry.attempt", number - 1)
        },
        again: ({ error, called, exchange: { response, variables } }) => {
          const isAgain =
            error === undefined
              ? response !== undefined && (statuses.has(response.status) || asks?.test(variables) === true)
              : // What a policy of the backend refuses, it refuses again.
                called && error.source === "backend"
          return isAgain ? (backoff ?? 0) : undefined
        }
      }
      const prepare = may === undefined ? undefined : preparation([may])
      return [
        {
          name: "retry",
          phase: "request",
          run: (x): Effect.Effect<Verdict> => {
            // Which try it is nobody but this proxy says.
            x.request.headers.delete(tries)
            const decide = () => {
              if (may !== undefined && !may.test(x.variables)) return next
              if (attempts > 0) x.set(slots.plan, plan)
              if (hedgeAfter !== undefined && harmless.has(x.request.method) && x.upgrade === undefined)
                x.set(slots.hedging, hedgeAfter)
              return next
            }
            return prepare === undefined
              ? decide()
              : Effect.matchEffect(prepare(x), { onFailure: decide, onSuccess: decide })
          }
        }
      ]
    })
})
