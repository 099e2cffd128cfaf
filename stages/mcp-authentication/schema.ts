/** The wire shape of mcpAuthentication: the OAuth side of an MCP route. */
import { Schema, SchemaGetter } from "effect"
import {
  AuthenticationMode,
  bearer,
  CredentialLocation,
  declared,
  defaultClaims,
  defaulted,
  exactlyOneOf,
  FileInlineOrRemote,
  HttpUrl,
  Json,
  JwtValidation,
  LongString,
  object,
  oneValidation,
  optional,
  required,
  requiredClaimsOf,
  Secret,
  ShortString
} from "../../spec/policy.ts"

const settings = (name: string) =>
  required(object("NoSettings", "An empty object.", {}), `${name}. It has no settings.`)

const IdentityProvider = exactlyOneOf(
  "IdentityProvider",
  "The kind of identity provider, for its key set, metadata and client registration.",
  {
    auth0: settings("Auth0"),
    keycloak: settings("Keycloak"),
    okta: settings("Okta"),
    descope: settings("Descope"),
    authentik: settings("authentik"),
    entra: settings("Microsoft Entra ID")
  }
)

const ResourceMetadata = Schema.StructWithRest(
  Schema.Struct({
    resource: required(HttpUrl, "Address of the protected MCP resource, as clients know it."),
    scopesSupported: optional(Schema.Array(ShortString), "Scopes to advertise."),
    bearerMethodsSupported: optional(Schema.Array(ShortString), "How a token may be sent, for example `header`.")
  }),
  [Schema.Record(Schema.String, Json)]
).annotate({
  identifier: "ResourceMetadata",
  description:
    "The protected resource metadata (RFC 9728) that is served. Names become snake case; further keys are passed on."
})

const Form = object(
  "McpAuthentication",
  "Protects an MCP route with tokens of an external identity provider, serves the OAuth metadata that MCP clients look for, and passes client registration on. A refusal answers 401 and names the metadata.",
  {
    mode: defaulted(AuthenticationMode, "strict", "How strictly a token is asked for."),
    issuer: required(HttpUrl, "The `iss` claim of every accepted token, and the address of the identity provider."),
    audiences: required(
      Schema.Array(LongString),
      "A token is accepted when its `aud` claim holds one of these. An empty list accepts any audience."
    ),
    provider: optional(IdentityProvider, "The kind of identity provider."),
    resourceMetadata: required(ResourceMetadata, "What is told to clients about the resource."),
    jwks: optional(FileInlineOrRemote, "The key set. Derived from the issuer when left out."),
    authorizationLocation: defaulted(CredentialLocation, bearer, "Where the token stands."),
    jwtValidationOptions: optional(JwtValidation, "Further demands on a token."),
    validation: optional(JwtValidation, "The same as `jwtValidationOptions`, under its newer name."),
    clientId: optional(
      LongString,
      "A registered client. Client registration is then answered with it instead of being passed on."
    ),
    clientSecret: optional(Secret, "The secret of that client.")
  },
  oneValidation
)

const Decoded = Schema.Struct({
  mode: Schema.toType(AuthenticationMode),
  issuer: Schema.String,
  audiences: Schema.Array(Schema.String),
  provider: Schema.optionalKey(Schema.Literals(["auth0", "keycloak", "okta", "descope", "authentik", "entra"])),
  resourceMetadata: Schema.toType(ResourceMetadata),
  jwks: Schema.optionalKey(Schema.toType(FileInlineOrRemote)),
  location: Schema.toType(CredentialLocation),
  requiredClaims: Schema.Array(Schema.Literals(["exp", "nbf", "aud", "iss", "sub"])),
  clientId: Schema.optionalKey(Schema.String),
  clientSecret: Schema.optionalKey(Schema.Redacted(Schema.String))
})

type ProviderName = NonNullable<(typeof Decoded.Type)["provider"]>

export const McpAuthentication = Form.pipe(
  Schema.decodeTo(Decoded, {
    decode: SchemaGetter.transform((form: typeof Form.Type): typeof Decoded.Type => {
      const { provider, authorizationLocation, jwtValidationOptions: _, validation: __, ...rest } = form
      const name = provider === undefined ? undefined : (Object.keys(provider)[0] as ProviderName)
      return {
        ...rest,
        ...(name === undefined ? {} : { provider: name }),
        location: authorizationLocation,
        requiredClaims: requiredClaimsOf(form)
      }
    }),
    encode: SchemaGetter.transform((auth: typeof Decoded.Type): typeof Form.Type => {
      const { provider, location, requiredClaims = defaultClaims, ...rest } = auth
      return {
        ...rest,
        ...(provider === undefined ? {} : { provider: { [provider]: {} } as unknown as typeof IdentityProvider.Type }),
        authorizationLocation: location,
        validation: { requiredClaims }
      }
    })
  })
)

export const mcpAuthentication = declared(McpAuthentication, {
  places: ["route"],
  decides: "identity",
  admitsAnyone: ({ mode }) => mode !== "strict"
})
