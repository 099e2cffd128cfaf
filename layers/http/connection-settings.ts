/** How connections to a backend are made: within what time, to which of its addresses, whom they trust, and how their silence is probed. */
import type { Address } from "../../spec/target.ts"
import type {
  Addresses,
  FixedOptions,
  FixedTunnel,
  Probes,
  UpstreamOptions,
  UpstreamTls,
  Version
} from "../../src/services/upstreams.ts"

/** How silence is probed where nobody says otherwise, of clients as of backends (milliseconds). */
export const standardProbes: Probes = { time: 180_000, interval: 180_000, retries: 9 }

/** What holds where nobody says otherwise (milliseconds): the defaults of `config.backend` and `config.dns`. */
const standard = {
  connectTimeout: 10_000,
  idleTimeout: 90_000,
  maxConnections: undefined,
  probes: standardProbes,
  addresses: "v4 first"
} satisfies UpstreamOptions

/** The options of a backend, none left open. */
export interface ConnectionSettings {
  readonly version: Version | undefined
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
  version: options.version,
  tls: options.tls ?? (target.kind === "tcp" && target.tls ? { verify: "everything" } : undefined),
  connectTimeout: options.connectTimeout ?? standard.connectTimeout,
  idleTimeout: options.idleTimeout ?? standard.idleTimeout,
  maxConnections: options.maxConnections === Infinity ? undefined : options.maxConnections,
  probes: options.probes ?? standard.probes,
  addresses: options.addresses ?? standard.addresses,
  bodyIdleTimeout: options.bodyIdleTimeout,
  tunnel: options.tunnel
})

/** In which version calls are sent that would prefer one; `either`: the backend chooses. */
export const versionOf = ({ version, tls }: ConnectionSettings, preferred: Version): Version | "either" => {
  if (version !== undefined || tls?.alpn === undefined) return version ?? preferred
  const [has1, has2] = [tls.alpn.includes("http/1.1"), tls.alpn.includes("h2")]
  return has1 && has2 ? "either" : has2 ? "2" : has1 ? "1.1" : preferred
}
