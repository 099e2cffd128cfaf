/**
 * Protection against pages that reach a gateway on the machine of their reader: across sites, or through a name of their
 * own that they had resolved to this machine (DNS rebinding). A browser tells what it addresses and for whom, and nobody
 * but it needs to be believed: others than pages can say what they like, and reach the port anyway.
 */
import type { McpRequest } from "./contract.ts"

/** Body of the 403. */
export const rebindingMessage = "MCP DNS rebinding protection: Host/Origin must be localhost, 127.0.0.1, or [::1]"

const local = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]*)?$/i
const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]*)?$/i

type Addressed = Pick<McpRequest, "authority" | "headers" | "namedHost" | "allowedOrigin" | "loopback">

/** @param protection the setting; `undefined` leaves it to the listener. */
export const isRebound = (protection: boolean | undefined, request: Addressed): boolean => {
  const { loopback } = request
  if (protection === false || (protection === undefined && loopback === undefined)) return false
  return protection === true || loopback!.only ? !isLocal(request) : isPageOfItsOwn(request, loopback!.port)
}

/** Whether a request names this machine, by a local or a configured name, and no page of another origin sent it. */
const isLocal = ({ authority, headers, namedHost = false, allowedOrigin = false }: Addressed): boolean => {
  if (!local.test(authority) && !namedHost) return false
  const origins = originsOf(headers)
  if (origins.length === 0) return true
  const [origin] = origins
  return origins.length === 1 && (localOrigin.test(origin!) || allowedOrigin || (namedHost && isOf(origin!, authority)))
}

/**
 * The mark of a rebound page: it was loaded from the very port of the listener, under a name that means nothing here. One
 * that came by way of a proxy was loaded from the port of the proxy.
 */
const isPageOfItsOwn = ({ authority, headers, namedHost, allowedOrigin }: Addressed, port: number): boolean => {
  if (namedHost === true || allowedOrigin === true || local.test(authority)) return false
  if (!authority.endsWith(`:${port}`) && !(port === 80 && !/:[0-9]+$/.test(authority))) return false
  return originsOf(headers).some((origin) => origin.toLowerCase() === `http://${authority.toLowerCase()}`)
}

const isOf = (origin: string, authority: string): boolean =>
  origin.toLowerCase() === `http://${authority.toLowerCase()}` ||
  origin.toLowerCase() === `https://${authority.toLowerCase()}`

const originsOf = (headers: ReadonlyArray<string>): ReadonlyArray<string> => {
  const origins: Array<string> = []
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === "origin") origins.push(headers[i + 1]!)
  return origins
}
