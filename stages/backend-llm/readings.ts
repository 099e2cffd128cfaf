/** What the terminals for models may fail to read of a request, and what the client gets then. */
import {
  expressionReadings,
  type FailedReading,
  failedReadings,
  pathReadings,
  unreadable
} from "../../src/policy/policy.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import { LlmFailed, ModelRefused } from "./refused.ts"

/** Guards cannot read what is sent there. 404, as clients know it of paths that a provider does not have. */
export const unguardedPath = new ModelRefused({ refusal: refusal("path_not_guarded") })

export const unknownCoding = (header: string) =>
  new LlmFailed({
    side: "request",
    status: 415,
    detail: `unsupported content encoding: ${header}`,
    reason: "InvalidRequest"
  })

export const bodyFailures = {
  tooLarge: new ModelRefused({ refusal: refusal("request_body_too_large") }),
  unreadable: new ModelRefused({ refusal: refusal("request_body_read_failed") }),
  undecodable: new ModelRefused({ refusal: refusal("request_body_decode_failed") })
}

const bodyReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    ["a body over the limit, as it is without its content codings", bodyFailures.tooLarge],
    ["a body that is not of its content coding", bodyFailures.undecodable],
    ["a body in a content coding that is not known, or in more than four", unknownCoding("odd")],
    ["JSON with two members of one name, or with more than 250 levels", unreadable.value]
  )

/** What guards over prompts may fail to read. */
export const guardReadings: ReadonlyArray<FailedReading> = [
  ...bodyReadings("llm.guardrails"),
  ...failedReadings(
    "llm.guardrails",
    ["a conversation that is not UTF-8", unreadable.value],
    [
      "a path that is no conversation's, unless the configuration forwards it: `passthrough` of the model, an entry in `ai.routes`",
      unguardedPath
    ]
  )
]

/** What those who decide by the body of a model request may fail to read. */
export const routerReadings = (by: string): ReadonlyArray<FailedReading> => [
  ...bodyReadings(by),
  ...failedReadings(by, [
    "a body of one of these that is no JSON object in UTF-8: a form, other text",
    unreadable.value
  ]),
  ...expressionReadings(by).filter(({ what }) => !what.includes("JSON with")),
  ...pathReadings(by)
]
