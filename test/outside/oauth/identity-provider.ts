/**
 * An identity provider of its own make, `oidc-provider`, at the addresses of a realm-based one: a realm in the issuer,
 * registration below it, and tokens whose audience the realm decides, whatever resource a client asks for.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import Provider from "oidc-provider"
import signingKeys from "../../fixtures/signing-keys.json" with { type: "json" }

export interface IdentityProvider {
  readonly issuer: string
  /** `POST /realms/demo/…`: every request, in order. */
  readonly requests: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const realm = "/realms/demo"
const endpoints = `/protocol/openid-connect`
const registration = "/clients-registrations/openid-connect"

const configuration = (audience: string) => ({
  jwks: { keys: [{ ...signingKeys["rsa-1"], use: "sig", alg: "RS256" }] },
  cookies: { keys: ["of the test"] },
  scopes: ["openid", "offline_access", "mcp:tools"],
  routes: {
    authorization: `${endpoints}/auth`,
    token: `${endpoints}/token`,
    jwks: `${endpoints}/certs`,
    userinfo: `${endpoints}/userinfo`,
    end_session: `${endpoints}/logout`,
    registration
  },
  ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 300, IdToken: 300, Interaction: 300, Session: 300 },
  findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:any",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience,
        scope: "mcp:tools",
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256" } }
      })
    }
  }
})

/** @param audience what the tokens of the realm bear as `aud`. */
export const startIdentityProvider = async (audience: string): Promise<IdentityProvider> => {
  const requests: Array<string> = []
  let serve: (request: IncomingMessage, response: ServerResponse) => unknown = () => {}
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split("?")[0]}`)
    serve(request, response)
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}${realm}`
  const provider = quietly(() => new Provider(issuer, configuration(audience)))
  const callback = provider.callback()
  serve = async (request, response) => {
    const url = request.url ?? ""
    if (url === `${realm}${registration}` && (await isUntrusted(request)))
      return response
        .writeHead(403, { "content-type": "text/plain" })
        .end("Policy 'Trusted Hosts' rejected request to client-registration service.")
    // As a framework that mounts the provider below a path does.
    Object.assign(request, { originalUrl: url, baseUrl: realm })
    request.url = url.slice(realm.length)
    return callback(request, response)
  }
  return {
    issuer,
    requests,
    close: () =>
      new Promise((closed) => {
        server.closeAllConnections()
        server.close(() => closed())
      })
  }
}

/** The realm's policy: whoever calls itself a stranger is not registered. */
const isUntrusted = async (request: IncomingMessage): Promise<boolean> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
  // The provider takes a body that was parsed before it.
  Object.assign(request, { body })
  return typeof body === "object" && body !== null && "client_name" in body && body.client_name === "stranger"
}

/** It warns, at length, that this is no production. */
const quietly = <A>(make: () => A): A => {
  const { info, warn } = console
  console.info = () => {}
  console.warn = () => {}
  try {
    return make()
  } finally {
    console.info = info
    console.warn = warn
  }
}
