/** The client's end of a connection, as expressions read it. */
import type { HostVariable } from "../cel/phases.ts"
import type { Peer } from "./view.ts"

/** The peer itself, unless there is a certificate to be told of. */
export const sourceOf = (peer: Peer): HostVariable<"source"> => {
  const certificate = peer.tls?.clientCertificate
  return certificate === undefined ? peer : { ...peer, ...certificate }
}
