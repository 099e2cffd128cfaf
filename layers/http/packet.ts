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

/** Whether the packet shows that a request is of one of the protocols whose requests node's parser takes for those of HTTP. */
export const isForeign = (request: IncomingMessage): boolean => {
  const packet = packetOf(request)
  return packet !== undefined && foreign.some((protocol) => packet.includes(startOf(request) + protocol, 0, "latin1"))
}

const foreign = ["RTSP/", "ICE/"]

const startOf = ({ method, url }: IncomingMessage): string => `${method} ${url} `
