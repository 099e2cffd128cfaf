/** The two ends of a connection, as expressions read them. */
import type { HostVariable } from "../cel/phases.ts"
import type { Peer } from "./view.ts"

/** The peer itself, unless there is a certificate to be told of. */
export const sourceOf = (peer: Peer): HostVariable<"source"> => {
  const certificate = peer.tls?.clientCertificate
  return certificate === undefined ? peer : { ...peer, ...certificate }
}

/** The proxy's end, and the name by which its client asked for it. */
export const destinationOf = ({ destination, tls }: Peer): HostVariable<"destination"> => ({
  ...destination,
  hostname: tls?.serverName
})
