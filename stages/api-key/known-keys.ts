/** The keys that a configuration knows, by digest: the keys themselves are not kept. */
import { hash, timingSafeEqual } from "node:crypto"

interface Known<A> {
  readonly digest: Buffer
  readonly value: A
}

/** The digest of the key that is being looked up. */
const presented = Buffer.alloc(32)

/** Finds what a key stands for. */
export class KnownKeys<A> {
  /** By the first bytes of the digest: whatever a client learns from how long that takes says nothing about a key. */
  readonly #byPrefix = new Map<number, Array<Known<A>>>()

  /** @param entries digests of 32 bytes; the last of several equal ones counts. */
  constructor(entries: Iterable<readonly [digest: Buffer, value: A]>) {
    for (const [digest, value] of entries) {
      const prefix = digest.readUInt32LE(0)
      const others = (this.#byPrefix.get(prefix) ?? []).filter((known) => !known.digest.equals(digest))
      this.#byPrefix.set(prefix, [...others, { digest, value }])
    }
  }

  static digest(key: string): Buffer {
    return hash("sha256", key, "buffer")
  }

  find(key: string): A | undefined {
    // As text it costs half of what it costs in a buffer of its own.
    presented.write(hash("sha256", key, "latin1"), "latin1")
    const candidates = this.#byPrefix.get(presented.readUInt32LE(0))
    if (candidates === undefined) return undefined
    for (const known of candidates) if (timingSafeEqual(known.digest, presented)) return known.value
    return undefined
  }
}
