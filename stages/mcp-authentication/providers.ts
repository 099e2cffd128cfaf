/**
 * What the kinds of identity providers do differently: where they publish keys and metadata, what their metadata lacks for
 * MCP clients, and where they register clients.
 */
import type { JsonObject } from "../../src/policy/policy.ts"

/** What the metadata is served for. */
export interface Serving {
  /** Where the client found the metadata. */
  readonly document: string
  readonly audiences: ReadonlyArray<string>
}

export interface Provider {
  readonly keySet: (issuer: URL) => string
  readonly metadata: (issuer: URL) => string
  /** What is served in place of the provider's own metadata; `undefined` when it lacks what cannot be done without. */
  readonly adapt: (metadata: JsonObject, serving: Serving) => JsonObject | undefined
  /** Where clients are registered; `undefined` when only a configured client will do. */
  readonly registration: (issuer: URL) => string | undefined
}

const base = (issuer: URL) => issuer.href.replace(/\/$/, "")
const segments = (issuer: URL) => issuer.pathname.split("/").filter((segment) => segment !== "")

const jwksJson = (issuer: URL) => `${base(issuer)}/.well-known/jwks.json`
const openIdConfiguration = (issuer: URL) => `${base(issuer)}/.well-known/openid-configuration`
/** RFC 8414 3.1: the well-known part stands before the path of the issuer. */
const serverMetadata = (issuer: URL) =>
  `${issuer.origin}/.well-known/oauth-authorization-server${issuer.pathname.replace(/\/$/, "")}`
const clientsRegistrations = (issuer: URL) => `${base(issuer)}/clients-registrations/openid-connect`

const registrationHere = (metadata: JsonObject, { document }: Serving): JsonObject => ({
  ...metadata,
  registration_endpoint: `${document}/client-registration`
})
const registrationHereIfAny = (metadata: JsonObject, serving: Serving) =>
  metadata["registration_endpoint"] === undefined ? metadata : registrationHere(metadata, serving)

/** These providers know no resource indicators (RFC 8707): the audience is asked for by a parameter of their own. */
const withAudience = (metadata: JsonObject, { audiences }: Serving): JsonObject | undefined => {
  const endpoint = metadata["authorization_endpoint"]
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) return undefined
  const [audience] = audiences
  if (audience === undefined) return metadata
  const url = new URL(endpoint)
  url.searchParams.append("audience", audience)
  return { ...metadata, authorization_endpoint: url.href }
}

/** The standards, and nothing beyond. */
export const generic: Provider = {
  keySet: jwksJson,
  metadata: serverMetadata,
  adapt: (metadata) => metadata,
  registration: clientsRegistrations
}

/** `/v1/apps/agentic/{project}/{server}` */
const agentic = (issuer: URL) => {
  const [version, apps, kind, project, server] = segments(issuer)
  return version === "v1" && apps === "apps" && kind === "agentic" && project !== undefined && server !== undefined
    ? { project, server }
    : undefined
}

/** The address of an Entra tenant, whichever of its two issuers is configured. */
export const entraTenant = (issuer: URL): string => {
  const host = issuer.host === "sts.windows.net" ? "login.microsoftonline.com" : issuer.host
  return `https://${host}/${segments(issuer)[0] ?? ""}`
}

export const providers = {
  auth0: { ...generic, adapt: withAudience },
  keycloak: {
    keySet: (issuer) => `${base(issuer)}/protocol/openid-connect/certs`,
    metadata: openIdConfiguration,
    // Through the proxy, so that no origin has to be allowed at the provider.
    adapt: (metadata, serving) =>
      metadata["registration_endpoint"] === undefined ? undefined : registrationHere(metadata, serving),
    registration: clientsRegistrations
  },
  okta: {
    keySet: jwksJson,
    metadata: openIdConfiguration,
    adapt: (metadata, serving) => {
      const adapted = withAudience(metadata, serving)
      return adapted && registrationHereIfAny(adapted, serving)
    },
    registration: (issuer) => `${issuer.origin}/oauth2/v1/clients`
  },
  descope: {
    keySet: (issuer) => {
      const app = agentic(issuer)
      return app === undefined ? jwksJson(issuer) : `${issuer.origin}/${app.project}/.well-known/jwks.json`
    },
    metadata: openIdConfiguration,
    adapt: registrationHereIfAny,
    registration: (issuer) => {
      const app = agentic(issuer)
      return app && `${issuer.origin}/v1/mgmt/mcp/client/${app.project}/${app.server}/register`
    }
  },
  authentik: {
    keySet: (issuer) => `${base(issuer)}/jwks/`,
    metadata: openIdConfiguration,
    adapt: registrationHere,
    registration: () => undefined
  },
  entra: {
    keySet: (issuer) => `${entraTenant(issuer)}/discovery/v2.0/keys`,
    metadata: (issuer) => `${entraTenant(issuer)}/v2.0/.well-known/openid-configuration`,
    adapt: (metadata, serving) => ({
      code_challenge_methods_supported: ["S256"],
      ...registrationHere(metadata, serving),
      authorization_endpoint: `${serving.document}/authorize`,
      token_endpoint: `${serving.document}/token`
    }),
    registration: () => undefined
  }
} satisfies Record<string, Provider>
