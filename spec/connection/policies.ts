/**
 * The policies of a connection to another server, be it a backend or a server that a policy calls; and those of them that call further
 * servers, so that the whole is recursive: authentication by exchanged tokens, and tunnels.
 */
import { Schema, SchemaGetter } from "effect"
import {
  defaulted,
  type ExactlyOneOf,
  exactlyOneOf,
  type Fields,
  named,
  object,
  optional,
  planned,
  type Rule,
  recursive,
  required,
  ruled
} from "../field.ts"
import { HeaderModifier } from "../header.ts"
import { bearer, CredentialLocation } from "../location.ts"
import { CelExpression, Count, Duration, LongString, PortNumber } from "../primitives.ts"
import { BackendName, ServiceName, ServiceReference, SimpleBackend, TargetHost } from "../target.ts"
import {
  AwsAuth,
  AzureAuth,
  BackendCredential,
  BackendKey,
  ClientAuth,
  GcpAuth,
  JwtSign,
  WritableLocation
} from "./auth.ts"
import { BackendHttp } from "./http.ts"
import { BackendTcp } from "./tcp.ts"
import { BackendTls } from "./tls.ts"
import { Transformations } from "./transformation.ts"

/** Decoded policies of a connection. */
export interface ConnectionPolicies {
  readonly requestHeaderModifier?: typeof HeaderModifier.Type
  readonly transformations?: typeof Transformations.Type
  readonly backendTLS?: typeof BackendTls.Type
  readonly backendAuth?: typeof BackendAuth.Type
  readonly http?: typeof BackendHttp.Type
  readonly tcp?: typeof BackendTcp.Type
  readonly backendTunnel?: typeof BackendTunnel.Type
}

const nested: Schema.Codec<ConnectionPolicies, unknown> = recursive("ConnectionPolicies", () => ConnectionPolicies)

const byName = "The server by its name in `backends`. It is called with the policies of that backend."

const called = {
  host: required(TargetHost, "The server by its address."),
  backend: required(BackendName, byName),
  service: required(ServiceReference, "The server as a service.")
}

const policies = { policies: optional(nested, "Policies of the connection to the server.") }

/**
 * An object that names a server to call, `host`, `backend` or `service`, next to fields of its own. A service may also be written flat,
 * as `name` and `port`.
 */
export const calling = <const F extends Fields>(
  identifier: string,
  description: string,
  fields: F,
  ...rules: ReadonlyArray<Rule<Schema.Struct<F>["Encoded"]>>
): ExactlyOneOf<typeof called, typeof policies & F> => {
  const shared = { ...policies, ...fields }
  const decoded = exactlyOneOf(identifier, description, called, shared)
  const flat = {
    name: optional(ServiceName, "The server as a service, with `port`."),
    port: optional(PortNumber, "The port of that service.")
  }
  const wire = Schema.toEncoded(
    Schema.Struct({
      host: optional(TargetHost, "The server by its address."),
      backend: optional(BackendName, byName),
      service: optional(ServiceReference, "The server as a service."),
      ...flat,
      ...shared
    })
  )
  const one: Rule<object> = {
    check: (form) => {
      if ("name" in form !== "port" in form) return "service backend requires both name and port"
      const present = ["host", "backend", "service", "name"].filter((key) => key in form)
      return present.length === 1 ? undefined : "backend must be exactly one of service, host, or backend"
    },
    jsonSchema: {
      oneOf: ["host", "backend", "service", "name"].map((key) => ({ required: [key] })),
      dependentRequired: { name: ["port"], port: ["name"] }
    }
  }
  const form = named(
    ruled(wire as Schema.Codec<object>, one, ...(rules as ReadonlyArray<Rule<object>>)),
    identifier,
    description
  )
  return form.pipe(
    Schema.decodeTo(decoded as unknown as Schema.Codec<unknown>, {
      decode: SchemaGetter.transform((value: object): unknown => {
        const { name, port, ...rest } = value as { readonly name?: string; readonly port?: number }
        return name === undefined ? rest : { ...rest, service: { name, port } }
      }),
      encode: SchemaGetter.passthrough({ strict: false })
    })
  ) as unknown as ExactlyOneOf<typeof called, typeof policies & F>
}

const tokenType = (kind: string) => `urn:ietf:params:oauth:token-type:${kind}`

const Token = object("TokenSource", "A token of the request.", {
  source: defaulted(CredentialLocation, bearer, "Where the token stands."),
  tokenType: defaulted(LongString, tokenType("access_token"), "Kind of the token, a URI.")
})

const ActorToken = object("ActorToken", "The token of who acts for the subject.", {
  source: required(CredentialLocation, "Where the token stands."),
  tokenType: defaulted(LongString, tokenType("access_token"), "Kind of the token, a URI."),
  enforceMayAct: defaulted(
    Schema.Boolean,
    false,
    "Whether the subject's `may_act` claim must name the actor; needs a JWT."
  )
})

const TokenCache = object("TokenCache", "How long tokens are kept.", {
  maxEntries: defaulted(Count, 8192, "Tokens to keep; 0 keeps none."),
  defaultTtl: defaulted(Duration, "300s", "How long a token is kept whose lifetime is not told.")
})

const TokenPath = Schema.String.check(Schema.isStartingWith("/", { expected: "a path that begins with /" }))

const reserved = new Set([
  "grant_type",
  "subject_token",
  "subject_token_type",
  "actor_token",
  "actor_token_type",
  "requested_token_type",
  "audience",
  "scope",
  "resource",
  "assertion",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type"
])

const TokenExchange = calling(
  "OAuthTokenExchange",
  "Exchanges the token of the request for one of the backend (RFC 8693 or RFC 7523).",
  {
    path: defaulted(TokenPath, "/", "Path of the token endpoint."),
    grantType: defaulted(
      Schema.Literals(["tokenExchange", "jwtBearer"]),
      "tokenExchange",
      "Token exchange (RFC 8693) or JWT bearer (RFC 7523)."
    ),
    subjectToken: defaulted(Token, {}, "The token to exchange."),
    actorToken: optional(ActorToken, "The token of who acts for the subject."),
    audiences: optional(Schema.Array(LongString), "Audiences to ask for."),
    scopes: optional(Schema.Array(LongString), "Scopes to ask for."),
    resources: optional(Schema.Array(LongString), "Resources to ask for."),
    requestedTokenType: optional(LongString, "Kind of the token to ask for, a URI."),
    clientAuth: optional(ClientAuth, "How the proxy proves who it is."),
    additionalParams: optional(Schema.Record(Schema.String, CelExpression), "Further parameters, each an expression."),
    authorizationLocation: defaulted(WritableLocation, bearer, "Where the new token is written."),
    cache: optional(TokenCache, "How long tokens are kept.")
  },
  {
    check: (exchange) => {
      const wrong = (["requestedTokenType", "actorToken"] as const).find((key) => key in exchange)
      return exchange.grantType === "jwtBearer" && wrong !== undefined
        ? { path: [wrong], issue: "cannot be used with grantType jwtBearer" }
        : undefined
    }
  },
  {
    check: ({ requestedTokenType }) =>
      requestedTokenType === tokenType("id-jag")
        ? { path: ["requestedTokenType"], issue: "use crossAppAccess for this kind of token" }
        : undefined
  },
  {
    check: ({ additionalParams = {} }) => {
      const name = Object.keys(additionalParams).find((each) => reserved.has(each.toLowerCase()))
      return name === undefined ? undefined : { path: ["additionalParams", name], issue: "is set by the proxy" }
    }
  }
)

const CrossAppEndpoint = calling("CrossAppAccessEndpoint", "An authorization server.", {
  path: defaulted(TokenPath, "/", "Path of the token endpoint."),
  clientAuth: required(ClientAuth, "How the proxy proves who it is.")
})

const CrossAppAccess = object(
  "CrossAppAccess",
  "Gets a token of another application by way of the identity provider (ID-JAG).",
  {
    identityProvider: required(CrossAppEndpoint, "The identity provider, which issues the assertion."),
    resourceAuthorizationServer: required(
      CrossAppEndpoint,
      "The authorization server of the application, which issues the token."
    ),
    audience: required(LongString, "Audience of the assertion: the authorization server of the application."),
    resources: optional(Schema.Array(LongString), "Resources to ask for."),
    scopes: optional(Schema.Array(LongString), "Scopes of the assertion."),
    accessTokenScopes: optional(
      Schema.Array(LongString),
      "Scopes of the token; those of the assertion when left out, none when empty."
    ),
    subjectToken: defaulted(
      object("CrossAppSubjectToken", "The token of the user.", {
        source: defaulted(CredentialLocation, bearer, "Where the token stands."),
        tokenType: defaulted(LongString, tokenType("id_token"), "Kind of the token, a URI.")
      }),
      {},
      "The token of the user."
    ),
    cache: optional(TokenCache, "How long tokens are kept.")
  }
)

const kinds = [
  "key",
  "passthrough",
  "gcp",
  "aws",
  "azure",
  "copilot",
  "jwtSign",
  "oauthTokenExchange",
  "crossAppAccess"
] as const

const AuthObject = object(
  "BackendAuthObject",
  "One way to authenticate to a backend, and further credentials.",
  {
    key: optional(BackendKey, "A key: the value itself, `{ file }`, or `{ value, location }`. A file is watched."),
    passthrough: optional(
      object("PassthroughAuth", "Where the token is written.", {
        location: optional(WritableLocation, "Where the token is written; `authorization: Bearer` when left out.")
      }),
      "The validated token of the request, which the token policy has removed. A request without one is sent as it is."
    ),
    gcp: planned(GcpAuth, "Google Cloud."),
    aws: planned(AwsAuth, "AWS."),
    azure: planned(AzureAuth, "Azure."),
    copilot: planned(object("CopilotAuth", "An empty object.", {}), "GitHub Copilot, with the token of this machine."),
    jwtSign: planned(JwtSign, "A token that the proxy signs."),
    oauthTokenExchange: planned(TokenExchange, "A token that the token of the request is exchanged for."),
    crossAppAccess: planned(CrossAppAccess, "A token of another application."),
    credentials: defaulted(Schema.Array(BackendCredential), [], "Further credentials, written after the main one.")
  },
  {
    check: (auth) => {
      const present = kinds.filter((kind) => kind in auth)
      if (present.length > 1) return `expected at most one of ${kinds.join(", ")}, got ${present.join(" and ")}`
      return present.length === 0 && !("credentials" in auth)
        ? `expected one of ${[...kinds, "credentials"].join(", ")}`
        : undefined
    },
    jsonSchema: {
      anyOf: [
        { oneOf: kinds.map((kind) => ({ required: [kind] })) },
        { required: ["credentials"], not: { anyOf: kinds.map((kind) => ({ required: [kind] })) } }
      ]
    }
  }
)

type AuthType = typeof AuthObject.Type

const AuthForm = Schema.Union([Schema.Literal("copilot").annotate({ planned: true }), AuthObject]).annotate({
  identifier: "BackendAuth",
  description: "How the proxy authenticates to the backend. A failure answers 500."
})

/** How the proxy authenticates to a backend. The short form `copilot` decodes to `{ copilot: {} }`. */
export const BackendAuth = AuthForm.pipe(
  Schema.decodeTo(Schema.toType(AuthObject) as unknown as Schema.Codec<AuthType>, {
    decode: SchemaGetter.transform(
      (form: "copilot" | AuthType): AuthType => (form === "copilot" ? { copilot: {}, credentials: [] } : form)
    ),
    encode: SchemaGetter.transform((auth: AuthType): "copilot" | AuthType => auth)
  })
)

/** An HTTP proxy on the way to the backend. */
export const BackendTunnel = object("BackendTunnel", "Reaches the backend through an HTTP proxy.", {
  proxy: required(
    SimpleBackend,
    "The HTTP proxy: a server, or a host among `backends` with the policies that it has there."
  ),
  mode: defaulted(
    Schema.Literals(["auto", "connect"]),
    "auto",
    "`auto` sends plain HTTP in absolute form, under the address of the backend, and opens a tunnel for anything else; `connect` always opens a tunnel."
  ),
  policies: optional(
    nested,
    "Policies of the connection to the proxy: `backendTLS`, `tcp`, and a key of `backendAuth`, which goes into `proxy-authorization`. `tcp.connectTimeout` of the backend bounds connection, tunnel and TLS together."
  )
})

/** The policies of a connection to another server. */
export const ConnectionPolicies = object("ConnectionPolicies", "Policies of the connection to another server.", {
  requestHeaderModifier: optional(HeaderModifier, "Changes headers of the call."),
  transformations: optional(Transformations, "Changes headers and bodies by expressions."),
  backendTLS: optional(BackendTls, "TLS towards the server."),
  backendAuth: optional(BackendAuth, "How the proxy authenticates to the server."),
  http: optional(BackendHttp, "How the server is called over HTTP."),
  tcp: optional(BackendTcp, "How connections are opened."),
  backendTunnel: optional(BackendTunnel, "Reaches the server through an HTTP proxy.")
})
