/** One end of a connection by the address that the other one knows: a socket for both kinds shows IPv4 in the clothes of IPv6. */
export const plainAddress = (address: string): string =>
  address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address
