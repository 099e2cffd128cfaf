/** The shape of a JSON Web Token in its compact form (RFC 7515 7.1): taken apart, and believed in nothing yet. */
import { Buffer } from "node:buffer"
import type { JsonObject } from "../../cel/value.ts"

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

// Buffers decode whatever they can; a signature must not stand for more than one text.
const base64Url = /^[A-Za-z0-9_-]*$/

export const parseToken = (text: string): ParsedToken | Unparsable => {
  const first = text.indexOf(".")
  const second = text.indexOf(".", first + 1)
  if (first < 0 || second < 0 || text.indexOf(".", second + 1) >= 0)
    return { part: "token", detail: "expected three parts" }
  const header = decoded(text.slice(0, first))
  if (header === undefined) return { part: "header", detail: "expected a JSON object in base64url" }
  const algorithm = header["alg"]
  if (typeof algorithm !== "string") return { part: "header", detail: "no algorithm" }
  // RFC 7515 4.1.11: what must be understood is not, so the token must be refused.
  if (header["crit"] !== undefined) return { part: "header", detail: "critical extensions are not supported" }
  const keyId = header["kid"]
  const claims = decoded(text.slice(first + 1, second))
  if (claims === undefined) return { part: "token", detail: "expected the claims as a JSON object in base64url" }
  const signature = text.slice(second + 1)
  if (!base64Url.test(signature)) return { part: "token", detail: "expected the signature in base64url" }
  return {
    algorithm,
    keyId: typeof keyId === "string" ? keyId : undefined,
    claims,
    signed: text.slice(0, second),
    signature: Buffer.from(signature, "base64url")
  }
}

const decoded = (part: string): JsonObject | undefined => {
  if (!base64Url.test(part)) return undefined
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}
