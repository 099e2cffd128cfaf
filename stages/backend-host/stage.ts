/** host: calls a plain HTTP backend at a host and port, or at a Unix socket. */
import { Effect } from "effect"
import { next, slots } from "../../src/policy/policy.ts"
import {
  type CompiledBackend,
  callUpstream,
  formatAddress,
  HostPort,
  ownAuthority,
  type TerminalNode,
  terminal,
  type Upstream,
  Upstreams
} from "../../src/policy/terminal.ts"

const reads = [slots.authorityRewritten, slots.timeouts] as const
type HostSlots = (typeof reads)[number]

export const backendHost = terminal({
  name: "host",
  schema: HostPort,
  reads,
  writes: [],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (target, at, _name, connections) => {
    if (target.kind === "unix" && connections.tunnel !== undefined)
      return Effect.fail([
        { path: at, message: "a socket of this machine is not reached through a proxy (backendTunnel)" }
      ])
    return Effect.flatMap(Upstreams, (upstreams) =>
      Effect.map(upstreams.open(target, connections), (upstream) =>
        compiledBackend(formatAddress(target), ownAuthority(target), upstream)
      )
    )
  }
})

const compiledBackend = (
  target: string,
  authority: string | undefined,
  upstream: Upstream
): CompiledBackend<HostSlots> => ({
  type: "static",
  protocol: "http",
  target,
  nodes: authority === undefined ? [] : [named(authority)],
  reads: [slots.timeouts],
  keepsTime: true,
  call: (x, passage) => callUpstream(x, passage, upstream)
})

/** A backend that is known by name is asked under that name, unless a policy has chosen another. */
const named = (authority: string): TerminalNode<HostSlots> => ({
  name: "host",
  phase: "request",
  outcomes: ["next"],
  reads: [slots.authorityRewritten],
  run: (x) => {
    if (x.get(slots.authorityRewritten) === undefined) x.request.authority = authority
    return next
  }
})
