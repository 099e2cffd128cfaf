/** The addresses of the management servers: `off`, `unix:/path`, `localhost:port` (both loopbacks) or `ip:port`. */
import { isIP } from "node:net"
import type { Address } from "./http/address.ts"

/** Reads an address; `undefined` for `off`, and a text that says what is wrong with it. */
export const parseAdminAddress = (text: string): Address | undefined | string => {
  if (text === "off") return undefined
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length)
    return path === "" ? "the path of the socket is missing" : { _tag: "Unix", path }
  }
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:]*):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[2])
  if (match === null || port > 65_535) return "expected off, unix:/path, localhost:port or ip:port"
  const host = match[1]!.replace(/^\[|\]$/g, "")
  if (host === "localhost") return { _tag: "Localhost", port }
  if (isIP(host) === 0) return "a host name other than localhost is not an address: expected localhost:port or ip:port"
  return { _tag: "Tcp", host, port }
}

/** Whether only this machine can reach an address. */
export const isLocal = (address: Address): boolean => address._tag !== "Tcp" || isLoopback(address.host)

/** Whether an IP address, or the name localhost, stands for this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host) || /^::ffff:127\./i.test(host)
