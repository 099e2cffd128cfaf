/**
 * The addresses at which MCP clients look for OAuth metadata (RFC 9728 3.1, RFC 8414 3.1): a well-known prefix before the
 * path of the resource. They never need a token.
 */
import type { RequestHead } from "../../src/policy/policy.ts"

const resourcePrefix = "/.well-known/oauth-protected-resource"
const serverPrefix = "/.well-known/oauth-authorization-server"

/** A document about a resource, by the address of that, without its query. */
interface AboutResource {
  readonly kind: "resource"
  readonly subject: string
}

/** A document about an authorization server, or an endpoint below it. */
export interface AboutServer {
  readonly kind: "server" | Endpoint
  /** The address of the document as the client knows it, without its query. */
  readonly document: string
  /** The same without the well-known prefix: the address of the resource. */
  readonly subject: string
}

/** What a request asks for. */
export type WellKnown = AboutResource | AboutServer

const isUnder = (path: string, prefix: string) =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/")

export const isWellKnown = (path: string): boolean => isUnder(path, resourcePrefix) || isUnder(path, serverPrefix)

/** The endpoints that stand below the metadata of an authorization server, by the end of their path. */
export const endpoints = { registration: "/client-registration", authorize: "/authorize", token: "/token" } as const
export type Endpoint = keyof typeof endpoints

/**
 * @param request one whose path is well known.
 * @param served the endpoints that exist; what looks like another one is the path of a resource.
 */
export const wellKnownOf = (request: RequestHead, served: ReadonlyArray<Endpoint>): WellKnown => {
  const { path } = request
  const origin = `${schemeOf(request)}://${request.authority}`
  if (isUnder(path, resourcePrefix)) {
    const subject = origin + trimmed(path.slice(resourcePrefix.length))
    return { kind: "resource", subject }
  }
  const endpoint = served.find((each) => path.endsWith(endpoints[each]))
  const document = trimmed(endpoint === undefined ? path : path.slice(0, -endpoints[endpoint].length))
  return {
    kind: endpoint ?? "server",
    document: origin + document,
    subject: origin + document.slice(serverPrefix.length)
  }
}

/** The address of the metadata of a protected resource. */
export const resourceDocument = (origin: string, path: string): string => origin + resourcePrefix + trimmed(path)

const trimmed = (path: string) => (path.endsWith("/") ? path.slice(0, -1) : path)

/** The scheme that the client used, as far as a proxy before this one says so. */
export const schemeOf = ({ headers, scheme }: RequestHead): string => {
  const forwarded = headers.get("x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase()
  return forwarded === "http" || forwarded === "https" ? forwarded : scheme
}
