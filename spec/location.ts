/** Where in a request a credential stands. */
import { Schema } from "effect"
import { exactlyOneOf, optional, required } from "./field.ts"
import { HeaderName } from "./header.ts"
import { CelExpression, ShortString } from "./primitives.ts"

/** A header, a query parameter, a cookie, or an expression (which can be read but not written). */
export const CredentialLocation = exactlyOneOf("CredentialLocation", "Where in a request a credential stands.", {
  header: required(
    Schema.Struct({
      name: required(HeaderName, "The header."),
      prefix: optional(
        Schema.String,
        "Text before the credential, such as `Bearer `; compared without regard to case. A header without it holds no credential."
      )
    }),
    "A request header."
  ),
  queryParameter: required(Schema.Struct({ name: required(ShortString, "The parameter.") }), "A query parameter."),
  cookie: required(Schema.Struct({ name: required(ShortString, "The cookie.") }), "A cookie."),
  expression: required(CelExpression, "An expression that yields the credential as a string; it can be read only.")
})

export type CredentialLocation = typeof CredentialLocation.Type

/** The keys under which the language writes where a credential stands, whether it is read there or written. */
export const locationKeys: ReadonlySet<string> = new Set(["location", "authorizationLocation", "source"])

/** `authorization: Bearer …` */
export const bearer = { header: { name: "authorization", prefix: "Bearer " } } as const

/** `authorization: Basic …` */
export const basic = { header: { name: "authorization", prefix: "Basic " } } as const

/** How strictly a credential is asked for. */
export const AuthenticationMode = Schema.Literals(["strict", "optional", "permissive"]).annotate({
  identifier: "AuthenticationMode",
  description:
    "`strict`: a valid credential is required. `optional`: it may be missing, but not wrong. `permissive`: nothing is refused, and a valid credential is recognised."
})

/** What happens when a check itself fails. */
export const FailureMode = Schema.Literals(["failClosed", "failOpen"]).annotate({
  identifier: "FailureMode",
  description: "`failClosed` refuses the request when the check itself fails; `failOpen` lets it pass."
})
