/**
 * The way of an MCP client to its first authorised call, walked by the official SDK: from the refusal to the metadata, the
 * registration, the pages of the identity provider, the token, and back.
 */

import { assert, describe, it } from "@effect/vitest"
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from "@modelcontextprotocol/client"
import { Client as ClientOne } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportOne } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect } from "effect"
import { freePort } from "../../free-ports.ts"
import { startFixture } from "../mcp/fixture-http.ts"
import { authorizeAs } from "./browser.ts"
import { startIdentityProvider } from "./identity-provider.ts"
import { proxy } from "./proxy.ts"

const redirectUrl = "http://localhost:8976/callback"

/** What a client keeps between the steps, and where it was sent. */
const credentials = (clientName: string) => {
  const kept: { client?: unknown; tokens?: unknown; verifier?: string; authorization?: URL } = {}
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (url: URL) => {
      kept.authorization = url
    },
    saveCodeVerifier: (verifier: string) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? ""
  }
  return { kept, provider }
}
type Provider = ReturnType<typeof credentials>["provider"]

interface Session {
  readonly connect: () => Promise<void>
  readonly finishAuth: (code: string) => Promise<void>
  readonly tools: () => Promise<ReadonlyArray<string>>
  readonly call: (name: string) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** Both generations of the SDK, as one. */
const sessions: Readonly<Record<string, (url: URL, authProvider: Provider) => Session>> = {
  "@modelcontextprotocol/sdk": (url, authProvider) => {
    const client = new ClientOne({ name: "test", version: "1" })
    const transport = new TransportOne(url, { authProvider: authProvider as never })
    return {
      connect: () => client.connect(transport as never),
      finishAuth: (code) => transport.finishAuth(code),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name) => (await client.callTool({ name, arguments: {} })).content,
      close: () => client.close()
    }
  },
  "@modelcontextprotocol/client": (url, authProvider) => {
    const client = new ClientTwo({ name: "test", version: "1" })
    const transport = new TransportTwo(url, { authProvider: authProvider as never })
    return {
      connect: () => client.connect(transport),
      finishAuth: (code) => transport.finishAuth(code),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name) => (await client.callTool({ name, arguments: {} })).content,
      close: () => client.close()
    }
  }
}

/** An identity provider, an MCP server, and the proxy before it. */
const world = Effect.gen(function* () {
  const identity = yield* Effect.acquireRelease(
    Effect.promise(() => startIdentityProvider("mcp")),
    (provider) => Effect.promise(provider.close)
  )
  const server = yield* Effect.acquireRelease(Effect.promise(startFixture), (fixture) => Effect.promise(fixture.close))
  const port = yield* Effect.promise(freePort)
  const base = `http://localhost:${port}`
  yield* proxy({
    gateways: { default: { port } },
    routes: [
      {
        matches: [{ path: { pathPrefix: "/mcp" } }, { path: { pathPrefix: "/.well-known" } }],
        policies: {
          mcpAuthentication: {
            issuer: identity.issuer,
            audiences: ["mcp"],
            provider: { keycloak: {} },
            resourceMetadata: {
              resource: `${base}/mcp`,
              scopesSupported: ["mcp:tools"],
              bearerMethodsSupported: ["header"]
            }
          },
          authorization: { rules: ['jwt.sub == "ada"'] }
        },
        backends: [{ mcp: { targets: [{ name: "fixture", mcp: { host: `http://127.0.0.1:${server.port}/mcp` } }] } }]
      }
    ]
  })
  return { identity, server, base, url: new URL(`${base}/mcp`) }
})

const failure = (run: () => Promise<unknown>) =>
  Effect.promise(() =>
    run().then(
      () => undefined,
      (error: unknown) => error
    )
  )

describe.each(Object.keys(sessions))("the authorization of MCP, walked by %s", (name) => {
  const open = sessions[name]!

  it.live("from the refusal to the authorised call", () =>
    Effect.gen(function* () {
      const { identity, server, base, url } = yield* world
      const { kept, provider } = credentials("walker")

      const first = open(url, provider)
      const refused = yield* failure(first.connect)
      assert.instanceOf(refused, Error, "a client without a token is refused")
      assert.isDefined(kept.authorization, `and was sent to the identity provider: ${String(refused)}`)
      assert.isTrue(kept.authorization!.href.startsWith(`${identity.issuer}/protocol/openid-connect/auth?`))
      assert.strictEqual(kept.authorization!.searchParams.get("code_challenge_method"), "S256")
      const registered = kept.client as { client_id?: string }
      assert.isString(registered.client_id, "the provider generated an id")
      assert.include(identity.requests, "POST /realms/demo/clients-registrations/openid-connect")

      const answer = yield* Effect.promise(() => authorizeAs("ada", kept.authorization!, redirectUrl))
      const code = answer.searchParams.get("code")
      assert.isString(code, answer.href)
      yield* Effect.promise(() => first.finishAuth(code!))
      assert.isDefined(kept.tokens)

      const second = open(url, provider)
      yield* Effect.promise(second.connect)
      assert.include(yield* Effect.promise(second.tools), "test_simple_text")
      const content = yield* Effect.promise(() => second.call("test_simple_text"))
      assert.isNotEmpty(content)
      yield* Effect.promise(second.close)

      // The token stayed here.
      assert.isAbove(server.seen.length, 0)
      assert.isTrue(server.seen.every((headers) => headers.authorization === undefined))
      // One fetch of the keys, and nothing asked of the provider for every call.
      assert.strictEqual(identity.requests.filter((line) => line.endsWith("/certs")).length, 1)
      assert.strictEqual(base, `http://${url.host}`)
    })
  )

  it.live("somebody whom the rules do not let pass has a token, and is refused by them", () =>
    Effect.gen(function* () {
      const { url } = yield* world
      const { kept, provider } = credentials("walker")
      const first = open(url, provider)
      yield* failure(first.connect)
      const answer = yield* Effect.promise(() => authorizeAs("eve", kept.authorization!, redirectUrl))
      yield* Effect.promise(() => first.finishAuth(answer.searchParams.get("code")!))
      const tokens = kept.tokens as { readonly access_token: string }
      const response = yield* Effect.promise(() =>
        fetch(url, { method: "POST", headers: { authorization: `Bearer ${tokens.access_token}` }, body: "{}" })
      )
      assert.strictEqual(response.status, 403)
      assert.strictEqual(yield* Effect.promise(() => response.text()), "authorization failed")
    })
  )

  it.live("a registration that the provider's policy refuses is refused in its words", () =>
    Effect.gen(function* () {
      const { url } = yield* world
      const { kept, provider } = credentials("stranger")
      const refused = yield* failure(open(url, provider).connect)
      assert.match(String(refused), /Policy 'Trusted Hosts' rejected request/)
      assert.isUndefined(kept.authorization)
    })
  )
})
