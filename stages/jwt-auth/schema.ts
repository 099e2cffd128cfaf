/** The wire shape of jwtAuth: one issuer written flat, or several as `providers`. Both decode to a list of providers. */
import { Schema, SchemaGetter } from "effect"
import {
  AuthenticationMode,
  bearer,
  CredentialLocation,
  declared,
  defaulted,
  FileInlineOrRemote,
  jwtProviderFields,
  object,
  oneValidation,
  required,
  requiredClaimsOf
} from "../../spec/policy.ts"

const shared = {
  mode: defaulted(AuthenticationMode, "optional", "How strictly a token is asked for."),
  location: defaulted(CredentialLocation, bearer, "Where the token stands."),
  preserveToken: defaulted(
    Schema.Boolean,
    false,
    "Whether the token stays in the request after validation. By default it is removed and kept as `jwt.rawToken`."
  )
}

const JwtProvider = object("JwtProvider", "An issuer of tokens with its keys.", jwtProviderFields, oneValidation)

const OneProvider = object(
  "JwtAuthOfOneProvider",
  "Tokens of one issuer.",
  { ...shared, ...jwtProviderFields },
  oneValidation
)

const SeveralProviders = object("JwtAuthOfSeveralProviders", "Tokens of several issuers.", {
  ...shared,
  providers: required(
    Schema.Array(JwtProvider).check(
      Schema.isMinLength(1, { expected: "at least one provider" }),
      Schema.isMaxLength(64, { expected: "at most 64 providers" })
    ),
    "The issuers. The first one whose key set holds the key of a token decides about it."
  )
})

const Decoded = Schema.Struct({
  mode: Schema.toType(AuthenticationMode),
  location: Schema.toType(CredentialLocation),
  preserveToken: Schema.Boolean,
  /** What is wrong with a provider is told where it stands. */
  written: Schema.Literals(["flat", "providers"]),
  providers: Schema.Array(
    Schema.Struct({
      issuer: Schema.String,
      audiences: Schema.Array(Schema.String),
      jwks: Schema.toType(FileInlineOrRemote),
      requiredClaims: Schema.Array(Schema.Literals(["exp", "nbf", "aud", "iss", "sub"]))
    })
  )
})

type Provider = typeof JwtProvider.Type

const provider = (form: Provider) => ({
  issuer: form.issuer,
  audiences: form.audiences ?? [],
  jwks: form.jwks,
  requiredClaims: requiredClaimsOf(form)
})

const Form = Schema.Union([SeveralProviders, OneProvider]).annotate({
  identifier: "JwtAuth",
  description:
    "Validates a JSON Web Token. Its claims are readable in expressions as `jwt.<claim>`. A refusal answers 401."
})

export const JwtAuth = Form.pipe(
  Schema.decodeTo(Decoded, {
    decode: SchemaGetter.transform((form: typeof Form.Type): typeof Decoded.Type => ({
      mode: form.mode,
      location: form.location,
      preserveToken: form.preserveToken,
      written: "providers" in form ? "providers" : "flat",
      providers: "providers" in form ? form.providers.map(provider) : [provider(form)]
    })),
    encode: SchemaGetter.transform(({ mode, location, preserveToken, written, providers }): typeof Form.Type => {
      const shared = { mode, location, preserveToken }
      const forms = providers.map(({ requiredClaims, ...rest }) => ({ ...rest, validation: { requiredClaims } }))
      const [only] = forms
      return written === "flat" && only !== undefined ? { ...shared, ...only } : { ...shared, providers: forms }
    })
  })
)

export const jwtAuth = declared(JwtAuth, {
  places: ["gateway", "route", "llm", "ui"],
  decides: "identity",
  admitsAnyone: ({ mode }) => mode !== "strict"
})
