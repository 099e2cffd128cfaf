/** Single calls of the proxy itself, as those of the stage that makes them: key sets, metadata of providers and the like. */

import { HeaderList } from "../http/header-list.ts"
import { formatTraceparent, type TraceContext } from "../http/trace-context.ts"
import type { FetchFailed, FetchRequest, HttpFetch } from "../services/http-fetch.ts"
import { type CallTimes, timeOf } from "./call-times.ts"
import { toldCall } from "./outbound.ts"

type Fetch = HttpFetch["Service"]["fetch"]

/** Without the address, which may hold a credential. */
const why = ({ detail }: FetchFailed): string => detail

export const toldFetch = (fetch: Fetch, times: CallTimes, clock: () => number): Fetch => {
  const telling = { purpose: "http", time: timeOf(times, "http"), clock, why } as const
  return (request) => {
    const url = URL.parse(request.url)
    if (url === null) return fetch(request)
    const { host, hostname, protocol, pathname } = url
    const target = url.port === "" ? `${hostname}:${protocol === "https:" ? 443 : 80}` : host
    const told = { target, method: request.method, authority: host, path: pathname }
    return toldCall(telling, told, (trace) => fetch(trace === undefined ? request : within(trace, request)))
  }
}

/** The same request, as one of a trace. Its headers may be those of other requests, too. */
const within = (trace: TraceContext, request: FetchRequest): FetchRequest => {
  const headers = request.headers?.clone() ?? new HeaderList()
  headers.set("traceparent", formatTraceparent(trace))
  return { ...request, headers }
}
