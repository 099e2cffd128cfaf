/** The TCP connection below a TLS socket, which the runtime keeps to itself: it alone can be reset, closed early, and asked what it sends. */
import { Socket } from "node:net"

export const transportOf = (socket: object): Socket | undefined => {
  const below: unknown = Reflect.get(socket, "_parent")
  return below instanceof Socket ? below : undefined
}

/** What the system has not taken yet of the write that is under way: the runtime counts a write when all of it is gone. */
export const queuedBytes = (socket: Socket): number => {
  const handle: unknown = Reflect.get(transportOf(socket) ?? socket, "_handle")
  const queued: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "writeQueueSize") : 0
  return typeof queued === "number" ? queued : 0
}
