/** The addresses of the management servers: `off`, `unix:/path`, `localhost:port` (both loopbacks) or `ip:port`. */
import { isIP } from "node:net"

export type AdminAddress =
  | { readonly _tag: "Off" }
  | { readonly _tag: "Socket"; readonly path: string }
  | { readonly _tag: "Tcp"; readonly hosts: ReadonlyArray<string>; readonly port: number; readonly loopback: boolean }

/** Reads an address; a text says what is wrong with it. */
export const parseAdminAddress = (text: string): AdminAddress | string => {
  if (text === "off") return { _tag: "Off" }
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length)
    return path === "" ? "the path of the socket is missing" : { _tag: "Socket", path }
  }
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:]*):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[2])
  if (match === null || port > 65_535) return "expected off, unix:/path, localhost:port or ip:port"
  const host = match[1]!.replace(/^\[|\]$/g, "")
  if (host === "localhost") return { _tag: "Tcp", hosts: ["127.0.0.1", "::1"], port, loopback: true }
  if (isIP(host) === 0) return "a host name other than localhost is not an address: expected localhost:port or ip:port"
  return { _tag: "Tcp", hosts: [host], port, loopback: isLoopback(host) }
}

/** Whether an IP address, or the name localhost, stands for this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host) || /^::ffff:127\./i.test(host)
