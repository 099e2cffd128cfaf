/** IP addresses and CIDR blocks as values, after the Kubernetes library of the language. */
import { isIPv4, isIPv6 } from "node:net"
import { Opaque } from "./value.ts"

/** An IP address: 32 or 128 bits. An IPv4 address inside IPv6 (`::ffff:1.2.3.4`) is refused by {@link Ip.parse}, as Kubernetes does. */
export class Ip extends Opaque {
  readonly typeName = "net.IP"
  readonly family: 4 | 6
  readonly bits: bigint

  constructor(family: 4 | 6, bits: bigint) {
    super()
    this.family = family
    this.bits = bits
  }

  /** Reads the text form; `undefined` when it is no address. Zones (`fe80::1%eth0`) are refused. */
  static parse(text: string): Ip | undefined {
    if (isIPv4(text)) return new Ip(4, ipv4Bits(text))
    if (text.includes("%") || !isIPv6(text)) return undefined
    const bits = ipv6Bits(text)
    return bits >> 32n === 0xffffn ? undefined : new Ip(6, bits)
  }

  equals(other: Opaque): boolean {
    return other instanceof Ip && other.family === this.family && other.bits === this.bits
  }

  toString(): string {
    return this.family === 4 ? ipv4Text(this.bits) : ipv6Text(this.bits)
  }

  get isUnspecified(): boolean {
    return this.bits === 0n
  }
  get isLoopback(): boolean {
    return this.family === 4 ? this.bits >> 24n === 127n : this.bits === 1n
  }
  /** 224.0.0.0/24, and ff02::/16 with any flags */
  get isLinkLocalMulticast(): boolean {
    return this.family === 4 ? this.bits >> 8n === 0xe00000n : ((this.bits >> 112n) & 0xff0fn) === 0xff02n
  }
  /** 169.254.0.0/16, fe80::/10 */
  get isLinkLocalUnicast(): boolean {
    return this.family === 4 ? this.bits >> 16n === 0xa9fen : this.bits >> 118n === 0x3fan
  }
  /** Unicast and not unspecified, loopback, link-local, multicast or broadcast; private ranges count as global, as in Go. */
  get isGlobalUnicast(): boolean {
    const multicast = this.family === 4 ? this.bits >> 28n === 0xen : this.bits >> 120n === 0xffn
    const broadcast = this.family === 4 && this.bits === 0xffffffffn
    return !(this.isUnspecified || this.isLoopback || this.isLinkLocalUnicast || multicast || broadcast)
  }
}

/** A block of addresses. The address keeps its host bits, so `127.0.0.1/8` is allowed. */
export class Cidr extends Opaque {
  readonly typeName = "net.CIDR"
  readonly ip: Ip
  readonly prefixLength: number

  constructor(ip: Ip, prefixLength: number) {
    super()
    this.ip = ip
    this.prefixLength = prefixLength
  }

  static parse(text: string): Cidr | undefined {
    const slash = text.lastIndexOf("/")
    const ip = slash === -1 ? undefined : Ip.parse(text.slice(0, slash))
    const length = text.slice(slash + 1)
    if (ip === undefined || !/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined
    const prefixLength = Number(length)
    return prefixLength > (ip.family === 4 ? 32 : 128) ? undefined : new Cidr(ip, prefixLength)
  }

  get #hostBits(): bigint {
    return BigInt((this.ip.family === 4 ? 32 : 128) - this.prefixLength)
  }

  containsIp(ip: Ip): boolean {
    const shift = this.#hostBits
    return ip.family === this.ip.family && ip.bits >> shift === this.ip.bits >> shift
  }

  containsCidr(other: Cidr): boolean {
    return other.prefixLength >= this.prefixLength && this.containsIp(other.ip)
  }

  /** The same block with its host bits cleared. */
  masked(): Cidr {
    const shift = this.#hostBits
    return new Cidr(new Ip(this.ip.family, (this.ip.bits >> shift) << shift), this.prefixLength)
  }

  equals(other: Opaque): boolean {
    return other instanceof Cidr && other.prefixLength === this.prefixLength && other.ip.equals(this.ip)
  }

  toString(): string {
    return `${this.ip}/${this.prefixLength}`
  }
}

const ipv4Bits = (text: string): bigint =>
  BigInt(text.split(".").reduce((bits, octet) => bits * 256 + Number(octet), 0))

const ipv4Text = (bits: bigint): string => [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join(".")

const ipv6Bits = (text: string): bigint => {
  const dotted = text.includes(".") ? text.slice(text.lastIndexOf(":") + 1) : undefined
  const hex =
    dotted === undefined
      ? text
      : text.slice(0, -dotted.length) +
        (ipv4Bits(dotted) >> 16n).toString(16) +
        ":" +
        (ipv4Bits(dotted) & 0xffffn).toString(16)
  const [head = "", tail] = hex.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === undefined || tail === "" ? [] : tail.split(":")
  const groups = [...left, ...new Array<string>(8 - left.length - right.length).fill("0"), ...right]
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}

/** The canonical form of RFC 5952: the longest run of zero groups, of two at least, is `::`. */
const ipv6Text = (bits: bigint): string => {
  const groups = Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  let best = { from: 0, length: 1 }
  for (let from = 0; from < 8; from++) {
    let length = 0
    while (from + length < 8 && groups[from + length] === "0") length++
    if (length > best.length) best = { from, length }
  }
  if (best.length < 2) return groups.join(":")
  return `${groups.slice(0, best.from).join(":")}::${groups.slice(best.from + best.length).join(":")}`
}
