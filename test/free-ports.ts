/**
 * Ports that nobody listens on, at any address: for a program that has to be told its port. Another may take one before it
 * does, so what can listen on port 0 and say which port that became needs none of these.
 */
import { createServer } from "node:net"

const canListen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })

// Below the ports that systems give to whoever does not ask for one, and a thousand for each worker: a port that the system
// chose for a moment may be somebody's connection in the next.
const block = 20_000 + (Number(process.env["VITEST_POOL_ID"] ?? 0) % 12) * 1_000
let drawn = process.pid % 1_000

export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 1_000; tries++) {
    const port = block + (drawn++ % 1_000)
    if (await canListen(port)) return port
  }
  throw new Error(`every port from ${block} on is taken`)
}

/** Several, all different. */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const ports: Array<number> = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}
