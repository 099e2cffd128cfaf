/** What the claims of a token must say (RFC 7519 4.1), decided by configuration: issuer, audience, times, presence. */
import type { JsonObject } from "../../cel/value.ts"

export interface ClaimDemands {
  /** What the claim `iss` has to be. */
  readonly issuer: string
  /** Of these the claim `aud` has to hold one. An empty list: any audience is taken. */
  readonly audiences: ReadonlyArray<string>
  readonly requiredClaims: ReadonlyArray<"exp" | "nbf" | "aud" | "iss" | "sub">
}

/** How far clocks may be apart, in milliseconds. */
export const leeway = 60_000

/** What is wrong with the claims; `undefined` when nothing is. */
export type ClaimCheck = (claims: JsonObject, now: number) => string | undefined

/** @returns a check that takes the time as milliseconds since 1970. */
export const compileClaimCheck = ({ issuer, audiences, requiredClaims }: ClaimDemands): ClaimCheck => {
  const accepted = new Set(audiences)
  const accepts = (audience: unknown) => typeof audience === "string" && accepted.has(audience)
  return (claims, now) => {
    const iss = claims["iss"]
    if (iss === undefined) return "the claim iss is missing"
    if (iss !== issuer) return "the issuer is not accepted"
    for (const name of requiredClaims)
      if (claims[name] === undefined || claims[name] === null) return `the claim ${name} is missing`
    if (accepted.size > 0) {
      const aud = claims["aud"]
      if (aud === undefined) return "the claim aud is missing"
      if (!(Array.isArray(aud) ? aud.some(accepts) : accepts(aud))) return "the audience is not accepted"
    }
    const exp = claims["exp"]
    if (exp !== undefined) {
      if (typeof exp !== "number" || !Number.isFinite(exp)) return "the claim exp is not a number"
      if (now >= exp * 1000 + leeway) return "the token has expired"
    }
    const nbf = claims["nbf"]
    if (nbf !== undefined) {
      if (typeof nbf !== "number" || !Number.isFinite(nbf)) return "the claim nbf is not a number"
      if (now < nbf * 1000 - leeway) return "the token is not valid yet"
    }
    return undefined
  }
}

/** Until when claims that were accepted stay so, in milliseconds since 1970. */
export const acceptedUntil = (claims: JsonObject): number => {
  const exp = claims["exp"]
  return typeof exp === "number" ? exp * 1000 + leeway : Number.POSITIVE_INFINITY
}
