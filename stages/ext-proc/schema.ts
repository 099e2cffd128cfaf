/** The wire shape of extProc: a server that processes messages while they pass. */
import { Schema } from "effect"
import { CelExpression, calling, declared, defaulted, FailureMode, object, optional } from "../../spec/policy.ts"

const BodyMode = Schema.Literals(["none", "buffered", "bufferedPartial", "fullDuplexStreamed"]).annotate({
  identifier: "BodyMode",
  description: "How a body is sent: not at all, whole, its beginning, or as a stream in both directions."
})

const HeaderMode = Schema.Literals(["send", "skip"]).annotate({
  identifier: "HeaderMode",
  description: "Whether headers or trailers are sent."
})

const ProcessingOptions = object("ProcessingOptions", "What the server is sent.", {
  requestHeaderMode: defaulted(HeaderMode, "send", "Headers of the request."),
  requestBodyMode: defaulted(BodyMode, "fullDuplexStreamed", "Body of the request."),
  requestTrailerMode: defaulted(HeaderMode, "send", "Trailers of the request."),
  responseHeaderMode: defaulted(HeaderMode, "send", "Headers of the answer."),
  responseBodyMode: defaulted(BodyMode, "fullDuplexStreamed", "Body of the answer."),
  responseTrailerMode: defaulted(HeaderMode, "send", "Trailers of the answer."),
  allowModeOverride: defaulted(Schema.Boolean, false, "Whether the server may change these modes for a message.")
})

const Attributes = Schema.Record(Schema.String, CelExpression)

export const ExtProc = calling(
  "ExtProc",
  "Lets a server process requests and answers over Envoy's external processing protocol.",
  {
    failureMode: defaulted(FailureMode, "failClosed", "What happens when the server fails: `failClosed` answers 500."),
    metadataContext: optional(
      Schema.Record(Schema.String, Attributes),
      "Metadata for the server by namespace, each value an expression."
    ),
    requestAttributes: optional(Attributes, "Attributes of the request for the server, each an expression."),
    responseAttributes: optional(Attributes, "Attributes of the answer for the server, each an expression."),
    processingOptions: defaulted(ProcessingOptions, {}, "What the server is sent.")
  }
)

export const extProc = declared(ExtProc, {
  places: ["gateway", "route", "llm"],
  conditional: true,
  decides: "content",
  judgesPaths: () => true
})
