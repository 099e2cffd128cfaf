/** Server-sent events as the relay writes them (HTML standard, 9.2): one event `message` for each JSON-RPC message. */
import type { McpEventMark } from "../../services/mcp-transport.ts"

/** A comment that keeps a quiet connection from being taken for dead. */
export const keepAlive = ": ping\n\n"

/** `message` is on one line; an empty one with a mark primes the client for a resumption. */
export const event = (message: string, mark: McpEventMark | undefined): string => {
  if (mark === undefined) return `event: message\ndata: ${message}\n\n`
  const id = mark.id === undefined ? "" : `id: ${mark.id}\n`
  const retry = mark.retry === undefined ? "" : `retry: ${mark.retry}\n`
  return message === "" ? `${id}${retry}data: \n\n` : `event: message\n${id}${retry}data: ${message}\n\n`
}
