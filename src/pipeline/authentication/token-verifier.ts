/**
 * Decides whether a token is believed: known key, an algorithm that fits the key, a signature that fits both, claims as
 * the configuration demands. A token that was verified before is answered from the cache as long as no key set changed.
 */
import { Data, Effect, Exit } from "effect"
import { challenge, defaultRealm } from "../../http/challenge.ts"
import type { KeySet, Keys, VerificationKey } from "../../services/jwks.ts"
import type { StageError } from "../stage.ts"
import { acceptedUntil, type ClaimCheck, type ClaimDemands, compileClaimCheck } from "./claims.ts"
import { TokenBearer } from "./identity.ts"
import { type ParsedToken, parseToken } from "./token.ts"
import { TokenCache } from "./token-cache.ts"

/** An issuer, as the configuration trusts it. */
export interface TokenIssuer extends ClaimDemands {
  readonly keys: KeySet
}

/** RFC 6750 3.1: nothing is wrong with a token that is not there. */
const tokenWanted = ["www-authenticate", challenge("Bearer", { realm: defaultRealm })]
const tokenInvalid = ["www-authenticate", challenge("Bearer", { realm: defaultRealm, error: "invalid_token" })]

/** There is no token, or one that is not believed. */
export class TokenRefused
  extends Data.TaggedError("TokenRefused")<{
    readonly detail: string
    readonly headers: ReadonlyArray<string>
  }>
  implements StageError
{
  readonly status = 401
  readonly reason = "JwtAuth"
  readonly source = "client"
  override get message() {
    return `authentication failure: ${this.detail}`
  }
}

/** Nobody can tell whether a token is good: the keys of its issuer were never loaded. */
export class KeysUnavailable extends Data.TaggedError("KeysUnavailable")<{}> implements StageError {
  readonly status = 503
  readonly reason = "JwtAuth"
  readonly source = "proxy"
  override get message() {
    return "authentication failure: the keys of the issuer are not available"
  }
}

/** Why a token is not believed (401), or cannot be looked at (503). */
export type TokenFailure = TokenRefused | KeysUnavailable

/** Made once: what a client provokes must not cost a stack trace each time. */
const refusals = new Map<string, Exit.Exit<never, TokenRefused>>()
const refused = (detail: string): Exit.Exit<never, TokenRefused> => {
  let exit = refusals.get(detail)
  if (exit === undefined) {
    exit = Exit.fail(new TokenRefused({ detail, headers: tokenInvalid }))
    refusals.set(detail, exit)
  }
  return exit
}
/** @param detail one of a fixed set of sentences: each is kept. */
const malformed = (detail: string) => refused(`the token is invalid or malformed: ${detail}`)

/** The failure for a request without a token: 401 with a challenge for one, ready to be returned. */
export const noToken = Exit.fail(new TokenRefused({ detail: "no bearer token found", headers: tokenWanted }))
const noKeyId = refused("the token header does not specify a `kid`")
const keysUnavailable = Exit.fail(new KeysUnavailable())

/** Answers with a ready exit, unless a key set has to be asked for the key. Time: milliseconds since 1970. */
export type TokenVerifier = (token: string, now: number) => Effect.Effect<TokenBearer, TokenFailure>

interface Trusted {
  readonly issuer: string
  readonly keys: KeySet
  readonly check: ClaimCheck
}

/** @param issuers the first one whose key set holds the key of a token decides about it. */
export const makeTokenVerifier = (issuers: ReadonlyArray<TokenIssuer>): TokenVerifier => {
  const trusted = issuers.map(
    (issuer): Trusted => ({ issuer: issuer.issuer, keys: issuer.keys, check: compileClaimCheck(issuer) })
  )
  const cache = new TokenCache()
  const seen: Array<Keys | undefined> = trusted.map(({ keys }) => keys.current())

  /** A key that was withdrawn takes what it signed along. */
  const forgetOnChange = (): void => {
    let changed = false
    for (let i = 0; i < trusted.length; i++) {
      const current = trusted[i]!.keys.current()
      if (current === seen[i]) continue
      seen[i] = current
      changed = true
    }
    if (changed) cache.clear()
  }

  const checked = (
    token: ParsedToken,
    key: VerificationKey,
    check: ClaimCheck,
    text: string,
    now: number
  ): Exit.Exit<TokenBearer, TokenRefused> => {
    const verifies = key.checks.get(token.algorithm)
    if (verifies === undefined) return malformed("the algorithm is not allowed for its key")
    if (!verifies(token.signed, token.signature)) return malformed("the signature does not verify")
    const wrong = check(token.claims, now)
    if (wrong !== undefined) return malformed(wrong)
    cache.set(text, token.claims, acceptedUntil(token.claims))
    return Exit.succeed(new TokenBearer(token.claims, text))
  }

  const byKey = (token: ParsedToken, id: string, text: string, now: number) => {
    for (const { keys, check } of trusted) {
      const key = keys.current()?.get(id)
      if (key !== undefined) return checked(token, key, check, text, now)
    }
    return undefined
  }

  return (text, now) => {
    forgetOnChange()
    const known = cache.get(text, now)
    if (known !== undefined) return Exit.succeed(new TokenBearer(known, text))
    const token = parseToken(text)
    if ("part" in token)
      return token.part === "header"
        ? refused(`the token header is malformed: ${token.detail}`)
        : malformed(token.detail)
    const id = token.keyId
    if (id === undefined) return noKeyId
    const decided = byKey(token, id, text, now)
    if (decided !== undefined) return decided
    // Whom the token claims to be from is not proven yet: it tells no more than whose keys may be out of date.
    const asked = trusted.filter(({ issuer }) => issuer === token.claims["iss"])
    const refresh = Effect.forEach(asked, ({ keys }) => keys.refresh, { concurrency: "unbounded", discard: true })
    return Effect.flatMap(refresh, (): Effect.Effect<TokenBearer, TokenFailure> => {
      forgetOnChange()
      const decided = byKey(token, id, text, now)
      if (decided !== undefined) return decided
      if (asked.some(({ keys }) => keys.current() === undefined)) return keysUnavailable
      return Exit.fail(
        new TokenRefused({ detail: `token uses the unknown key ${JSON.stringify(id)}`, headers: tokenInvalid })
      )
    })
  }
}
