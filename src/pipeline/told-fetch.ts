/** Single calls of the proxy itself, as those of the stage that makes them: key sets, metadata of providers and the like. */

import type { Effect } from "effect"
import { HeaderList } from "../http/header-list.ts"
import { formatTraceparent, type TraceContext } from "../http/trace-context.ts"
import type { FetchFailed, FetchRequest, HttpFetch } from "../services/http-fetch.ts"
import type { Series } from "../services/metrics.ts"
import { type CallTimes, timeOf } from "./call-times.ts"
import { toldCall } from "./outbound.ts"

type Fetch = HttpFetch["Service"]["fetch"]

/** Without the address, which may hold a credential. */
const why = ({ detail }: FetchFailed): string => detail

export const toldFetch = (fetch: Fetch, times: CallTimes, clock: () => number): Fetch => {
  const telling = { purpose: "http", time: timeOf(times, "http"), clock, why } as const
  return (request) => {
    const told = askedOf(request)
    if (told === undefined) return fetch(request)
    return toldCall(telling, told, (trace) => fetch(trace === undefined ? request : within(trace, request)))
  }
}

const askedOf = ({ url, method }: Pick<FetchRequest, "method" | "url">) => {
  const parsed = URL.parse(url)
  if (parsed === null) return undefined
  const { host, hostname, protocol, pathname, port } = parsed
  const target = port === "" ? `${hostname}:${protocol === "https:" ? 443 : 80}` : host
  return { target, method, authority: host, path: pathname }
}

const untimed: Series = { record: () => {} }

/** Waiting for a call that is under way already, on nobody's behalf: whoever is watched is told of it as of a call of their own. */
export const toldWaiting = <E extends { readonly detail: string }>(
  request: Pick<FetchRequest, "method" | "url">,
  clock: () => number,
  waiting: Effect.Effect<{ readonly status: number }, E>
): Effect.Effect<{ readonly status: number }, E> => {
  const told = askedOf(request)
  const telling = { purpose: "http", time: untimed, clock, why: ({ detail }: E) => detail } as const
  return told === undefined ? waiting : toldCall(telling, told, () => waiting)
}

/** The same request, as one of a trace. Its headers may be those of other requests, too. */
const within = (trace: TraceContext, request: FetchRequest): FetchRequest => {
  const headers = request.headers?.clone() ?? new HeaderList()
  headers.set("traceparent", formatTraceparent(trace))
  return { ...request, headers }
}
