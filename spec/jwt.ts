/** What the policies that validate JSON Web Tokens have in common: the claims a token must carry, and how one provider is described. */
import { Schema } from "effect"
import { FileInlineOrRemote } from "./document.ts"
import { exclusive, object, optional, required } from "./field.ts"
import { LongString, ShortString } from "./primitives.ts"

const RequiredClaim = Schema.Literals(["exp", "nbf", "aud", "iss", "sub"]).annotate({
  identifier: "RequiredClaim",
  description: "A registered claim."
})

/** Claims that must be present. */
export const JwtValidation = object("JwtValidation", "Further demands on a token.", {
  requiredClaims: optional(
    Schema.Array(RequiredClaim),
    "Claims that a token must carry; `exp` when left out. The issuer is always checked, the audience where audiences are configured."
  )
})

/** The default of `requiredClaims`. */
export const defaultClaims: ReadonlyArray<typeof RequiredClaim.Type> = ["exp"]

/** An issuer of tokens with its keys. */
export const jwtProviderFields = {
  issuer: required(ShortString, "The `iss` claim of every accepted token."),
  audiences: optional(
    Schema.Array(LongString),
    "A token is accepted when its `aud` claim holds one of these. Left out or empty: the audience is not checked."
  ),
  jwks: required(FileInlineOrRemote, "The key set of the issuer, as JSON."),
  jwtValidationOptions: optional(JwtValidation, "Further demands on a token."),
  validation: optional(JwtValidation, "The same as `jwtValidationOptions`, under its newer name.")
}

interface Validations {
  readonly jwtValidationOptions?: typeof JwtValidation.Type
  readonly validation?: typeof JwtValidation.Type
}

/** The two names of one setting exclude each other. */
export const oneValidation = exclusive(
  "jwtValidationOptions",
  "validation",
  "jwtValidationOptions and validation are two names of one setting; keep one"
)

/** The claims of whichever name is used. */
export const requiredClaimsOf = (provider: Validations) =>
  provider.validation?.requiredClaims ?? provider.jwtValidationOptions?.requiredClaims ?? defaultClaims
