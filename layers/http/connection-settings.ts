/** How connections to a backend are made: within what time, to which of its addresses, whom they trust, and how their silence is probed. */
import type { Address } from "../../spec/target.ts"
import type {
  Addresses,
  FixedOptions,
  FixedTunnel,
  Probes,
  UpstreamOptions,
  UpstreamTls
} from "../../src/services/upstreams.ts"

/** What holds where nobody says otherwise (milliseconds): the defaults of `config.backend` and `config.dns`. */
const standard = {
  connectTimeout: 10_000,
  idleTimeout: 90_000,
  maxConnections: undefined,
  probes: { time: 180_000, interval: 180_000, retries: 9 },
  addresses: "v4 first"
} satisfies UpstreamOptions

/** The options of a backend, none left open. */
export interface ConnectionSettings {
  readonly tls: UpstreamTls | undefined
  readonly connectTimeout: number
  readonly idleTimeout: number
  readonly maxConnections: number | undefined
  readonly probes: Probes | "none"
  readonly addresses: Addresses
  readonly bodyIdleTimeout: number | undefined
  readonly tunnel: FixedTunnel | undefined
}

/** A target with TLS trusts the system where nobody says whom else. */
export const settle = (target: Address, options: FixedOptions): ConnectionSettings => ({
  tls: options.tls ?? (target.kind === "tcp" && target.tls ? { verify: "everything" } : undefined),
  connectTimeout: options.connectTimeout ?? standard.connectTimeout,
  idleTimeout: options.idleTimeout ?? standard.idleTimeout,
  maxConnections: options.maxConnections === Infinity ? undefined : options.maxConnections,
  probes: options.probes ?? standard.probes,
  addresses: options.addresses ?? standard.addresses,
  bodyIdleTimeout: options.bodyIdleTimeout,
  tunnel: options.tunnel
})
