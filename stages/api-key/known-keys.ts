/** The keys that a configuration knows, by digest, and those of them that clients have shown, by their text. */
import { hash, timingSafeEqual } from "node:crypto"
import { longestKey } from "../../src/policy/policy.ts"

interface Known<A> {
  readonly digest: Buffer
  readonly value: A
}

/** Finds what a key stands for. */
export class KnownKeys<A> {
  /** By the first bytes of the digest: whatever a client learns from how long that takes says nothing about a key. */
  readonly #byPrefix = new Map<number, Array<Known<A>>>()
  /**
   * What was found once, so that a digest is made once for each key and not for each request. How long that takes tells
   * nothing of other keys; see `longestKey`.
   */
  readonly #shown = new Map<string, A>()

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
    if (key.length > longestKey) return this.#byDigest(key)
    let found = this.#shown.get(key)
    if (found === undefined) {
      found = this.#byDigest(key)
      if (found !== undefined) this.#shown.set(key, found)
    }
    return found
  }

  #byDigest(key: string): A | undefined {
    const digest = KnownKeys.digest(key)
    for (const known of this.#byPrefix.get(digest.readUInt32LE(0)) ?? [])
      if (timingSafeEqual(known.digest, digest)) return known.value
    return undefined
  }
}
