/** HTTP settings of calls to a backend. */
import { Schema } from "effect"
import { object, optional } from "../field.ts"
import { TimeLimit } from "../primitives.ts"

const Version = Schema.Literals(["HTTP/1.1", "HTTP/2.0", "HTTP/2"]).annotate({
  identifier: "HttpVersion",
  description: "A version of HTTP; `HTTP/2` is another spelling of `HTTP/2.0`."
})

/** How a backend is called. */
export const BackendHttp = object("BackendHttp", "How a backend is called over HTTP.", {
  version: optional(
    Version,
    "The version to speak; HTTP/2 without TLS by prior knowledge. When left out: HTTP/2 for requests of gRPC, and for those that came in HTTP/2 without TLS; HTTP/1.1 for all others; and where `backendTLS.alpn` has both, what the backend chooses. What leaves HTTP, such as a WebSocket, goes over HTTP/1.1."
  ),
  requestTimeout: optional(
    TimeLimit,
    "For each call, up to the head of the answer, while the body of the request does not keep it waiting for the client. A call that takes longer answers 504. It holds in place of `timeout.backendRequestTimeout` of the route."
  ),
  idleTimeout: optional(
    TimeLimit,
    "For how long nothing of a body on its way may move, in either direction, nor of a connection that has left HTTP, such as a WebSocket. What stands still for longer is given up: with 504 (408 where it was the client's turn) as long as there is no answer, else by closing the connections. The wait for an answer is none of it. No limit when left out; quiet streams need none, or a long one."
  )
})
