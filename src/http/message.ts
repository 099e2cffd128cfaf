/** The heads of the two messages of an exchange, as the engine and its ports hand them around. */
import type { Body, BodySource } from "./body.ts"
import type { HeaderList } from "./header-list.ts"
import { isOrdinary, type PathFault, readTarget } from "./path.ts"

/** How the client speaks with the listener. */
export type Scheme = "http" | "https"

/** The head of a request. Mutable: policies rewrite it in place, and exactly one exchange owns it. */
export class RequestHead {
  method: string
  scheme: Scheme
  /** Canonical: lower-case host, the port only when it is not the scheme's default. */
  authority: string
  /** The path in its normal form, or as received where `frontendPolicies.http.paths` says so, and the query as received. */
  pathAndQuery: string
  /** How a backend may read the path; `undefined` where that is the same, and where the path is as received. */
  otherPath: string | undefined = undefined
  readonly headers: HeaderList
  readonly version: "1.0" | "1.1" | "2"

  constructor(
    method: string,
    scheme: Scheme,
    authority: string,
    pathAndQuery: string,
    headers: HeaderList,
    version: "1.0" | "1.1" | "2" = "1.1"
  ) {
    this.method = method
    this.scheme = scheme
    this.authority = authority
    this.pathAndQuery = pathAndQuery
    this.headers = headers
    this.version = version
  }

  /** The same head, which can be changed by itself. */
  clone(): RequestHead {
    const { method, scheme, authority, pathAndQuery, headers, version } = this
    const head = new RequestHead(method, scheme, authority, pathAndQuery, headers.clone(), version)
    head.otherPath = this.otherPath
    return head
  }

  /** Gives it a path, with its query, in the normal form. Where there is none nothing has changed. */
  moveTo(pathAndQuery: string): PathFault | undefined {
    if (isOrdinary(pathAndQuery)) {
      this.pathAndQuery = pathAndQuery
      this.otherPath = undefined
      return undefined
    }
    const read = readTarget(pathAndQuery)
    if ("fault" in read) return read
    this.pathAndQuery = read.path
    this.otherPath = read.other
    return undefined
  }

  get path(): string {
    const query = this.pathAndQuery.indexOf("?")
    return query < 0 ? this.pathAndQuery : this.pathAndQuery.slice(0, query)
  }

  /** The query with its `?`, or the empty string. */
  get query(): string {
    const query = this.pathAndQuery.indexOf("?")
    return query < 0 ? "" : this.pathAndQuery.slice(query)
  }

  get uri(): string {
    return `${this.scheme}://${this.authority}${this.pathAndQuery === "*" ? "" : this.pathAndQuery}`
  }

  /** The authority without its port. */
  get host(): string {
    return hostOf(this.authority)
  }
}

/** The host of an authority: what stands before the port, brackets of an IPv6 address included. */
export const hostOf = (authority: string): string => {
  const colon = authority.lastIndexOf(":")
  return colon < 0 || authority.endsWith("]") ? authority : authority.slice(0, colon)
}

/** What leaves in the end: a backend's response, a stage's own, or a rendered error. */
export interface Answer {
  status: number
  readonly headers: HeaderList
  body: Body
  /** With status 101, or 200 of a CONNECT, and only then: the backend has left HTTP, or never spoke it, and `body` is everything that it sends from here on. */
  switched?: Switched | undefined
}

/** Passes on 1xx responses, other than 101, while the final one is awaited. */
export interface Informer {
  readonly inform: (status: number, headers: HeaderList) => void
}

/** The other half of a connection that changed its protocol (RFC 9110 7.8). */
export interface Switched {
  /** The protocol that both sides speak now, as the backend named it. */
  readonly protocol: string
  /** Takes what the client sends from here on. Whoever wants to see or change it wraps the source. Called at most once. */
  readonly outbound: (client: BodySource) => void
}
