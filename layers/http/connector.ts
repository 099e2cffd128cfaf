/** Connections as undici makes them, for those who still call through it. */
import { type LookupOptions, lookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { buildConnector } from "undici"
import type { Addresses } from "../../src/services/upstreams.ts"
import { type ConnectionSettings, trust } from "./connection-settings.ts"

const lookups: Readonly<Record<Addresses, LookupOptions>> = {
  all: { order: "verbatim" },
  "v4 first": { order: "ipv4first" },
  v4: { family: 4 },
  v6: { family: 6 }
}

/** Finds the addresses of a name. */
const lookupOf =
  (addresses: Addresses): LookupFunction =>
  (host, options, found) =>
    lookup(host, { ...options, ...lookups[addresses] }, found)

/** Speaks HTTP/1.1. */
export const connectorOf = ({
  tls,
  connectTimeout,
  probes,
  addresses
}: ConnectionSettings): buildConnector.connector => {
  const connect = buildConnector({
    ...trust(tls),
    timeout: connectTimeout,
    keepAlive: false,
    allowH2: false,
    lookup: lookupOf(addresses)
  })
  if (probes === "none") return connect
  return (at, done) =>
    connect(at, (...made) => {
      made[1]?.setKeepAlive(true, probes.time, probes.interval, probes.retries)
      done(...made)
    })
}
