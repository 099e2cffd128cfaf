/**
 * The server name that a client asks for, read from the first bytes of a TLS connection (RFC 8446 4.1.2, RFC 6066 3): the
 * listener decides about everything of the handshake, so it must be known before the handshake begins.
 */

/** What the first bytes say. */
export type Hello =
  | { readonly _tag: "Hello"; readonly serverName: string | undefined }
  /** Not all of it has come. */
  | { readonly _tag: "Unfinished" }
  /** No handshake begins like this. */
  | { readonly _tag: "Malformed" }

const unfinished: Hello = { _tag: "Unfinished" }
const malformed: Hello = { _tag: "Malformed" }

/** The most bytes of a hello. Keys of new kinds and tickets make one of 4 KiB, not more. */
export const longestHello = 16_384
/** The most records that it may come in: it is looked at again with each packet. */
const mostRecords = 32

const recordHead = 5
const longestRecord = 16_384
const handshake = 22
const clientHello = 1
const serverNameExtension = 0
const hostName = 0

export const readHello = (bytes: Buffer): Hello => {
  const message = messageOf(bytes)
  return Buffer.isBuffer(message) ? parsed(new Cursor(message)) : message
}

/** The first message of the handshake, from the records that it came in. */
const messageOf = (bytes: Buffer): Buffer | Hello => {
  const parts: Array<Buffer> = []
  let have = 0
  let want: number | undefined
  for (let at = 0; want === undefined || have < want; ) {
    if (at < bytes.length && bytes[at] !== handshake) return malformed
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return malformed
    if (at + recordHead > bytes.length) return unfinished
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0 || length > longestRecord) return malformed
    const part = bytes.subarray(at + recordHead, at + recordHead + length)
    if (parts.push(part) > mostRecords) return malformed
    have += part.length
    if (want === undefined) {
      const head = parts.length === 1 ? part : Buffer.concat(parts)
      if (head.length > 0 && head[0] !== clientHello) return malformed
      if (head.length >= 4) {
        want = 4 + head.readUIntBE(1, 3)
        if (want > longestHello) return malformed
      }
    }
    if (part.length < length) break
    at += recordHead + length
  }
  return want !== undefined && have >= want ? Buffer.concat(parts).subarray(4, want) : unfinished
}

/** Reads numbers and vectors one after the other; beyond the end everything is empty, and `failed`. */
class Cursor {
  readonly #bytes: Buffer
  #at = 0
  failed = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  take(length: number): Buffer {
    if (length > this.left) {
      this.failed = true
      return Buffer.alloc(0)
    }
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  number(length: number): number {
    const bytes = this.take(length)
    return this.failed ? 0 : bytes.readUIntBE(0, length)
  }

  /** A vector that begins with its length. */
  vector(lengthBytes: number): Buffer {
    return this.take(this.number(lengthBytes))
  }
}

const parsed = (hello: Cursor): Hello => {
  hello.take(2 + 32)
  hello.vector(1)
  hello.vector(2)
  hello.vector(1)
  if (hello.failed) return malformed
  // Without extensions it ends here.
  if (hello.left === 0) return { _tag: "Hello", serverName: undefined }
  const extensions = new Cursor(hello.vector(2))
  if (hello.failed || hello.left > 0) return malformed
  while (extensions.left > 0) {
    const type = extensions.number(2)
    const content = extensions.vector(2)
    if (extensions.failed) return malformed
    if (type === serverNameExtension) return named(new Cursor(content))
  }
  return { _tag: "Hello", serverName: undefined }
}

const named = (extension: Cursor): Hello => {
  const names = new Cursor(extension.vector(2))
  const type = names.number(1)
  const name = names.vector(2)
  // There is one kind of names, and one name of a kind.
  if (extension.failed || extension.left > 0 || names.failed || names.left > 0 || type !== hostName) return malformed
  const serverName = name.toString("latin1").toLowerCase()
  return isName(serverName) ? { _tag: "Hello", serverName } : malformed
}

/** Letters, digits, hyphens, underscores and dots, 255 at most. */
const isName = (name: string): boolean => {
  if (name.length === 0 || name.length > 255) return false
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    const fits =
      (code >= 0x61 && code <= 0x7a) ||
      (code >= 0x30 && code <= 0x39) ||
      code === 0x2d ||
      code === 0x2e ||
      code === 0x5f
    if (!fits) return false
  }
  return true
}
