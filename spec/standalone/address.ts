/** Where servers listen: the addresses of gateways and binds, and those of the management servers, as the file writes them. */
import { Schema } from "effect"

const port = "(?:[0-9]|[1-9][0-9]{1,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
const octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
const ipv4 = `(?:${octet}\\.){3}${octet}`
const group = "[0-9A-Fa-f]{1,4}"
/** Eight groups, or fewer with one `::` at any place; the last two may stand as IPv4. */
const ipv6 = [
  `(?:${group}:){7}${group}`,
  `(?:${group}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(?:${group}:){1,${7 - after}}(?::${group}){1,${after}}`),
  `:(?::${group}){1,7}`,
  `::(?:[Ff]{4}:)?${ipv4}`,
  "::"
].join("|")
const socket = "unix:/.+"

/** Whether an IP address, or the name localhost, stands for this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  /^127(?:\.[0-9]{1,3}){3}$/.test(host) ||
  /^(?:0{0,4}:){2,7}0{0,3}1$/.test(host) ||
  /^(?:0{0,4}:){1,6}ffff:(?:127\.|7f[0-9a-f]{2}:)/i.test(host)

/**
 * One of several forms. Each is tried by itself: the translation of the pattern of all takes milliseconds, most of them for
 * IPv6, which stands in few files.
 */
const oneOf = (expected: string, ...forms: ReadonlyArray<string>) => {
  const pattern = (form: string) => new RegExp(`^(?:${form})$`, "u")
  const patterns = forms.map(pattern)
  const { annotations } = Schema.isPattern(pattern(forms.join("|")), { expected })
  return Schema.makeFilter((text: string) => patterns.some((each) => each.test(text)), annotations)
}

/** Where one of the own servers listens. */
export const BindAddress = Schema.String.check(
  oneOf(
    "ip:port, localhost:port, unix:/path or off",
    "off",
    socket,
    `localhost:${port}`,
    `${ipv4}:${port}`,
    `\\[(?:${ipv6})\\]:${port}`
  )
).annotate({
  identifier: "BindAddress",
  description:
    "`ip:port`, `localhost:port` for both loopback addresses, `unix:/path/to/socket`, or `off` for no server."
})

/** Where a gateway or a bind listens: the port stands beside it. */
export const ListenAddress = Schema.String.check(
  oneOf("an IP address without a port, localhost, or unix:/path", "localhost", socket, ipv4, ipv6)
).annotate({
  identifier: "ListenAddress",
  description:
    "An IP address, `localhost` for both loopback addresses, or `unix:/path/to/socket`. `0.0.0.0` stands for every IPv4 address, `::` for IPv4 and IPv6."
})
