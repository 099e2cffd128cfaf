/**
 * Ports that nobody listens on, at any address: for a program that has to be told its port. Another may take one before it
 * does, so what can listen on port 0 and say which port that became needs none of these.
 */
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"

/** Several, all different: each is held until the last is found. */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0))
  await Promise.all(servers.map((server) => once(server, "listening")))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))))
  return ports
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!
