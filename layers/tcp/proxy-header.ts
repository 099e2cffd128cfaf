/**
 * The header with which a balancer begins a connection, to tell whose it is (the PROXY protocol, versions 1 and 2), read from the
 * first bytes. Strict: what could be read in two ways is none.
 */
import { SocketAddress } from "node:net"
import { familyOf } from "../../src/http/ip.ts"
import { plainAddress } from "../plain-address.ts"
import { crc32c } from "./crc32c.ts"

/** Who the client is. */
export interface Origin {
  readonly address: string
  readonly port: number
}

/** What the first bytes say. */
export type ProxyHeader =
  | {
      readonly _tag: "Header"
      readonly version: 1 | 2
      /** Bytes of it. */
      readonly length: number
      /** Absent where the balancer speaks for itself, or does not say. */
      readonly origin: Origin | undefined
    }
  /** Not all of it has come. */
  | { readonly _tag: "Unfinished" }
  /** No header begins like this. */
  | { readonly _tag: "Absent" }
  /** It begins like one, and is none. */
  | { readonly _tag: "Malformed" }

const unfinished: ProxyHeader = { _tag: "Unfinished" }
const absent: ProxyHeader = { _tag: "Absent" }
const malformed: ProxyHeader = { _tag: "Malformed" }

/** The most bytes of version 1, with its line end. */
export const longestLine = 107
/** The most bytes of version 2 behind its fixed part. */
export const longestRest = 512

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1")
const word = Buffer.from("PROXY ", "latin1")
const fixed = 16

export const readProxyHeader = (bytes: Buffer): ProxyHeader => {
  if (begins(bytes, signature)) return bytes.length < fixed ? shortSecond(bytes) : second(bytes)
  if (begins(bytes, word)) return bytes.length < word.length ? unfinished : first(bytes)
  return absent
}

const begins = (bytes: Buffer, with_: Buffer): boolean => {
  const length = Math.min(bytes.length, with_.length)
  return bytes.compare(with_, 0, length, 0, length) === 0
}

// Version 1: one line of text.

const first = (bytes: Buffer): ProxyHeader => {
  const end = bytes.subarray(0, longestLine).indexOf("\r\n", 0, "latin1")
  if (end < 0) return bytes.length < longestLine ? unfinished : malformed
  const line = bytes.toString("latin1", word.length, end)
  const length = end + 2
  // Whatever follows is to be ignored.
  if (line === "UNKNOWN" || line.startsWith("UNKNOWN "))
    return { _tag: "Header", version: 1, length, origin: undefined }
  const [protocol = "", source = "", destination = "", sourcePort = "", destinationPort = "", ...more] = line.split(" ")
  const family = protocol === "TCP4" ? 4 : protocol === "TCP6" ? 6 : 0
  if (family === 0 || more.length > 0) return malformed
  const port = portOf(sourcePort)
  if (!isAddress(source, family) || !isAddress(destination, family)) return malformed
  if (port === undefined || portOf(destinationPort) === undefined) return malformed
  return { _tag: "Header", version: 1, length, origin: { address: canonical(source, family), port } }
}

const isAddress = (text: string, family: 4 | 6): boolean => familyOf(text) === family && !text.includes("%")

const portOf = (text: string): number | undefined => {
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

/** As everybody else writes it, so that rules compare equal. */
const canonical = (text: string, family: 4 | 6): string =>
  plainAddress(family === 4 ? text : new SocketAddress({ address: text, family: "ipv6" }).address)

// Version 2: a fixed part, addresses, and what else there is to say.

const local = 0
const addressBytes: Readonly<Record<number, number>> = { 0: 0, 17: 12, 33: 36, 49: 216 }

const shortSecond = (bytes: Buffer): ProxyHeader => {
  if (bytes.length > 12 && !isCommand(bytes[12]!)) return malformed
  return bytes.length > 13 && addressBytes[bytes[13]!] === undefined ? malformed : unfinished
}

/** Version 2, for itself or for a client. */
const isCommand = (byte: number): boolean => byte === 0x20 || byte === 0x21

const second = (bytes: Buffer): ProxyHeader => {
  const command = bytes[12]!
  const family = bytes[13]!
  const length = bytes.readUInt16BE(14)
  const own = addressBytes[family]
  if (!isCommand(command) || own === undefined || length > longestRest) return malformed
  const isLocal = (command & 0x0f) === local
  // Who speaks for itself may leave its addresses out.
  if (length < own && !isLocal) return malformed
  if (bytes.length < fixed + length) return unfinished
  const whole = bytes.subarray(0, fixed + length)
  const sound = length < own || saysWell(whole, fixed + own)
  if (!sound) return malformed
  const origin = isLocal ? undefined : originOf(whole, family)
  return { _tag: "Header", version: 2, length: fixed + length, origin }
}

const originOf = (whole: Buffer, family: number): Origin | undefined => {
  if (family === 0x11) {
    const address = whole.subarray(fixed, fixed + 4).join(".")
    return { address, port: whole.readUInt16BE(fixed + 8) }
  }
  if (family !== 0x21) return undefined
  const groups = Array.from({ length: 8 }, (_, index) => whole.readUInt16BE(fixed + 2 * index).toString(16))
  return { address: canonical(groups.join(":"), 6), port: whole.readUInt16BE(fixed + 32) }
}

const checksum = 3

/** Whether what stands behind the addresses is a list of types with values, and a checksum, where there is one, is right. */
const saysWell = (whole: Buffer, from: number): boolean => {
  let at = from
  let sum: number | undefined
  while (at < whole.length) {
    if (at + 3 > whole.length) return false
    const type = whole[at]!
    const length = whole.readUInt16BE(at + 1)
    const value = at + 3
    if (value + length > whole.length) return false
    if (type === checksum) {
      if (sum !== undefined || length !== 4) return false
      sum = value
    }
    at = value + length
  }
  if (sum === undefined) return true
  const blank = Buffer.from(whole)
  blank.fill(0, sum, sum + 4)
  return crc32c(blank) === whole.readUInt32BE(sum)
}
