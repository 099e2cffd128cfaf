/**
 * The events of a request's trace, as `/debug/trace` sends them: one JSON object each. Names, order and fields of the
 * documented types are the seed's; further types are interleaved and may be ignored by readers.
 */
import { Schema } from "effect"
import { Explanation } from "./explanation.ts"

const text = (description: string) => Schema.String.annotate({ description })
const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)
/** Whole values that the proxy only passes on. */
const anything = Schema.Unknown

export const RequestState = Schema.Struct({
  request: Schema.optionalKey(
    Schema.Struct({
      method: text("The request method."),
      uri: text("The absolute URI, as far as the proxy knows it."),
      path: text("The path without its query, as received."),
      pathAndQuery: text("Path and query."),
      host: text("The authority: host, and port unless it is the scheme's default."),
      scheme: text("http or https."),
      version: text("As HTTP/1.1."),
      headers: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)])).annotate({
        description: "Lower-case names; a list where a header has several lines. Credentials are shown as <redacted>."
      }),
      startTime: text("When the request arrived: ISO 8601.")
    })
  ),
  response: Schema.optionalKey(
    Schema.Struct({
      code: Schema.Int.annotate({ description: "The HTTP status." }),
      headers: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)]))
    })
  ),
  source: Schema.Struct({
    address: text("The client's address."),
    port: Schema.Int.annotate({ description: "The client's port." }),
    rawAddress: text("The address of the TCP peer."),
    rawPort: Schema.Int.annotate({ description: "The port of the TCP peer." }),
    serverName: Schema.optionalKey(text("The name that it asked for in its TLS handshake.")),
    subject: Schema.optionalKey(text("Whose its verified client certificate is.")),
    issuer: Schema.optionalKey(text("Who has issued that certificate.")),
    subjectAltNames: Schema.optionalKey(
      Schema.Array(Schema.String).annotate({ description: "The alternative names of its subject." })
    ),
    spiffeId: Schema.optionalKey(text("The SPIFFE identity among them.")),
    tunnel: Schema.optionalKey(text("Where the CONNECT request wanted to go whose tunnel it came through."))
  }),
  env: Schema.Struct({
    podName: nullable(Schema.String),
    namespace: nullable(Schema.String),
    gateway: nullable(Schema.String)
  }),
  backend: Schema.optionalKey(
    Schema.Struct({
      name: text("The backend's name."),
      type: text("ai, mcp, static, dynamic, service or unknown."),
      protocol: text("http, tcp, a2a, mcp or llm.")
    })
  ),
  proxy: Schema.optionalKey(
    Schema.Struct({
      requestProcessingDuration: text("Seconds, as 0.000123s."),
      upstreamDuration: text("Seconds, as 0.001234s.")
    })
  ),
  jwt: Schema.optionalKey(anything),
  apiKey: Schema.optionalKey(anything),
  basicAuth: Schema.optionalKey(anything),
  llm: Schema.optionalKey(anything),
  mcp: Schema.optionalKey(anything)
}).annotate({ identifier: "RequestState", description: "Everything known of the request at one point of its way." })
export type RequestState = typeof RequestState.Type

export const requestStages = ["initial request", "gateway policies", "route policies", "final request"] as const
export const responseStages = ["raw response", "backend response ready", "final response"] as const

const stage = (description: string) => Schema.String.annotate({ description })

/** How one rule of an authorization came out. */
export const RuleOutcome = Schema.Struct({
  name: text("The expression."),
  matched: Schema.Boolean,
  mode: Schema.Literals(["allow", "deny", "require"]),
  explanation: Schema.optionalKey(Explanation)
})
export type RuleOutcome = typeof RuleOutcome.Type

/** What is decided about where one request names, or asks for, many things: tools, prompts, resources and tasks of MCP servers. */
export const McpItem = Schema.Struct({
  kind: Schema.Literals(["tool", "prompt", "resource", "task"]),
  target: text("The MCP server, by the name of the target."),
  name: text("Name of the tool or prompt at the server, URI or template of the resource, id of the task."),
  method: text("The method in whose course it is decided, as tools/list.")
})
export type McpItem = typeof McpItem.Type

/** A node of a policy. */
const stageName = {
  kind: text("The policy, by its configuration key."),
  phase: text(
    "The phase of its node. One of backendResponse may run once more, for each piece of an answer that passes."
  ),
  node: text("The node of the policy's graph."),
  source: text("The path of its configuration, with line and column when known.")
}
const StageName = Schema.Struct(stageName)
export type StageName = typeof StageName.Type

/** Bodies of a model request and its answer where they are not those of the client or the provider. */
export const llmBodyStages = ["llm request before translation", "llm response before translation"] as const

const provider = text("The provider, by its name in telemetry.")
const inputFormat = text("The format that the client speaks.")

/** What stages tell by themselves, in the middle of what the engine tells of them. */
const stageMessages = [
  Schema.Struct({ type: Schema.Literal("policyEvent"), kind: Schema.String, details: anything }),
  Schema.Struct({
    type: Schema.Literal("authorizationResult"),
    rules: Schema.Array(RuleOutcome),
    result: Schema.Literals(["allow", "deny"]),
    item: Schema.optionalKey(McpItem).annotateKey({
      description: "What was decided about, where that is not the request as a whole."
    })
  }),
  Schema.Struct({
    type: Schema.Literal("llmRouteResolved"),
    provider,
    routeType: text("What the path speaks, as Completions.")
  }),
  Schema.Struct({
    type: Schema.Literal("llmRequestDetected"),
    provider,
    inputFormat,
    upstreamRouteType: nullable(Schema.String).annotate({
      description: "The format that the provider is spoken to in; null when nothing is translated."
    }),
    requestModel: text("The model that the client asked for."),
    streaming: Schema.Boolean
  }),
  Schema.Struct({
    type: Schema.Literal("llmStreamingTranslation"),
    provider,
    inputFormat,
    upstreamRouteType: text("The format of the provider."),
    streamFormat: text("sse or awsEventStream: how the provider frames its events.")
  }),
  Schema.Struct({
    type: Schema.Literal("bodySnapshot"),
    stage: stage(`final request, response, or ${llmBodyStages.join(", ")}.`),
    body: text("Base64, up to the buffer limit.")
  })
] as const
export type StageMessage = (typeof stageMessages)[number]["Type"]

const madeBy = Schema.optionalKey(StageName).annotateKey({
  description: "The stage that makes the call. Absent on the call of the backend, and on what a call needs by itself."
})

const called = Schema.optionalKey(Schema.String).annotateKey({
  description:
    "What is asked of the server, where one request asks many things of it: method and item of MCP, as `tools/call search`."
})

export const TraceMessage = Schema.Union([
  Schema.Struct({ type: Schema.Literal("requestStarted") }),
  Schema.Struct({
    type: Schema.Literal("requestSnapshot"),
    stage: stage(`One of ${requestStages.join(", ")}.`),
    requestState: RequestState
  }),
  Schema.Struct({
    type: Schema.Literal("responseSnapshot"),
    stage: stage(`One of ${responseStages.join(", ")}.`),
    requestState: RequestState
  }),
  Schema.Struct({
    type: Schema.Literal("routeSelection"),
    selectedRoute: nullable(Schema.String),
    evaluatedRoutes: Schema.Array(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("policySelection"),
    phase: text("connection, gateway, route or backend."),
    effectivePolicy: Schema.Record(Schema.String, anything)
  }),
  Schema.Struct({
    type: Schema.Literal("policy"),
    ...stageName,
    result: Schema.Union([
      Schema.Struct({ type: Schema.Literal("skip"), reason: Schema.String }),
      Schema.Struct({ type: Schema.Literal("apply"), details: Schema.String, snapshot: Schema.Null })
    ]),
    durationUs: Schema.Int.annotate({ description: "How long the node took, in microseconds." })
  }),
  ...stageMessages,
  Schema.Struct({
    type: Schema.Literal("backendCallStart"),
    target: text("address:port or unix:path."),
    call: called,
    by: madeBy
  }),
  Schema.Struct({
    type: Schema.Literal("backendCallResult"),
    status: nullable(Schema.Int),
    error: nullable(Schema.String),
    call: called,
    by: madeBy
  }),
  Schema.Struct({
    type: Schema.Literal("requestFinished"),
    status: nullable(Schema.Int),
    error: nullable(Schema.String)
  })
]).annotate({ identifier: "TraceMessage" })
export type TraceMessage = typeof TraceMessage.Type

export const TraceEvent = Schema.Struct({
  eventStart: nullable(Schema.Int).annotate({ description: "Set on backendCallResult only: when the call began." }),
  eventEnd: Schema.Int.annotate({ description: "Whole microseconds since the trace began." }),
  severity: Schema.Literals(["success", "info", "warn", "error"]),
  scope: Schema.optionalKey(Schema.Array(Schema.String)).annotateKey({
    description:
      "Set on the events of calls beside that of the backend, from the outer one to the inner: `guardrail`, `http`, or `mcp <target>`."
  }),
  message: TraceMessage,
  request: Schema.optionalKey(Schema.Int).annotateKey({
    description: "In the continuous mode: tells the requests of the stream apart."
  })
}).annotate({ identifier: "TraceEvent", description: "One event of a request's trace. Experimental: it may change." })
export type TraceEvent = typeof TraceEvent.Type

/** The keys that `effectivePolicy` always has; `null` where the policy does not apply (seed). */
export const effectivePolicyKeys = [
  "localRateLimit",
  "remoteRateLimit",
  "authorization",
  "jwt",
  "oidc",
  "basicAuth",
  "apiKey",
  "extAuthz",
  "extProc",
  "transformation",
  "csrf",
  "directResponse",
  "requestHeaderModifier",
  "responseHeaderModifier",
  "requestRedirect",
  "urlRewrite",
  "cors"
] as const
