import { assert, describe, it } from "@effect/vitest"
import { generic, type Provider, providers } from "./providers.ts"

const kinds: Readonly<Record<string, Provider>> = { generic, ...providers }
const serving = { document: "https://mcp.example/.well-known/oauth-authorization-server/mcp", audiences: ["mcp", "b"] }
const here = `${serving.document}/client-registration`

describe("addresses of identity providers", () => {
  it.each<readonly [string, string, string, string, string | undefined]>([
    [
      "generic",
      "https://id.example/tenant/",
      "https://id.example/tenant/.well-known/jwks.json",
      "https://id.example/.well-known/oauth-authorization-server/tenant",
      "https://id.example/tenant/clients-registrations/openid-connect"
    ],
    [
      "auth0",
      "https://tenant.auth0.example/",
      "https://tenant.auth0.example/.well-known/jwks.json",
      "https://tenant.auth0.example/.well-known/oauth-authorization-server",
      "https://tenant.auth0.example/clients-registrations/openid-connect"
    ],
    [
      "keycloak",
      "https://id.example/realms/demo",
      "https://id.example/realms/demo/protocol/openid-connect/certs",
      "https://id.example/realms/demo/.well-known/openid-configuration",
      "https://id.example/realms/demo/clients-registrations/openid-connect"
    ],
    [
      "okta",
      "https://dev.okta.example/oauth2/default",
      "https://dev.okta.example/oauth2/default/.well-known/jwks.json",
      "https://dev.okta.example/oauth2/default/.well-known/openid-configuration",
      "https://dev.okta.example/oauth2/v1/clients"
    ],
    [
      "descope",
      "https://api.descope.example/v1/apps/agentic/P1/S1",
      "https://api.descope.example/P1/.well-known/jwks.json",
      "https://api.descope.example/v1/apps/agentic/P1/S1/.well-known/openid-configuration",
      "https://api.descope.example/v1/mgmt/mcp/client/P1/S1/register"
    ],
    [
      "descope",
      "https://api.descope.example/P1",
      "https://api.descope.example/P1/.well-known/jwks.json",
      "https://api.descope.example/P1/.well-known/openid-configuration",
      undefined
    ],
    [
      "authentik",
      "https://id.example/application/o/mcp/",
      "https://id.example/application/o/mcp/jwks/",
      "https://id.example/application/o/mcp/.well-known/openid-configuration",
      undefined
    ],
    [
      "entra",
      "https://sts.windows.net/T1/",
      "https://login.microsoftonline.com/T1/discovery/v2.0/keys",
      "https://login.microsoftonline.com/T1/v2.0/.well-known/openid-configuration",
      undefined
    ],
    [
      "entra",
      "https://login.microsoftonline.us/T1/v2.0",
      "https://login.microsoftonline.us/T1/discovery/v2.0/keys",
      "https://login.microsoftonline.us/T1/v2.0/.well-known/openid-configuration",
      undefined
    ]
  ])("%s of %s", (kind, issuer, keySet, metadata, registration) => {
    const provider = kinds[kind]!
    const url = new URL(issuer)
    assert.deepStrictEqual(
      [provider.keySet(url), provider.metadata(url), provider.registration(url)],
      [keySet, metadata, registration]
    )
  })
})

describe("metadata as it is served", () => {
  const endpoint = { authorization_endpoint: "https://id.example/authorize?x=1" }
  const asked = { authorization_endpoint: "https://id.example/authorize?x=1&audience=mcp" }
  const registering = { registration_endpoint: "https://id.example/register" }

  it.each<readonly [string, Record<string, unknown>, Record<string, unknown> | undefined]>([
    ["generic", { issuer: "i" }, { issuer: "i" }],
    ["auth0", { ...endpoint, ...registering }, { ...asked, ...registering }],
    ["auth0", registering, undefined],
    ["keycloak", { ...endpoint, ...registering }, { ...endpoint, registration_endpoint: here }],
    ["keycloak", endpoint, undefined],
    ["okta", { ...endpoint, ...registering }, { ...asked, registration_endpoint: here }],
    ["okta", endpoint, asked],
    ["okta", { authorization_endpoint: "nowhere" }, undefined],
    ["descope", { ...endpoint, ...registering }, { ...endpoint, registration_endpoint: here }],
    ["descope", endpoint, endpoint],
    ["authentik", endpoint, { ...endpoint, registration_endpoint: here }],
    [
      "entra",
      { ...endpoint, code_challenge_methods_supported: ["plain"] },
      {
        authorization_endpoint: `${serving.document}/authorize`,
        token_endpoint: `${serving.document}/token`,
        registration_endpoint: here,
        code_challenge_methods_supported: ["plain"]
      }
    ]
  ])("by %s, from %j", (kind, metadata, expected) => {
    assert.deepStrictEqual(kinds[kind]!.adapt(metadata, serving), expected)
  })

  it("asks for no audience where none is configured", () => {
    assert.deepStrictEqual(providers.auth0.adapt(endpoint, { ...serving, audiences: [] }), endpoint)
  })
})
