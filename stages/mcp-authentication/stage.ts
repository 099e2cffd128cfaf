/**
 * mcpAuthentication: protects an MCP route as the MCP authorization specification asks. Clients without a token are told
 * where to get one, and find the metadata that leads them to the identity provider here.
 */
import { Effect, Exit } from "effect"
import {
  type BodyAborted,
  type BodyTooLarge,
  type BuffersFull,
  challenge,
  compileCredential,
  credentialReadings,
  HttpFetch,
  type JsonObject,
  type KeysUnavailable,
  makeTokenVerifier,
  next,
  openKeySet,
  type PolicyGraph,
  policy,
  respond,
  type StageError,
  slot,
  slots,
  type TokenBearer,
  Unreadable,
  type Verdict,
  type View
} from "../../src/policy/policy.ts"
import { json, type ProviderUnavailable, resourceMetadata, serverMetadata } from "./documents.ts"
import { authorizeRedirect, tokenForwarding } from "./entra.ts"
import { generic, type Provider, providers } from "./providers.ts"
import { fixedClient, forwardedRegistration, noRegistration } from "./registration.ts"
import { McpAuthentication } from "./schema.ts"
import { type Endpoint, isWellKnown, resourceDocument, schemeOf, wellKnownOf } from "./well-known.ts"

/**
 * There is no token, or none that is believed: the answer is the same. Not an `Error`: it is made for every request that
 * is refused, and a stack trace would cost more than the rest of the refusal.
 */
export class TokenRequired implements StageError {
  readonly _tag = "TokenRequired"
  readonly status = 401
  readonly reason = "JwtAuth"
  readonly source = "client"
  /** Why, for whoever watches. */
  readonly message: string
  readonly headers: ReadonlyArray<string>
  readonly content = {
    type: "application/json",
    body: '{"error":"unauthorized","error_description":"JWT token required"}'
  }

  constructor(message: string, metadata: string) {
    this.message = message
    // Clients read it with parsers that know of no escapes; in an address neither a quote nor a backslash means anything.
    const address = metadata.replaceAll('"', "%22").replaceAll("\\", "%5C")
    this.headers = ["www-authenticate", challenge("Bearer", { resource_metadata: address })]
  }
}

/** The token that the request bears, and who bears it once that is verified: handed from node to node. */
const presented = slot<string>()("mcpAuthentication.presented")
const verified = slot<TokenBearer>()("mcpAuthentication.verified")

type Slots = typeof slots.credentialHeaders | typeof presented | typeof verified | typeof slots.jwt
type Failure =
  | TokenRequired
  | KeysUnavailable
  | ProviderUnavailable
  | BodyTooLarge
  | BodyAborted
  | BuffersFull
  | Unreadable

export const mcpAuthentication = policy({
  name: "mcpAuthentication",
  traceKey: "jwt",
  schema: McpAuthentication,
  sites: ["route"],
  responds: [],
  reads: [slots.credentialHeaders, presented, verified],
  writes: [slots.credentialHeaders, presented, verified, slots.jwt],
  outcomes: ["next", "respond", "fail"],
  failsClosed: credentialReadings("mcpAuthentication"),
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config, at) =>
    Effect.gen(function* () {
      const { mode, audiences, clientId, clientSecret } = config
      if (!URL.canParse(config.issuer))
        return yield* Effect.fail([{ path: ["issuer"], message: "expected an http or https URL" }])
      const issuer = new URL(config.issuer)
      const isAdapted = config.provider !== undefined
      const provider: Provider = config.provider === undefined ? generic : providers[config.provider]
      const credential = yield* compileCredential(config.location, at.site, ["authorizationLocation"])
      const { fetch } = yield* HttpFetch
      const keys = yield* openKeySet(config.jwks ?? { url: provider.keySet(issuer) }, at, ["jwks"])
      const verify = makeTokenVerifier([{ ...config, keys }])

      const { resource } = config.resourceMetadata
      const origin = URL.canParse(resource) ? new URL(resource).origin : undefined
      const refused = (x: View<Slots, Slots>, why: string) => {
        const { request } = x
        const base = origin ?? `${schemeOf(request)}://${request.authority}`
        return Effect.fail(new TokenRequired(why, resourceDocument(base, request.path)))
      }

      const describeResource = resourceMetadata(config.resourceMetadata as JsonObject, config.issuer, isAdapted)
      const describeServer = serverMetadata(fetch, provider, isAdapted, issuer, audiences)
      const registrationUrl = provider.registration(issuer)
      const register =
        clientId !== undefined
          ? fixedClient(clientId)
          : registrationUrl === undefined
            ? noRegistration("clients cannot be registered; clientId must be configured")
            : forwardedRegistration(fetch, registrationUrl)
      const authorize = authorizeRedirect(issuer)
      const redeem = tokenForwarding(fetch, issuer, { id: clientId, secret: clientSecret })
      const served: ReadonlyArray<Endpoint> =
        config.provider === "entra" ? ["registration", "authorize", "token"] : ["registration"]

      const wellKnown = (
        x: View<Slots, Slots>
      ): Effect.Effect<Verdict, ProviderUnavailable | BodyTooLarge | BodyAborted | BuffersFull> => {
        const { request } = x
        const asked = wellKnownOf(request, served)
        switch (asked.kind) {
          case "resource":
            return respond(json(describeResource(asked)))
          case "server":
            return Effect.mapEager(describeServer(asked, x.now), json)
          case "registration":
            return Effect.flatMap(x.readRequestBody(), (body) => register(request.method, body))
          case "authorize":
            return respond(authorize(request))
          case "token":
            return Effect.flatMap(x.readRequestBody(), (body) => redeem(request, body))
        }
      }

      const nodes: PolicyGraph<Slots, Slots, Failure> = [
        {
          name: "mcpAuthentication.wellKnown",
          phase: "request",
          outcomes: ["respond", "fail"],
          reads: [],
          writes: [],
          when: { text: "the path is that of OAuth metadata", holds: (x) => isWellKnown(x.request.path) },
          run: wellKnown
        },
        {
          name: "mcpAuthentication.extract",
          phase: "request",
          outcomes: mode === "permissive" ? ["next"] : ["next", "fail"],
          reads: [slots.credentialHeaders],
          writes: [slots.credentialHeaders, presented],
          run: (x) => {
            const token = credential.read(x)
            if (token instanceof Unreadable) return mode === "permissive" ? next : Exit.fail(token)
            if (token !== undefined) x.set(presented, token)
            else if (mode === "strict") return refused(x, "no bearer token found")
            return next
          }
        },
        {
          name: "mcpAuthentication.verify",
          phase: "request",
          // In every mode: while it waits for keys, the time of the request may be up.
          outcomes: ["next", "fail"],
          reads: [presented],
          writes: [verified],
          when: { text: "a token was presented", holds: (x) => x.get(presented) !== undefined },
          run: (x) => {
            const known = Effect.flatMapEager(verify(x.get(presented)!, x.now), (bearer) => {
              x.set(verified, bearer)
              return next
            })
            return Effect.catchEager(known, (failure): Effect.Effect<Verdict, TokenRequired | KeysUnavailable> => {
              if (mode === "permissive") {
                x.note("mcpAuthentication", `token ignored: ${failure.message}`)
                return next
              }
              return failure._tag === "KeysUnavailable" ? Effect.fail(failure) : refused(x, failure.message)
            })
          }
        },
        {
          name: "mcpAuthentication.claims",
          phase: "request",
          outcomes: ["next"],
          reads: [verified],
          writes: [slots.jwt],
          when: { text: "the token was verified", holds: (x) => x.get(verified) !== undefined },
          run: (x) => {
            const bearer = x.get(verified)!
            credential.remove(x)
            x.set(slots.jwt, bearer)
            const subject = bearer.claims["sub"]
            if (typeof subject === "string") x.fact("jwt.sub", subject)
            return next
          }
        }
      ]
      return nodes
    })
})
