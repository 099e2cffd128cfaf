/** The metadata documents: that of the protected resource, and that of the authorization server behind it. */
import { Buffer } from "node:buffer"
import { Data, Effect } from "effect"
import { type Answer, HeaderList, type HttpFetch, type JsonObject, type StageError } from "../../src/policy/policy.ts"
import type { Provider } from "./providers.ts"
import type { AboutServer, WellKnown } from "./well-known.ts"

/** The identity provider cannot be asked, or gives no usable answer. The client is told nothing of it. */
export class ProviderUnavailable
  extends Data.TaggedError("ProviderUnavailable")<{ readonly detail: string }>
  implements StageError
{
  readonly status = 500
  readonly reason = "JwtAuth"
  readonly source = "proxy"
  readonly content = { type: undefined, body: "" }
  override get message() {
    return `identity provider: ${this.detail}`
  }
}

/** Pages of any origin may read these; they hold nothing secret. */
export const allowAnyOrigin = (headers: HeaderList, methods: string): HeaderList => {
  headers.set("access-control-allow-origin", "*")
  headers.set("access-control-allow-methods", methods)
  headers.set("access-control-allow-headers", "content-type")
  return headers
}

export const json = (value: unknown): Answer => ({
  status: 200,
  headers: allowAnyOrigin(new HeaderList(["content-type", "application/json"]), "GET, OPTIONS"),
  body: JSON.stringify(value)
})

/** The revision of MCP whose authorization is served. */
const protocolVersion = "2025-06-18"

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * The metadata of the resource (RFC 9728 2). Its authorization server is the proxy itself where it serves the provider's
 * metadata in an adapted form, else the issuer.
 * @param configured what it says besides, or instead: names become snake case.
 */
export const resourceMetadata = (configured: JsonObject, issuer: string, isAdapted: boolean) => {
  const said = Object.fromEntries(Object.entries(configured).map(([name, value]) => [snakeCase(name), value]))
  return ({ subject }: WellKnown): JsonObject => ({
    resource: subject,
    authorization_servers: [isAdapted ? subject : issuer],
    mcp_protocol_version: protocolVersion,
    resource_type: "mcp-server",
    ...said
  })
}

/** How long the metadata of a provider is used before it is fetched again, in milliseconds. */
const lifetime = 5 * 60_000

/** The metadata of the authorization server, fetched from the provider; the last one stands in while it does not answer. */
export const serverMetadata = (
  fetch: HttpFetch["Service"]["fetch"],
  provider: Provider,
  isAdapted: boolean,
  issuer: URL,
  audiences: ReadonlyArray<string>
) => {
  const url = provider.metadata(issuer)
  const headers = new HeaderList(["accept", "application/json"])
  let kept: { readonly metadata: JsonObject; readonly until: number } | undefined

  const fetched = (now: number): Effect.Effect<JsonObject, ProviderUnavailable> =>
    Effect.flatMap(
      Effect.mapError(
        fetch({ method: "GET", url, headers }),
        (error) => new ProviderUnavailable({ detail: error.message })
      ),
      ({ status, body }) => {
        const metadata = status === 200 ? parsed(body) : undefined
        if (metadata === undefined)
          return Effect.fail(new ProviderUnavailable({ detail: `${url}: no metadata, status ${status}` }))
        kept = { metadata, until: now + lifetime }
        return Effect.succeed(metadata)
      }
    )

  const current = (now: number): Effect.Effect<JsonObject, ProviderUnavailable> => {
    if (kept === undefined) return fetched(now)
    const { metadata, until } = kept
    return now < until ? Effect.succeed(metadata) : Effect.orElseSucceed(fetched(now), () => metadata)
  }

  return ({ document, subject }: AboutServer, now: number): Effect.Effect<JsonObject, ProviderUnavailable> =>
    Effect.flatMapEager(current(now), (metadata) => {
      if (!isAdapted) return Effect.succeed(metadata)
      const adapted = provider.adapt(metadata, { document, audiences })
      if (adapted === undefined)
        return Effect.fail(new ProviderUnavailable({ detail: `${url}: the metadata lacks an endpoint` }))
      // The provider names itself in its authorization responses (RFC 9207), and here it goes by another name: a client
      // that was promised a matching one would break off.
      const { authorization_response_iss_parameter_supported: _, ...rest } = adapted
      // RFC 8414 3.3: the issuer must be the address that the client was sent to.
      return Effect.succeed({ ...rest, issuer: subject })
    })
}

/** An object from JSON bytes. */
export const parsed = (bytes: Uint8Array): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
