/** Answers for requests that never became one, behind which the connection is closed. */
import type { Socket } from "node:net"
import { transportOf } from "../tls/transport.ts"
import { dateAt, statusLine } from "./response-head.ts"

/** What is said. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** The methods that are served, where another one is the reason (RFC 9110 15.5.6). */
  readonly allow?: string | undefined
  /** Seconds after which it may be tried again. */
  readonly retryAfter?: number | undefined
}

/** How long a peer may go on sending after the last word was said, in milliseconds. */
const lingering = 1000

/**
 * Closes a connection whose peer may still be sending. Closing it at once would reset it, and the peer could lose the
 * answer that it was about to read.
 */
export const closeGently = (socket: Socket): void => {
  if (socket.destroyed) return
  setTimeout(destroy, lingering, socket).unref()
  socket.end()
  // What still comes is read and dropped: bytes that lie unread would reset the connection when it closes.
  socket.resume()
}

/** Closes a connection so that its peer does not take what came for the whole. Only TCP has such an end; others just close. */
export const reset = (socket: Socket): void => {
  try {
    const transport = transportOf(socket) ?? socket
    transport.resetAndDestroy()
  } catch {
    // Below.
  }
  socket.destroy()
}

const destroy = (socket: Socket): void => {
  socket.destroy()
}

/** Refuses with a line of text, and closes. */
export const refuse = (socket: Socket, refusal: Refusal, now: number): void => {
  if (socket.writable) socket.write(refusalText(refusal, now, "close"))
  closeGently(socket)
}

/** The whole response. */
export const refusalText = (
  { status, message, allow, retryAfter }: Refusal,
  now: number,
  connection: "close" | "keep-alive",
  hasBody = true
): string =>
  `${statusLine(status)}content-type: text/plain\r\n` +
  `content-length: ${Buffer.byteLength(message)}\r\ndate: ${dateAt(now)}\r\n` +
  `${allow === undefined ? "" : `allow: ${allow}\r\n`}` +
  `${retryAfter === undefined ? "" : `retry-after: ${retryAfter}\r\n`}` +
  `connection: ${connection}\r\n\r\n${hasBody ? message : ""}`

/** What is said to bytes that the parser cannot take for HTTP/1.1. */
export const parserRefusal = (why: string): Refusal => {
  switch (why) {
    case "head too long":
      return { status: 431, message: "request headers too large" }
    case "chunk extensions too long":
      return { status: 413, message: "chunk extensions too large" }
    default:
      return { status: 400, message: "malformed request" }
  }
}
