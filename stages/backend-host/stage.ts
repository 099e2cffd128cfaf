/** host: calls a plain HTTP backend at a host and port, or at a Unix socket. */
import { Effect } from "effect"
import { formatAddress, HostPort } from "../../spec/target.ts"
import { authorityRewritten, timeouts } from "../../src/pipeline/slots.ts"
import { next } from "../../src/pipeline/stage.ts"
import { type Call, type Callee, terminal } from "../../src/pipeline/terminal.ts"
import { callUpstream, ownAuthority } from "../../src/pipeline/upstream-call.ts"
import { type Upstream, Upstreams } from "../../src/services/upstreams.ts"

const reads = [authorityRewritten, timeouts] as const
type HostSlots = (typeof reads)[number]

export const backendHost = terminal({
  name: "host",
  schema: HostPort,
  reads,
  writes: [],
  outcomes: ["next", "fail"],
  nodes: { prepare: ["next"], answered: [] },
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (target) =>
    Effect.flatMap(Upstreams, (upstreams) =>
      Effect.map(upstreams.open(target, {}), (upstream) =>
        callee(formatAddress(target), ownAuthority(target), upstream)
      )
    )
})

const callee = (target: string, authority: string | undefined, upstream: Upstream): Callee<HostSlots> => ({
  type: "static",
  protocol: "http",
  target,
  prepare: authority === undefined ? undefined : named(authority),
  keepsTime: true,
  call: (x, passage) => callUpstream(x, passage, upstream)
})

/** A backend that is known by name is asked under that name, unless a policy has chosen another. */
const named = (authority: string) => (x: Call<HostSlots>) => {
  if (x.get(authorityRewritten) === undefined) x.request.authority = authority
  return next
}
