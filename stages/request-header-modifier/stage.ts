/** requestHeaderModifier: adds, sets and removes request headers before the backend sees them. */
import { Effect } from "effect"
import { canonicalAuthority, compileHeaderChanges, next, policy, slots } from "../../src/policy/policy.ts"
import { RequestHeaderModifier } from "./schema.ts"

export const requestHeaderModifier = policy({
  name: "requestHeaderModifier",
  traceKey: "requestHeaderModifier",
  schema: RequestHeaderModifier,
  sites: ["route", "backend"],
  responds: [],
  reads: [],
  writes: [slots.authorityRewritten],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client" },
  compile: (config) =>
    Effect.suspend(() => {
      const changes = compileHeaderChanges(config)
      if ("problems" in changes) return Effect.fail(changes.problems)
      const { apply } = changes
      // `host` is no header of the list: it is the authority.
      const host = changes.host === undefined ? undefined : canonicalAuthority(changes.host, "http")
      if (changes.host !== undefined && host === undefined)
        return Effect.fail([{ path: ["set", "host"], message: "expected a host, or host:port" }])
      return Effect.succeed([
        {
          name: "requestHeaderModifier",
          phase: "request",
          run: (x) => {
            apply(x.request.headers)
            if (host !== undefined) {
              x.request.authority = host
              x.set(slots.authorityRewritten, true)
            }
            return next
          }
        }
      ])
    })
})
