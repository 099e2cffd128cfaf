/** The TCP connection below a TLS socket, which the runtime keeps to itself: it alone can be reset, and closed early. */
import { Socket } from "node:net"

export const transportOf = (socket: object): Socket | undefined => {
  const below: unknown = Reflect.get(socket, "_parent")
  return below instanceof Socket ? below : undefined
}
