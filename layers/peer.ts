/** The two ends of a client's connection, as policies and logs see them. */
import type { Socket } from "node:net"
import { isLoopback } from "../spec/standalone/address.ts"
import type { Peer, PeerTls } from "../src/pipeline/view.ts"
import { plainAddress } from "./plain-address.ts"

/** @param only whether nobody but this machine reaches the listener. @param tls what its handshake has said of it. */
export const peerOf = (socket: Socket, only: boolean, tls: PeerTls | undefined): Peer => {
  const address = plainAddress(socket.remoteAddress ?? "")
  const port = socket.remotePort ?? 0
  const { localAddress, localPort = 0 } = socket
  const loopback = localAddress !== undefined && isLoopback(localAddress) ? { port: localPort, only } : undefined
  const destination = localAddress === undefined ? undefined : { address: plainAddress(localAddress), port: localPort }
  return { address, port, rawAddress: address, rawPort: port, destination, loopback, tls }
}
