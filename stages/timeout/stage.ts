/**
 * timeout: how long the client waits for response headers. It notes the limits; the engine keeps that of the request, the
 * call of a backend both where it can. Bodies are never cut: a stream may last.
 */
import { Effect } from "effect"
import { next, policy, slots } from "../../src/policy/policy.ts"
import { Timeout } from "./schema.ts"

export const timeout = policy({
  name: "timeout",
  traceKey: "timeout",
  schema: Timeout,
  sites: ["route"],
  responds: [],
  reads: [],
  writes: [slots.timeouts],
  outcomes: ["next"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config) =>
    Effect.sync(() => {
      const limits = { request: config.requestTimeout, backend: config.backendRequestTimeout }
      return [
        {
          name: "timeout",
          phase: "request",
          run: (x) => {
            x.set(slots.timeouts, limits)
            return next
          }
        }
      ]
    })
})
