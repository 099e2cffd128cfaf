/**
 * Claims of tokens that were verified, so that a signature is checked once and not on every request. The cache holds two
 * generations and drops the older one when the younger is full, so that a hit writes nothing. Tokens are known by their
 * text: a digest would cost more than all else that a hit does.
 */
import type { JsonObject } from "../../cel/value.ts"

interface Verified {
  readonly claims: JsonObject
  /** Milliseconds since 1970. */
  readonly until: number
}

/** Characters of the tokens in one generation: four thousand of a thousand. */
const defaultCapacity = 4_194_304

/**
 * The most characters of a text that may be looked up by itself. A map compares only texts whose hashes, of a secret seed, are
 * equal, so that its time tells nothing of the others; but what is longer than this V8 hashes by its length alone.
 */
export const longestKey = 16_383

export class TokenCache {
  readonly #capacity: number
  #young = new Map<string, Verified>()
  #old = new Map<string, Verified>()
  /** Characters in the younger generation. */
  #size = 0

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity
  }

  /** The claims of a token that was verified and is still valid. */
  get(token: string, now: number): JsonObject | undefined {
    if (token.length > longestKey) return undefined
    let verified = this.#young.get(token)
    if (verified === undefined) {
      verified = this.#old.get(token)
      if (verified === undefined) return undefined
      this.#keep(token, verified)
    }
    return now < verified.until ? verified.claims : undefined
  }

  set(token: string, claims: JsonObject, until: number): void {
    if (token.length <= longestKey) this.#keep(token, { claims, until })
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#size = 0
  }

  #keep(token: string, verified: Verified): void {
    if (this.#size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Map()
      this.#size = 0
    }
    if (!this.#young.has(token)) this.#size += token.length
    this.#young.set(token, verified)
  }
}
