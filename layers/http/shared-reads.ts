/**
 * One buffer for what all connections of clients read. The runtime makes a new one of 64 KiB for each read of a socket that its
 * server has accepted, and cuts it down to what came; sockets that we open ourselves are given one by an option (`onread`), which
 * an accepted one has no place for. So it is put where that option puts it, in fields that the runtime keeps to itself: 4 % of
 * a request (docs/decisions/http-server.md). A runtime that has no such fields reads as it always did.
 */
import type { Socket } from "node:net"
import { transportOf } from "../tls/transport.ts"

const shared = Buffer.allocUnsafeSlow(65_536)

/** The fields behind `onread` of `net.Socket`. */
interface Fields {
  readonly buffer: symbol
  readonly callback: symbol
  readonly next: symbol
}

/** Found once: all sockets have the same. */
let fields: Fields | undefined | "unknown" = "unknown"

const fieldsOf = (socket: Socket): Fields | undefined => {
  const symbols = Object.getOwnPropertySymbols(socket)
  const named = (name: string) => symbols.find(({ description }) => description === name)
  const [buffer, callback, next] = [named("kBuffer"), named("kBufferCb"), named("kBufferGen")]
  return buffer === undefined || callback === undefined || next === undefined ? undefined : { buffer, callback, next }
}

interface Handle {
  readonly useUserBuffer: (buffer: Uint8Array) => void
}

const isHandle = (value: unknown): value is Handle =>
  typeof value === "object" && value !== null && "useUserBuffer" in value && typeof value.useUserBuffer === "function"

/**
 * From here on the socket reads into `memory`, and `received` is called in place of listeners to `data`; what was read before and
 * nobody took still goes to those. Neither function may throw.
 * @param next asked after each read where the next one goes; absent: always there.
 * @returns whether it does; otherwise nothing has changed.
 */
export const readInto = (
  socket: Socket,
  memory: Buffer,
  received: (length: number) => void,
  next?: () => Buffer
): boolean => {
  const handle: unknown = Reflect.get(socket, "_handle")
  // TLS reads into memory of its own.
  if (!isHandle(handle) || transportOf(socket) !== undefined) return false
  if (fields === "unknown") fields = fieldsOf(socket)
  if (fields === undefined) return false
  const take = (length: number): boolean => {
    received(length)
    return true
  }
  Reflect.set(socket, fields.buffer, memory)
  Reflect.set(socket, fields.callback, take)
  if (next !== undefined) Reflect.set(socket, fields.next, next)
  handle.useUserBuffer(memory)
  return true
}

/** Undoes it for whoever takes a paused socket over: what is read from here on comes as on any other socket. */
export const readAlone = (socket: Socket): void => {
  if (fields === "unknown" || fields === undefined || Reflect.get(socket, fields.buffer) !== shared) return
  // The runtime goes on reading into the buffer: it takes none away.
  const take = (length: number): boolean => socket.push(Buffer.from(shared.subarray(0, length)))
  Reflect.set(socket, fields.callback, take)
  // Pausing has stopped its reads, unlike those of any other: who waits for it to be readable would wait for ever.
  socket.read(0)
}

/** The same into the shared buffer. `received` may not throw. */
export const readShared = (socket: Socket, received: (bytes: Buffer) => void): boolean =>
  readInto(socket, shared, (length) => received(shared.subarray(0, length)))

/** The same bytes, for whoever keeps them longer than the call that brought them. */
export const lasting = (bytes: Buffer): Buffer => (bytes.buffer === shared.buffer ? Buffer.from(bytes) : bytes)
