/**
 * Who sent a request, as a verified credential says: what is known of its bearer, and the credential itself, which no
 * event, log or dump can show: it is neither enumerable nor part of the JSON.
 */
import type { JsonObject } from "../../cel/value.ts"

/** The bearer of a verified token. Also the variable `jwt` of the expression language. */
export class TokenBearer {
  readonly claims: JsonObject
  readonly #token: string

  constructor(claims: JsonObject, token: string) {
    this.claims = claims
    this.#token = token
  }
  /** The token itself: a secret. */
  get rawToken(): string {
    return this.#token
  }
  /** What expressions read beside `rawToken`. */
  get rest(): JsonObject {
    return this.claims
  }
  toJSON(): JsonObject {
    return { ...this.claims, rawToken: "<redacted>" }
  }
}

/** The bearer of a known API key. Also the variable `apiKey` of the expression language. */
export class KeyBearer {
  readonly metadata: JsonObject
  readonly #key: string

  constructor(metadata: JsonObject, key: string) {
    this.metadata = metadata
    this.#key = key
  }
  /** The key itself: a secret. */
  get key(): string {
    return this.#key
  }
  /** What expressions read beside `key`. */
  get rest(): JsonObject {
    return this.metadata
  }
  toJSON(): JsonObject {
    return { ...this.metadata, key: "<redacted>" }
  }
}
