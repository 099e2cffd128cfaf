/**
 * Which kind of IP address a text is. Node's own `isIP` takes a pattern for IPv6 whose translation, when it is first used
 * and once more when it is used again, takes as long as a tenth of a whole start.
 */
import { isIPv4, SocketAddress } from "node:net"

/** 0 for what is no address. */
export const familyOf = (text: string): 0 | 4 | 6 =>
  text.includes(":") ? (isIpv6(text) ? 6 : 0) : isIPv4(text) ? 4 : 0

const zone = /^[0-9A-Za-z.:-]+$/
/** The runtime reads no further than a zero byte. */
const digits = /^[0-9A-Fa-f:.]+$/

const isIpv6 = (text: string): boolean => {
  const [address = "", ...zones] = text.split("%")
  if (!digits.test(address) || zones.length > 1 || (zones.length === 1 && !zone.test(zones[0]!))) return false
  try {
    new SocketAddress({ address, family: "ipv6" })
    return true
  } catch {
    return false
  }
}
