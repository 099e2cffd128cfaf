/** host: calls a plain HTTP backend at a host and port, or at a Unix socket. */
import { Effect } from "effect"
import { next, slots } from "../../src/policy/policy.ts"
import {
  type Address,
  type CompiledBackend,
  type CompiledStreams,
  type ConnectionOptions,
  callUpstream,
  formatAddress,
  HostPort,
  ownAuthority,
  type Streams,
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
  compile: (target, at, _name, connections) =>
    isPointless(target, connections)
      ? Effect.fail([{ path: at, message: pointless }])
      : Effect.flatMap(Upstreams, (upstreams) =>
          Effect.map(upstreams.open(target, connections), (upstream) =>
            compiledBackend(formatAddress(target), ownAuthority(target), upstream)
          )
        ),
  streams: (target, at, connections) =>
    isPointless(target, connections)
      ? Effect.fail([{ path: at, message: pointless }])
      : Effect.flatMap(Upstreams, (upstreams) =>
          Effect.map(upstreams.openStreams(target, connections), (streams) =>
            compiledStreams(formatAddress(target), streams)
          )
        )
})

const isPointless = ({ kind }: Address, { tunnel }: ConnectionOptions): boolean =>
  kind === "unix" && tunnel !== undefined
const pointless = "a socket of this machine is not reached through a proxy (backendTunnel)"

/** There is one endpoint. The addresses of a name are tried by whoever connects. */
const compiledStreams = (target: string, streams: Streams): CompiledStreams => {
  const ignore = () => {}
  const endpoint = { target, streams, connected: ignore, failed: ignore, over: ignore }
  return {
    type: "static",
    target,
    attempts: () => {
      let isTried = false
      return () => {
        if (isTried) return undefined
        isTried = true
        return endpoint
      }
    }
  }
}

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
