/**
 * Port: single HTTP calls of the proxy itself, to identity providers and the like. Bounded in time and size, redirects
 * are not followed. Traffic of clients does not go this way.
 */
import { Context, Data, type Effect } from "effect"
import type { HeaderList } from "../http/header-list.ts"

/** A call. */
export interface FetchRequest {
  readonly method: "GET" | "POST"
  /** Absolute, http or https. */
  readonly url: string
  readonly headers?: HeaderList | undefined
  readonly body?: string | Uint8Array | undefined
  /** Milliseconds until the whole answer must be there. Default 10,000. */
  readonly timeout?: number | undefined
  /** The most bytes that the body of the answer may have. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Its answer, whole. */
export interface Fetched {
  readonly status: number
  /** Without hop-by-hop headers. */
  readonly headers: HeaderList
  readonly body: Uint8Array
}

/** No whole answer came: the address cannot be reached, or it took too long, or it sent too much. */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{ readonly url: string; readonly detail: string }> {
  override get message() {
    return `${this.url}: ${this.detail}`
  }
}

/** Calls of the proxy itself, as a service: `const { fetch } = yield* HttpFetch` while a policy is compiled. */
export class HttpFetch extends Context.Service<
  HttpFetch,
  {
    /** Ends with whatever status the server sent. */
    readonly fetch: (request: FetchRequest) => Effect.Effect<Fetched, FetchFailed>
  }
>()("headgate/services/HttpFetch") {}
