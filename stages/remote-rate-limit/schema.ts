/** The wire shape of remoteRateLimit: limits that a rate limit server keeps for all replicas. */
import { Schema, SchemaGetter } from "effect"
import {
  CelExpression,
  calling,
  countsNothing,
  declared,
  defaulted,
  LongString,
  object,
  optional,
  required
} from "../../spec/policy.ts"

const AnyCase = Schema.Literals(["failClosed", "failOpen", "FailClosed", "FailOpen"]).annotate({
  identifier: "FailureModeOfAnyCase",
  description: "What happens when the server cannot be asked; the upper-case forms are those of the cluster."
})

const Mode = AnyCase.pipe(
  Schema.decodeTo(Schema.Literals(["failClosed", "failOpen"]), {
    decode: SchemaGetter.transform((mode: typeof AnyCase.Type) =>
      mode === "failOpen" || mode === "FailOpen" ? "failOpen" : "failClosed"
    ),
    encode: SchemaGetter.transform((mode: "failClosed" | "failOpen"): typeof AnyCase.Type => mode)
  })
)

const Entry = object("DescriptorEntry", "A part of a descriptor.", {
  key: required(LongString, "Name of the part, as the server knows it."),
  value: required(CelExpression, "Its value. One that fails drops the whole descriptor.")
})

const Descriptor = object("Descriptor", "What the server counts by.", {
  entries: required(Schema.Array(Entry), "The parts."),
  type: defaulted(
    Schema.Literals(["requests", "tokens"]),
    "requests",
    "What is counted: requests, or the tokens of a model."
  ),
  cost: optional(
    CelExpression,
    "How much a request counts; 1, or its tokens, when left out. A failure drops the descriptor."
  ),
  limitOverride: optional(
    CelExpression,
    "Another limit, as a map of `unit` and `requestsPerUnit`. A failure drops the descriptor."
  )
})

export const RemoteRateLimit = calling(
  "RemoteRateLimit",
  "Limits requests or model tokens across replicas by asking a rate limit server. An exhausted limit answers 429.",
  {
    domain: required(LongString, "Domain of the limits, shared with the server."),
    descriptors: required(Schema.Array(Descriptor), "What is counted by."),
    failureMode: defaulted(
      Mode,
      "failClosed",
      "What happens when the server cannot be asked: `failClosed` answers 500."
    )
  }
)

export const remoteRateLimit = declared(RemoteRateLimit, {
  places: ["route", "llm"],
  conditional: true,
  decides: "rate",
  // Of the limits that a server keeps it alone knows the size; but tokens are counted here.
  doubts: ({ descriptors }, { models }) =>
    descriptors.flatMap(({ type }, index) =>
      type === "tokens" && !models()
        ? [{ code: "limit-never-binds", path: ["descriptors", index], message: countsNothing }]
        : []
    )
})
