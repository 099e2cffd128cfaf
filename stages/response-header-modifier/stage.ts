/** responseHeaderModifier: adds, sets and removes headers of whatever answer leaves, errors included. */
import { Effect } from "effect"
import { compileHeaderChanges, next, policy } from "../../src/policy/policy.ts"
import { ResponseHeaderModifier } from "./schema.ts"

export const responseHeaderModifier = policy({
  name: "responseHeaderModifier",
  traceKey: "responseHeaderModifier",
  schema: ResponseHeaderModifier,
  sites: ["route", "backend"],
  responds: ["response"],
  reads: [],
  writes: [],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config) =>
    Effect.suspend(() => {
      const changes = compileHeaderChanges(config)
      if ("problems" in changes) return Effect.fail(changes.problems)
      const { apply } = changes
      return Effect.succeed([
        {
          name: "responseHeaderModifier",
          phase: "response",
          run: (x) => {
            if (x.response !== undefined) apply(x.response.headers)
            return next
          }
        }
      ])
    })
})
