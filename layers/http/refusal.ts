/** Answers for requests that never became one: written past node's response objects, then the connection is closed. */
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"

/** How long a peer may go on sending after the last word was said, in milliseconds. */
const lingering = 1000

/**
 * Closes a connection whose peer may still be sending. Closing it at once would reset it, and the peer could lose the
 * answer that it was about to read.
 */
export const closeGently = (socket: Socket): void => {
  if (socket.destroyed) return
  const timer = setTimeout(() => socket.destroy(), lingering).unref()
  socket.once("close", () => clearTimeout(timer))
  socket.end()
}

/** Refuses with a line of text, and closes. */
export const refuse = (socket: Socket, status: number, message: string, now: number): void => {
  if (socket.writable)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\ncontent-type: text/plain\r\n` +
        `content-length: ${Buffer.byteLength(message)}\r\ndate: ${new Date(now).toUTCString()}\r\n` +
        `connection: close\r\n\r\n${message}`
    )
  closeGently(socket)
}

/** What is said to bytes that the parser cannot take for HTTP/1.1. */
export const parserRefusal = (code: string | undefined): readonly [status: number, message: string] => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "request headers too large"]
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "chunk extensions too large"]
    default:
      return [400, "malformed request"]
  }
}
