/** Credentials that the proxy itself presents to a backend: keys, cloud identities, signed tokens. */
import { Schema, SchemaGetter } from "effect"
import { FileOrInline, JsonObject, Secret, SecretFileOrInline } from "../content.ts"
import { defaulted, exactlyOneOf, exclusive, object, optional, required, withAliases } from "../field.ts"
import { HeaderName } from "../header.ts"
import { bearer, CredentialLocation } from "../location.ts"
import { CelExpression, Duration, LongString, ShortString } from "../primitives.ts"

const CookieName = Schema.String.check(
  Schema.isPattern(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/u, { expected: "a cookie name" })
).annotate({ identifier: "CookieName", description: "The name of a cookie; case matters." })

/** Where the proxy writes a credential. What stands there already is replaced. */
export const WritableLocation = exactlyOneOf(
  "WritableLocation",
  "Where a credential is written. What the client sent there is replaced.",
  {
    header: required(
      object("HeaderLocation", "A request header.", {
        name: required(HeaderName, "The header."),
        prefix: optional(Schema.String, "Text before the credential, such as `Bearer `.")
      }),
      "A request header."
    ),
    queryParameter: required(
      object("QueryLocation", "A query parameter.", { name: required(ShortString, "The parameter.") }),
      "A query parameter."
    ),
    cookie: required(object("CookieLocation", "A cookie.", { name: required(CookieName, "The cookie.") }), "A cookie.")
  }
)

const KeyForm = Schema.Union([
  SecretFileOrInline,
  object("KeyAtLocation", "A key and where it is written.", {
    value: required(SecretFileOrInline, "The key; a file is watched."),
    location: optional(
      WritableLocation,
      "Where the key is written; `authorization: Bearer` when left out, unless the provider has a place of its own."
    )
  })
])

const Key = Schema.Struct({
  value: Schema.toType(SecretFileOrInline),
  location: Schema.optionalKey(Schema.toType(WritableLocation))
})

/** A key: the value itself, `{ file }`, or `{ value, location }`. */
export const BackendKey = KeyForm.pipe(
  Schema.decodeTo(Key, {
    decode: SchemaGetter.transform((form: typeof KeyForm.Type): typeof Key.Type =>
      typeof form === "object" && "value" in form && !("file" in form)
        ? (form as typeof Key.Type)
        : { value: form as (typeof Key.Type)["value"] }
    ),
    encode: SchemaGetter.transform((key: typeof Key.Type) => key)
  })
)

/** Credentials of Google Cloud. */
export const GcpAuth = object(
  "GcpAuth",
  "An access token or an identity token of Google Cloud.",
  {
    type: defaulted(Schema.Literals(["accessToken", "idToken"]), "accessToken", "Kind of the token."),
    audience: optional(LongString, "Audience of an identity token; `https://<host of the backend>` when left out."),
    credential: optional(SecretFileOrInline, "A credential in JSON; the ambient one when left out.")
  },
  {
    check: (gcp) =>
      "audience" in gcp && gcp.type !== "idToken"
        ? { path: ["audience"], issue: "only an idToken has an audience" }
        : undefined,
    jsonSchema: {
      anyOf: [{ not: { required: ["audience"] } }, { required: ["type"], properties: { type: { const: "idToken" } } }]
    }
  }
)

const SessionName = Schema.Union([
  Schema.String.check(
    Schema.isPattern(/^[\w+=,.@-]{2,64}$/u, { expected: "a session name of 2 to 64 letters, digits and _+=,.@-" })
  ),
  object("ComputedSessionName", "A session name by expression.", {
    expression: required(CelExpression, "The session name. A failure refuses the request.")
  })
])

const SessionTag = exactlyOneOf(
  "AwsSessionTag",
  "A session tag.",
  {
    value: required(
      Schema.String.check(Schema.isMaxCodePoints(256, { expected: "at most 256 characters" })),
      "The value."
    ),
    expression: required(CelExpression, "The value by expression. A failure refuses the request.")
  },
  {
    key: required(
      Schema.String.check(
        Schema.isMinCodePoints(1, { expected: "a name" }),
        Schema.isMaxCodePoints(128, { expected: "at most 128 characters" })
      ),
      "Name of the tag."
    )
  }
)

/** Credentials of AWS; requests are signed with them. */
export const AwsAuth = object(
  "AwsAuth",
  "Signs requests with credentials of AWS: the given ones, or the ambient ones, which may assume a role.",
  {
    accessKeyId: optional(ShortString, "Id of the access key."),
    secretAccessKey: optional(Secret, "The access key."),
    sessionToken: optional(Secret, "Token of temporary credentials."),
    region: optional(ShortString, "Region; that of the backend, then the ambient one, when left out."),
    serviceName: optional(ShortString, "Service to sign for; that of the backend, then `bedrock`, when left out."),
    assumeRole: optional(
      object("AwsAssumeRole", "A role to assume.", {
        roleArn: required(LongString, "The role."),
        sessionName: optional(SessionName, "Name of the session."),
        tags: optional(
          Schema.Array(SessionTag).check(Schema.isMaxLength(50, { expected: "at most 50 tags" })),
          "Tags of the session."
        )
      }),
      "A role to assume with the ambient credentials."
    )
  },
  {
    check: (aws) =>
      "accessKeyId" in aws !== "secretAccessKey" in aws ? "accessKeyId and secretAccessKey come together" : undefined,
    jsonSchema: { dependentRequired: { accessKeyId: ["secretAccessKey"], secretAccessKey: ["accessKeyId"] } }
  },
  {
    check: (aws) =>
      "sessionToken" in aws && !("accessKeyId" in aws)
        ? "sessionToken requires accessKeyId and secretAccessKey"
        : undefined,
    jsonSchema: { dependentRequired: { sessionToken: ["accessKeyId"] } }
  },
  exclusive("accessKeyId", "assumeRole")
)

const AzureClientSecret = withAliases(
  object("AzureClientSecret", "A registered application with a secret.", {
    tenantId: required(ShortString, "The tenant."),
    clientId: required(ShortString, "The application."),
    clientSecret: required(Secret, "Its secret.")
  }),
  { tenant_id: "tenantId", client_id: "clientId", client_secret: "clientSecret" }
)

const empty = (identifier: string) => object(identifier, "An empty object.", {})

/** Credentials of Azure. */
export const AzureAuth = object(
  "AzureAuth",
  "A token of Azure. Without settings the ambient identity is used.",
  {
    explicitConfig: optional(
      exactlyOneOf("AzureExplicit", "One way to get a token.", {
        clientSecret: required(AzureClientSecret, "A registered application with a secret."),
        managedIdentity: required(
          object("AzureManagedIdentity", "A managed identity.", {
            userAssignedIdentity: optional(
              exactlyOneOf("AzureUserAssignedIdentity", "A user-assigned identity.", {
                clientId: required(ShortString, "By its client id."),
                objectId: required(ShortString, "By its object id."),
                resourceId: required(LongString, "By its resource id.")
              }),
              "A user-assigned identity; the one of the system when left out."
            )
          }),
          "A managed identity."
        ),
        workloadIdentity: required(empty("AzureWorkloadIdentity"), "The workload identity of a cluster.")
      }),
      "One way to get a token."
    ),
    developerImplicit: optional(empty("AzureDeveloper"), "The identity that a developer is signed in with."),
    implicit: optional(
      empty("AzureImplicit"),
      "The environment, the workload identity, the managed identity, the command line, in this order."
    )
  },
  exclusive("explicitConfig", "developerImplicit"),
  exclusive("explicitConfig", "implicit"),
  exclusive("developerImplicit", "implicit")
)

/** Algorithms for tokens that the proxy signs. */
export const SigningAlgorithm = Schema.Literals(["RS256", "RS384", "RS512", "PS256", "ES256", "ES384"]).annotate({
  identifier: "SigningAlgorithm",
  description: "A signature algorithm."
})

const reserved = ["iat", "exp", "nbf"]

/** A token that the proxy signs for each request. */
export const JwtSign = object(
  "JwtSign",
  "Signs a token for each request.",
  {
    signingKey: required(SecretFileOrInline, "Private RSA or EC key, PEM; a file is watched."),
    alg: defaulted(SigningAlgorithm, "RS256", "Signature algorithm."),
    kid: optional(ShortString, "Key id for the header of the token."),
    claims: optional(
      JsonObject,
      "Claims of the token. `iat` and `exp` are set by the proxy; they and `nbf` are refused."
    ),
    ttl: defaulted(
      Duration.check(Schema.isGreaterThanOrEqualTo(1000, { expected: "at least 1s" })),
      "300s",
      "How long a token is valid."
    ),
    location: defaulted(WritableLocation, bearer, "Where the token is written.")
  },
  {
    check: ({ claims }) => {
      const claim = reserved.find((name) => claims !== undefined && name in claims)
      return claim === undefined ? undefined : { path: ["claims", claim], issue: "is set by the proxy" }
    },
    jsonSchema: { properties: { claims: { not: { anyOf: reserved.map((claim) => ({ required: [claim] })) } } } }
  }
)

/** A further credential beside the main one. */
export const BackendCredential = object("BackendCredential", "A further credential.", {
  location: required(WritableLocation, "Where the credential is written."),
  key: required(SecretFileOrInline, "The credential; a file is watched.")
})

/** How the proxy proves to an authorization server who it is. */
export const ClientAuth = object(
  "ClientAuth",
  "How the proxy proves to an authorization server who it is.",
  {
    method: defaulted(
      Schema.Literals(["clientSecretBasic", "clientSecretPost", "privateKeyJwt"]),
      "clientSecretBasic",
      "By secret in the header, by secret in the form, or by signed assertion."
    ),
    clientId: required(LongString, "The client."),
    clientSecret: optional(SecretFileOrInline, "Its secret."),
    signingKey: optional(SecretFileOrInline, "Private RSA or EC key for `privateKeyJwt`, PEM."),
    alg: optional(SigningAlgorithm, "Signature algorithm for `privateKeyJwt`; RS256 when left out."),
    kid: optional(ShortString, "Key id for `privateKeyJwt`."),
    assertionAudience: optional(LongString, "Audience of the assertion, for `privateKeyJwt`."),
    certificate: optional(FileOrInline, "Certificate of the key for `privateKeyJwt`, PEM."),
    certificateHeader: optional(Schema.Literals(["x5c", "x5t#S256"]), "How the certificate is told in the assertion.")
  },
  {
    check: ({ method = "clientSecretBasic", ...auth }) => {
      const needs = {
        clientSecretBasic: ["clientSecret"],
        clientSecretPost: [],
        privateKeyJwt: ["signingKey", "assertionAudience"]
      }[method]
      const missing = needs.find((key) => !(key in auth))
      if (missing !== undefined) return `method ${method} requires ${missing}`
      const assertion = ["signingKey", "alg", "kid", "assertionAudience", "certificate", "certificateHeader"]
      const wrong = (method === "privateKeyJwt" ? ["clientSecret"] : assertion).find((key) => key in auth)
      return wrong === undefined ? undefined : { path: [wrong], issue: `cannot be used with method ${method}` }
    }
  }
)

/** Where a token is read from: any credential location. */
export const TokenSource = CredentialLocation
