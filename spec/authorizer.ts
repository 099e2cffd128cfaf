/** The wire shape of external authorization, which routes, backends and connections share. */
import { Schema } from "effect"
import { calling } from "./connection/policies.ts"
import { defaulted, exactlyOneOf, object, optional, required } from "./field.ts"
import { HeaderName, HeaderOrPseudo } from "./header.ts"
import { ByteSize, CelExpression, Count, StatusCode } from "./primitives.ts"

const Protocol = exactlyOneOf("ExtAuthzProtocol", "How the server is asked.", {
  grpc: required(
    object("ExtAuthzGrpc", "Asks with the Check call of Envoy's authorization service.", {
      context: optional(Schema.Record(Schema.String, Schema.String), "Fixed values for the server."),
      metadata: optional(
        Schema.Record(Schema.String, CelExpression),
        "Computed values for the server. One that fails is left out."
      )
    }),
    "Asks with the Check call of Envoy's authorization service."
  ),
  http: required(
    object("ExtAuthzHttp", "Asks with an HTTP request, whose answer decides.", {
      path: optional(CelExpression, "Path of the request; that of the client when left out. A failure refuses."),
      redirect: optional(CelExpression, "Where clients are sent when the server answers 401 or 403."),
      body: optional(CelExpression, "Body of the request. A failure refuses."),
      includeResponseHeaders: optional(Schema.Array(HeaderName), "Headers of the answer that the backend gets."),
      addRequestHeaders: optional(
        Schema.Record(HeaderOrPseudo, CelExpression),
        "Further headers of the request. One that fails is left out."
      ),
      metadata: optional(
        Schema.Record(Schema.String, CelExpression),
        "Values for later expressions, from request and answer, readable as `extauthz.<key>`."
      )
    }),
    "Asks with an HTTP request, whose answer decides."
  )
})

const FailureMode = Schema.Union([
  Schema.Literals(["deny", "allow"]),
  object("DenyWithStatus", "Refuses with a status.", { denyWithStatus: required(StatusCode, "The status.") })
]).annotate({ identifier: "ExtAuthzFailureMode", description: "What happens when the server cannot be asked." })

const IncludedBody = object("IncludedBody", "How much of the body the server is told.", {
  maxRequestBytes: defaulted(
    ByteSize,
    8192,
    "The most bytes to tell. A larger body answers 413, unless a part is enough."
  ),
  allowPartialMessage: defaulted(Schema.Boolean, false, "Whether a part of the body is enough."),
  packAsBytes: defaulted(Schema.Boolean, false, "Whether the body is told as bytes instead of text.")
})

const Cache = object("ExtAuthzCache", "Keeps decisions.", {
  key: required(Schema.Array(CelExpression), "What a decision depends on. When one fails the decision is not kept."),
  ttl: required(CelExpression, "How long a decision is kept: a duration, or an expression over the answer."),
  maxEntries: defaulted(Count, 10_000, "Decisions to keep.")
})

/** Asks a server whether a request may pass. */
export const Authorizer = calling(
  "ExtAuthz",
  "Asks a server whether the request may pass. A refusal is the answer of the server, or 403.",
  {
    protocol: defaulted(Protocol, { grpc: {} }, "How the server is asked."),
    failureMode: defaulted(
      FailureMode,
      "deny",
      "What happens when the server cannot be asked: `deny`, `allow`, or a status."
    ),
    includeRequestHeaders: optional(
      Schema.Array(HeaderOrPseudo),
      "Request headers that the server is told; all over gRPC and `authorization` over HTTP when left out."
    ),
    includeRequestBody: optional(IncludedBody, "How much of the body the server is told; nothing when left out."),
    cache: optional(Cache, "Keeps decisions.")
  }
)
