/** The wire shape of localRateLimit: token buckets in the memory of this process. */
import { Schema } from "effect"
import {
  CelExpression,
  Count,
  declared,
  defaulted,
  object,
  optional,
  RefillInterval,
  required
} from "../../spec/policy.ts"
import { doubtsOfLimits } from "./doubts.ts"

const LocalLimit = object(
  "LocalLimit",
  "A token bucket.",
  {
    maxTokens: defaulted(Count, 0, "Size of the bucket, which starts full. With 0 nothing passes."),
    tokensPerFill: defaulted(Count, 0, "What every refill adds."),
    fillInterval: required(RefillInterval, "Time between refills, in seconds, minutes and hours."),
    type: defaulted(
      Schema.Literals(["requests", "tokens"]),
      "requests",
      "What is counted: requests, or the input and output tokens of a model."
    ),
    key: optional(
      CelExpression,
      "Each distinct value has its own bucket, 65,536 of them at most. A value that is missing, empty or fails shares one bucket; one that cannot be read refuses the request. Spellings that a backend may take for one path (`/a%2Fb`, `/a/b;c`) are one value."
    )
  },
  {
    check: ({ maxTokens = 0, tokensPerFill = 0 }) =>
      maxTokens < tokensPerFill ? { path: ["tokensPerFill"], issue: "must not be more than maxTokens" } : undefined
  }
)

export const LocalRateLimit = Schema.Array(LocalLimit).annotate({
  identifier: "LocalRateLimit",
  description:
    "Limits requests or model tokens per process. All limits must admit a request; otherwise the answer is 429. The tightest limit is told in `x-ratelimit-*` headers."
})

export const localRateLimit = declared(LocalRateLimit, {
  places: ["route", "llm"],
  conditional: true,
  decides: "rate",
  doubts: doubtsOfLimits
})
