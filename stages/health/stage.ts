/**
 * health: which answers of an endpoint are bad ones, and for how long it is left alone after them. It notes how to judge; whoever has
 * chosen the endpoint does so when the answer is there.
 */
import { Effect } from "effect"
import { compileExpression, next, policy, slots } from "../../src/policy/policy.ts"
import { Health } from "./schema.ts"

export const health = policy({
  name: "health",
  traceKey: "health",
  schema: Health,
  sites: ["backend"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [slots.judgement],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ unhealthyExpression, eviction }) =>
    Effect.gen(function* () {
      const expression =
        unhealthyExpression === undefined
          ? undefined
          : yield* compileExpression(unhealthyExpression, "log", ["unhealthyExpression"])
      const judgement: slots.HealthJudgement = {
        isUnhealthy: expression === undefined ? undefined : (variables) => expression.test(variables),
        eviction
      }
      return [
        {
          name: "health",
          phase: "request",
          run: (x) => {
            x.set(slots.judgement, judgement)
            return next
          }
        }
      ]
    })
})
