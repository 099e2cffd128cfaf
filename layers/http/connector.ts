/** Connections as undici makes them, for those who still call through it. */
import { buildConnector } from "undici"
import { type ConnectionSettings, lookupOf, trust } from "./connection-settings.ts"

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
