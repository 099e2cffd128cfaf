/** host: calls a plain HTTP backend at a host and port, or at a Unix socket. */
import { Effect } from "effect"
import { formatAddress, HostPort } from "../../spec/target.ts"
import { terminal } from "../../src/pipeline/terminal.ts"
import { callUpstream, ownAuthority } from "../../src/pipeline/upstream-call.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { Upstreams } from "../../src/services/upstreams.ts"

export const backendHost = terminal({
  name: "host",
  schema: HostPort,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (target) =>
    Effect.gen(function* () {
      const clock = yield* Monotonic
      const upstream = yield* (yield* Upstreams).open(target, {})
      return {
        type: "static",
        protocol: "http",
        target: formatAddress(target),
        authority: ownAuthority(target),
        call: (x) => callUpstream(x, upstream, clock)
      }
    })
})
