/** What node's parser has before it: for the rare questions that its events leave open. */
import type { IncomingMessage } from "node:http"

/** The packet that is being parsed; `undefined` when node does not show it. */
const packetOf = (request: IncomingMessage): Buffer | undefined => {
  const parser: unknown = Reflect.get(request.socket, "parser")
  if (typeof parser !== "object" || parser === null) return undefined
  const current: unknown = Reflect.get(parser, "getCurrentBuffer")
  const packet: unknown = typeof current === "function" ? current.call(parser) : undefined
  return Buffer.isBuffer(packet) ? packet : undefined
}

const headEnd = "\r\n\r\n"

/**
 * Whether a request, when its head has just been read, is known to be all that there is: its packet holds it from the first
 * byte to the last one, and no more.
 */
export const wholeMessage = (request: IncomingMessage): boolean => {
  const packet = packetOf(request)
  const start = startOf(request)
  if (packet?.toString("latin1", 0, start.length) !== start) return false
  const end = packet.indexOf(headEnd)
  const length = request.headers["content-length"] ?? "0"
  return (
    request.headers["transfer-encoding"] === undefined &&
    end >= 0 &&
    end + headEnd.length + Number(length) === packet.length
  )
}

/** Whether the packet shows that a request is of one of the protocols whose requests node's parser takes for those of HTTP. */
export const isForeign = (request: IncomingMessage): boolean => {
  const packet = packetOf(request)
  return packet !== undefined && foreign.some((protocol) => packet.includes(startOf(request) + protocol, 0, "latin1"))
}

const foreign = ["RTSP/", "ICE/"]

const startOf = ({ method, url }: IncomingMessage): string => `${method} ${url} `
