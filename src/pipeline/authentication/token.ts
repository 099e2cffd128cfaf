/** The shape of a JSON Web Token in its compact form (RFC 7515 7.1): taken apart, and believed in nothing yet. */
import { Buffer } from "node:buffer"
import { doubtOf } from "../../cel/json-text.ts"
import type { JsonObject } from "../../cel/value.ts"
import { TokenBearer } from "./identity.ts"

export interface ParsedToken {
  readonly algorithm: string
  readonly keyId: string | undefined
  readonly claims: JsonObject
  /** What was signed: header and claims as they were sent. */
  readonly signed: string
  readonly signature: Uint8Array
}

/** Why a text is no token: which of its parts is wrong, and how. */
export interface Unparsable {
  readonly part: "header" | "token"
  readonly detail: string
}

/**
 * What a bearer token may say it is (RFC 7519 5.1, RFC 9068 2.1; SPIFFE, JWT-SVID 2.3), in lower case and without
 * `application/`. A token of another use, as a logout token or a proof of possession, is signed by the same keys and grants
 * nothing (RFC 8725 3.11).
 */
const bearerTypes: ReadonlySet<string> = new Set(["jwt", "at+jwt", "jose"])

const isForBearers = (type: unknown): boolean =>
  type === undefined || (typeof type === "string" && bearerTypes.has(type.toLowerCase().replace(/^application\//, "")))

export const parseToken = (text: string): ParsedToken | Unparsable => {
  const first = text.indexOf(".")
  const second = text.indexOf(".", first + 1)
  if (first < 0 || second < 0 || text.indexOf(".", second + 1) >= 0)
    return { part: "token", detail: "expected three parts" }
  const header = decoded(text.slice(0, first))
  if (header === undefined) return { part: "header", detail: "expected a JSON object in base64url, each member once" }
  const algorithm = header["alg"]
  if (typeof algorithm !== "string") return { part: "header", detail: "no algorithm" }
  // RFC 7515 4.1.11: what must be understood is not, so the token must be refused.
  if (header["crit"] !== undefined) return { part: "header", detail: "critical extensions are not supported" }
  // RFC 7797 6: with it, what was signed is not what stands here.
  if (header["b64"] !== undefined) return { part: "header", detail: "unencoded payloads are not supported" }
  if (!isForBearers(header["typ"])) return { part: "header", detail: "the token is not for bearers" }
  const keyId = header["kid"]
  const claims = decoded(text.slice(first + 1, second))
  if (claims === undefined)
    return { part: "token", detail: "expected the claims as a JSON object in base64url, each member once" }
  // RFC 8417 2.2: an object of events tells of them. Logout tokens of older providers say so by this alone.
  const events = claims["events"]
  if (typeof events === "object" && events !== null && !Array.isArray(events))
    return { part: "token", detail: "the token is not for bearers" }
  const signature = bytesOf(text.slice(second + 1))
  if (signature === undefined) return { part: "token", detail: "expected the signature in base64url" }
  return {
    algorithm,
    keyId: typeof keyId === "string" ? keyId : undefined,
    claims,
    signed: text.slice(0, second),
    signature
  }
}

/** The bearer of a token that was verified before. */
export const bearerOf = (verified: string): TokenBearer => {
  const token = parseToken(verified)
  return new TokenBearer("part" in token ? {} : token.claims, verified)
}

/** Buffers decode whatever they can; here bytes have one text, so that a token does not have several. */
const bytesOf = (part: string): Buffer | undefined => {
  const bytes = Buffer.from(part, "base64url")
  return bytes.toString("base64url") === part ? bytes : undefined
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decoded = (part: string): JsonObject | undefined => {
  const bytes = bytesOf(part)
  if (bytes === undefined) return undefined
  try {
    const text = utf8.decode(bytes)
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    // Of two members with one name readers take the first, the last, or neither (RFC 7519 4).
    return doubtOf(text, value) === undefined ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
