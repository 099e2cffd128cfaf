/** The wire shape of oidc: login of browsers at an identity provider. */
import { Schema } from "effect"
import {
  declared,
  FileInlineOrRemote,
  HttpUrl,
  LongString,
  object,
  optional,
  required,
  SecretFileOrInline
} from "../../spec/policy.ts"

const RedirectUri = HttpUrl.check(
  Schema.isPattern(/^https?:\/\/[^/?#@]+\/(?!\.{1,2}(?:\/|$))(?:(?!\/\.{1,2}(?:\/|$)|%2[fF]|%5[cC])[^?#\\\s])+$/u, {
    expected: "an http or https URL with a path of its own, without query, fragment, dot segments or encoded slashes"
  })
).annotate({
  identifier: "RedirectUri",
  description: "An absolute URL with a path of its own, without query and fragment."
})

const endpoints = ["authorizationEndpoint", "tokenEndpoint", "jwks"] as const

export const Oidc = object(
  "Oidc",
  "Logs browsers in at an identity provider with the authorization code flow, and keeps the session in an encrypted cookie. Needs OIDC_COOKIE_SECRET in the environment.",
  {
    issuer: required(HttpUrl, "The identity provider; the `iss` claim of its tokens."),
    clientId: required(LongString, "The client."),
    clientSecret: required(SecretFileOrInline, "Its secret."),
    redirectURI: required(RedirectUri, "Where the identity provider sends browsers back to; this proxy answers it."),
    scopes: optional(Schema.Array(LongString), "Scopes to ask for beside `openid`."),
    discovery: optional(
      FileInlineOrRemote,
      "The discovery document; `<issuer>/.well-known/openid-configuration` when left out."
    ),
    authorizationEndpoint: optional(HttpUrl, "In place of discovery, with the other two: where browsers log in."),
    tokenEndpoint: optional(HttpUrl, "In place of discovery, with the other two: where codes are exchanged."),
    jwks: optional(FileInlineOrRemote, "In place of discovery, with the other two: the key set."),
    tokenEndpointAuth: optional(
      Schema.Literals(["clientSecretBasic", "clientSecretPost"]),
      "How the secret is sent to the token endpoint; as discovered, else `clientSecretBasic`, when left out."
    )
  },
  {
    check: (oidc) => {
      const given = endpoints.filter((key) => key in oidc)
      if (given.length > 0 && "discovery" in oidc) return `discovery excludes ${given.join(", ")}`
      return given.length === 0 || given.length === 3 ? undefined : `${endpoints.join(", ")} come together`
    },
    jsonSchema: {
      anyOf: [
        { required: [...endpoints], not: { required: ["discovery"] } },
        { not: { anyOf: endpoints.map((key) => ({ required: [key] })) } }
      ]
    }
  }
)

export const oidc = declared(Oidc, { places: ["gateway", "route", "llm", "ui"], decides: "identity" })
