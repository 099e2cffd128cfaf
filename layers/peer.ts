/** The two ends of a client's connection, as policies and logs see them. */
import type { Socket } from "node:net"
import { isLoopback } from "../spec/standalone/address.ts"
import type { Peer, PeerTls } from "../src/pipeline/view.ts"
import { plainAddress } from "./plain-address.ts"
import type { Origin } from "./tcp/proxy-header.ts"

/**
 * @param only whether nobody but this machine reaches the listener. @param tls what its handshake has said of it.
 * @param origin who the client is, where somebody before the proxy has told.
 */
export const peerOf = (socket: Socket, only: boolean, tls: PeerTls | undefined, origin: Origin | undefined): Peer => {
  const rawAddress = plainAddress(socket.remoteAddress ?? "")
  const rawPort = socket.remotePort ?? 0
  const { address, port } = origin ?? { address: rawAddress, port: rawPort }
  const { localAddress, localPort = 0 } = socket
  const loopback = localAddress !== undefined && isLoopback(localAddress) ? { port: localPort, only } : undefined
  const destination = localAddress === undefined ? undefined : { address: plainAddress(localAddress), port: localPort }
  return { address, port, rawAddress, rawPort, destination, loopback, tls }
}
