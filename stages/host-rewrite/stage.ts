/** hostRewrite: whether a backend that has a host name is asked under it, or under the name that the client asked for. */
import { Effect } from "effect"
import { next, policy, slots } from "../../src/policy/policy.ts"
import { HostRewrite } from "./schema.ts"

export const hostRewrite = policy({
  name: "hostRewrite",
  traceKey: "hostnameRewrite",
  schema: HostRewrite,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [slots.authorityRewritten],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ mode }) =>
    Effect.sync(() =>
      mode === "auto"
        ? []
        : [
            {
              name: "hostRewrite",
              phase: "request",
              run: (x) => {
                x.set(slots.authorityRewritten, true)
                return next
              }
            }
          ]
    )
})
