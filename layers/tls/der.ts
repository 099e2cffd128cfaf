/** The distinguished encoding rules of ASN.1 (X.690), as far as certificates are written in them. */

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31
} as const

/** An element that belongs to its place alone: `[number]`, with elements in it. */
export const placed = (number: number): number => 0xa0 | number
/** The same of plain bytes. */
export const placedBytes = (number: number): number => 0x80 | number

/** An element around its content. */
export const element = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const length: Array<number> = []
  if (body.length < 0x80) length.push(body.length)
  else {
    for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256)
    length.unshift(0x80 | length.length)
  }
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

export const sequence = (...content: ReadonlyArray<Uint8Array>): Buffer => element(tag.sequence, ...content)

/** An object identifier in its usual form, as `2.5.29.17`. */
export const oid = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const groups = [arc % 128]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) groups.unshift(0x80 | (left % 128))
    bytes.push(...groups)
  }
  return element(tag.oid, Buffer.from(bytes))
}

/** A whole number of bytes, which is not negative. */
export const integer = (bytes: Uint8Array): Buffer =>
  element(tag.integer, (bytes[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), bytes)

/** An element that was read: its tag, its content, and the whole of it. */
export interface Element {
  readonly tag: number
  readonly content: Buffer
  readonly whole: Buffer
}

/** The elements of bytes that stand one behind the other. Bytes that the runtime has parsed before are expected. */
export const elements = (bytes: Buffer): ReadonlyArray<Element> => {
  const found: Array<Element> = []
  for (let at = 0; at + 1 < bytes.length; ) {
    const first = bytes[at + 1]!
    const size = first < 0x80 ? 0 : first & 0x7f
    const length = size === 0 ? first : bytes.readUIntBE(at + 2, size)
    const begin = at + 2 + size
    const end = begin + length
    found.push({ tag: bytes[at]!, content: bytes.subarray(begin, end), whole: bytes.subarray(at, end) })
    at = end
  }
  return found
}
