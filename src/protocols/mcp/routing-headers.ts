/**
 * `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`: parts of a message repeated in headers, so that a proxy can route
 * without reading the body (revision 2026-07-28). They must agree with the body, and must be written anew for a target,
 * which knows its items by other names.
 */
import { Buffer } from "node:buffer"
import { path, stringIn } from "../../json/text.ts"
import type { RpcNotification, RpcRequest } from "./envelope.ts"
import { code, type McpFailure, rpcRefusal } from "./errors.ts"
import { header } from "./headers.ts"

const parameter = /^mcp-param-/i
const wrapped = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/
const looksWrapped = /^=\?base64\?.*\?=$/s
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const invalid = (name: string): McpFailure =>
  rpcRefusal(400, code.headerMismatch, `invalid MCP routing header: ${name}`)
const unequal = (name: string): McpFailure => rpcRefusal(400, code.headerMismatch, `${name} header/body mismatch`)

const decoded = (value: string): string | undefined => {
  if (!looksWrapped.test(value)) return value
  const base64 = wrapped.exec(value)?.[1]
  if (base64 === undefined) return undefined
  const bytes = Buffer.from(base64, "base64")
  if (bytes.toString("base64") !== base64) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** A header value that stands for any text: wrapped in base64 where a header could not carry it. */
export const encodedHeader = (value: string): string =>
  plain.test(value) && !looksWrapped.test(value) ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`

const nameMembers: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "resources/subscribe": "uri",
  "resources/unsubscribe": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId"
}

const compare = (name: string, sent: string | undefined, due: string, required: boolean): McpFailure | undefined => {
  if (sent === undefined) return required ? invalid(name) : undefined
  const value = decoded(sent)
  return value === undefined ? invalid(name) : value === due ? undefined : unequal(name)
}

/** Why the headers contradict the message, if they do. Clients before 2026-07-28 need not send any. */
export const routingHeaderFault = (
  headers: ReadonlyArray<string>,
  message: RpcRequest | RpcNotification,
  modern: boolean
): McpFailure | undefined => {
  const method = compare("Mcp-Method", header(headers, "mcp-method"), message.method, modern)
  if (method !== undefined) return method
  const key = nameMembers[message.method]
  const due = key === undefined ? undefined : stringIn(message.text, path(message.text, message.params?.members, key))
  if (due !== undefined) {
    const name = compare("Mcp-Name", header(headers, "mcp-name"), due, modern)
    if (name !== undefined) return name
  }
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (parameter.test(name) && decoded(headers[i + 1]!) === undefined) return invalid(name)
  }
  return undefined
}

/** The headers for a target: those of the client, with the routing headers of the message that really leaves. */
export const withRoutingHeaders = (
  forwarded: ReadonlyArray<string>,
  method: string | undefined,
  name: string | undefined
): ReadonlyArray<string> => {
  if (method === undefined) return forwarded
  const headers = [...forwarded, "mcp-method", method]
  if (name !== undefined && nameMembers[method] !== undefined) headers.push("mcp-name", encodedHeader(name))
  return headers
}
