/** HTTP settings of calls to a backend. */
import { Schema } from "effect"
import { object, optional } from "../field.ts"
import { Duration } from "../primitives.ts"

const Version = Schema.Literals(["HTTP/1.1", "HTTP/2.0", "HTTP/2"]).annotate({
  identifier: "HttpVersion",
  description: "A version of HTTP; `HTTP/2` is another spelling of `HTTP/2.0`."
})

/** How a backend is called. */
export const BackendHttp = object("BackendHttp", "How a backend is called over HTTP.", {
  version: optional(
    Version,
    "The version to speak. When left out it follows the service, gRPC, TLS and the client, in this order."
  ),
  requestTimeout: optional(
    Duration,
    "For each call, up to the head of the answer. A call that takes longer answers 504."
  )
})
