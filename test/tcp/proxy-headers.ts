/** PROXY headers as balancers write them, and a reader of them that is written otherwise than ours, to compare with. */
import { isIPv4, isIPv6 } from "node:net"
import { crc32c } from "../../layers/tcp/crc32c.ts"
import { readProxyHeader } from "../../layers/tcp/proxy-header.ts"

/** A source of whole numbers below a bound. */
export type Draw = (below: number) => number

export const signature = Buffer.from([13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10])

const one = <A>(draw: Draw, ...of: ReadonlyArray<A>): A => of[draw(of.length)]!
const bytesOf = (draw: Draw, length: number) => Buffer.from(Array.from({ length }, () => draw(256)))
const v4 = (draw: Draw) => Array.from({ length: 4 }, () => draw(256)).join(".")
const v6 = (draw: Draw) =>
  one(draw, "::1", "2001:db8::7", "::ffff:192.0.2.9", "fe80::1", "2001:DB8:0:0:0:0:0:1", "1:2:3:4:5:6:7:8")
const port = (draw: Draw) => String(draw(65_536))

const line = (draw: Draw): Buffer => {
  const family = one(draw, "TCP4", "TCP4", "TCP6", "UNKNOWN", "TCP5")
  const address = () => one(draw, family === "TCP6" ? v6(draw) : v4(draw), v4(draw), v6(draw), "01.2.3.4", "")
  const parts =
    family === "UNKNOWN" && draw(2) === 0
      ? ["PROXY", family]
      : ["PROXY", family, address(), address(), one(draw, port(draw), port(draw), "007", "65536", "-1", ""), port(draw)]
  const text = parts.join(one(draw, " ", " ", " ", " ", "  "))
  return Buffer.from(text + one(draw, "\r\n", "\r\n", "\r\n", "\n", "\r", " \r\n"), "latin1")
}

const binary = (draw: Draw): Buffer => {
  const family = one(draw, 0x00, 0x11, 0x11, 0x21, 0x21, 0x31, 0x12, draw(256))
  const own = { 0: 0, 17: 12, 33: 36, 49: 216 }[family] ?? draw(40)
  const values: Array<Buffer> = []
  for (let count = draw(4); count > 0; count--) {
    const value = bytesOf(draw, draw(one(draw, 8, 60, 200)))
    values.push(Buffer.from([one(draw, 1, 2, 4, 5, 0x20, 0x30, 0xe0), value.length >> 8, value.length & 255]), value)
  }
  const summed = draw(4) === 0
  if (summed) values.push(Buffer.from([3, 0, 4, 0, 0, 0, 0]))
  const rest = Buffer.concat([bytesOf(draw, own), ...values])
  const length = rest.length + (draw(10) === 0 ? draw(5) - 2 : 0)
  const head = Buffer.from([one(draw, 0x21, 0x21, 0x21, 0x20, 0x22, 0x11), family, length >> 8, length & 255])
  const whole = Buffer.concat([signature, head, rest])
  if (summed && draw(5) > 0) whole.writeUInt32BE(crc32c(whole), whole.length - 4)
  return whole
}

/** A header, or something close to one, and perhaps more behind it. */
export const drawn = (draw: Draw): Buffer => {
  const header = one(draw, line, binary, binary)(draw)
  const more = bytesOf(draw, one(draw, 0, 0, 3, 40))
  const bytes = Buffer.concat([header, more])
  for (let changes = draw(4) === 0 ? 1 + draw(3) : 0; changes > 0 && bytes.length > 0; changes--)
    bytes[draw(bytes.length)] = one(draw, draw(256), 13, 10, 32, 0)
  return draw(6) === 0 ? bytes.subarray(0, draw(bytes.length + 1)) : bytes
}

/** What another reader makes of bytes of which no more come: `<length> <address> <port>`, or why there is nothing. */
export const otherwise = (bytes: Buffer): string => {
  const text = bytes.toString("latin1")
  if (text.startsWith("PROXY ")) {
    const end = text.indexOf("\r\n")
    if (end < 0 || end > 105) return text.length >= 107 || end >= 0 ? "malformed" : "unfinished"
    const found = /^PROXY (?:UNKNOWN(?: .*)?|TCP([46]) ([0-9a-fA-F.:]+) ([0-9a-fA-F.:]+) (\d{1,5}) (\d{1,5}))$/s.exec(
      text.slice(0, end)
    )
    if (found === null) return "malformed"
    const [, family, source, destination, ...ports] = found
    if (family === undefined) return `${end + 2} nobody`
    const is = family === "4" ? isIPv4 : isIPv6
    if (!is(source!) || !is(destination!)) return "malformed"
    if (ports.some((each) => Number(each) > 65_535 || String(Number(each)) !== each)) return "malformed"
    return `${end + 2} ${shown(source!)} ${ports[0]}`
  }
  if ("PROXY ".startsWith(text)) return "unfinished"
  if (!bytes.subarray(0, 12).equals(signature.subarray(0, bytes.length))) return "absent"
  const [command, family, high, low] = bytes.subarray(12)
  if (command !== undefined && command !== 0x20 && command !== 0x21) return "malformed"
  const own = family === undefined ? 0 : { 0: 0, 17: 12, 33: 36, 49: 216 }[family]
  if (own === undefined) return "malformed"
  if (low === undefined) return "unfinished"
  const length = high! * 256 + low
  if (length > 512 || (command === 0x21 && length < own)) return "malformed"
  if (bytes.length < 16 + length) return "unfinished"
  if (length >= own) {
    let sums = 0
    let at = 16 + own
    while (at < 16 + length) {
      if (at + 3 > 16 + length) return "malformed"
      const size = bytes[at + 1]! * 256 + bytes[at + 2]!
      if (at + 3 + size > 16 + length) return "malformed"
      if (bytes[at] === 3) {
        if (size !== 4 || sums++ > 0) return "malformed"
        const without = Buffer.concat([bytes.subarray(0, at + 3), Buffer.alloc(4), bytes.subarray(at + 7, 16 + length)])
        if (crc32c(without) !== bytes.readUInt32BE(at + 3)) return "malformed"
      }
      at += 3 + size
    }
  }
  if (command === 0x20 || (family !== 17 && family !== 33)) return `${16 + length} nobody`
  if (family === 17) return `${16 + length} ${[...bytes.subarray(16, 20)].join(".")} ${bytes.readUInt16BE(24)}`
  const groups = bytes.subarray(16, 32).toString("hex").match(/.{4}/g)!
  return `${16 + length} ${shown(groups.join(":"))} ${bytes.readUInt16BE(48)}`
}

/** An address in its usual form, as the parser of URLs has it. */
const shown = (address: string): string => {
  if (!address.includes(":")) return address
  const [, high, low] =
    /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(new URL(`http://[${address}]`).hostname.slice(1, -1)) ?? []
  if (high === undefined || low === undefined) return new URL(`http://[${address}]`).hostname.slice(1, -1)
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".")
}

/** What our reader makes of them, in the same words. */
export const told = (bytes: Buffer): string => {
  const read = readProxyHeader(bytes)
  if (read._tag !== "Header") return read._tag.toLowerCase()
  const { length, origin } = read
  return `${length} ${origin === undefined ? "nobody" : `${origin.address} ${origin.port}`}`
}

/** What speaks against our reading, of the whole and of each beginning; `undefined` when nothing does. */
export const faultOf = (bytes: Buffer): string | undefined => {
  const [own, theirs] = [told(bytes), otherwise(bytes)]
  if (own !== theirs) return `read as ${own}, and otherwise as ${theirs}`
  for (const length of [bytes.length >> 1, bytes.length - 1, 13, 14, 16]) {
    const part = told(bytes.subarray(0, Math.max(0, length)))
    if (part !== "unfinished" && part !== own) return `${part} by ${length} bytes, and then ${own}`
  }
  return undefined
}
