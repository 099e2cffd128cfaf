/** The addresses of the management servers: `off`, `unix:/path`, `localhost:port` (both loopbacks) or `ip:port`. */
import { isLoopback } from "../spec/standalone/address.ts"
import { familyOf } from "../src/http/ip.ts"
import { type Address, addressOf } from "./http/address.ts"

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
  if (host !== "localhost" && familyOf(host) === 0)
    return "a host name other than localhost is not an address: expected localhost:port or ip:port"
  return addressOf(host, port)
}

/** Whether only this machine can reach an address. */
export const isLocal = (address: Address): boolean => address._tag !== "Tcp" || isLoopback(address.host)
