/**
 * Claims of tokens that were verified, so that a signature is checked once and not on every request. Tokens are known by
 * their digest; the cache holds two generations and drops the older one when the younger is full, so that a hit writes
 * nothing.
 */
import { hash } from "node:crypto"
import type { JsonObject } from "../../cel/value.ts"

interface Verified {
  readonly claims: JsonObject
  /** Milliseconds since 1970. */
  readonly until: number
}

/** Tokens in one generation. */
const defaultCapacity = 4096

export class TokenCache {
  readonly #capacity: number
  #young = new Map<string, Verified>()
  #old = new Map<string, Verified>()

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity
  }

  static digest(token: string): string {
    return hash("sha256", token, "base64")
  }

  /** The claims of a token that was verified and is still valid. */
  get(digest: string, now: number): JsonObject | undefined {
    let verified = this.#young.get(digest)
    if (verified === undefined) {
      verified = this.#old.get(digest)
      if (verified === undefined) return undefined
      this.#keep(digest, verified)
    }
    return now < verified.until ? verified.claims : undefined
  }

  set(digest: string, claims: JsonObject, until: number): void {
    this.#keep(digest, { claims, until })
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }

  #keep(digest: string, verified: Verified): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(digest, verified)
  }
}
