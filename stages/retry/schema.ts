/** The wire shape of retry: further tries after a failure. */
import { Schema } from "effect"
import {
  CelExpression,
  Duration,
  declared,
  defaulted,
  object,
  optional,
  required,
  StatusCode
} from "../../spec/policy.ts"

const Attempts = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 255 }, { expected: "a number of tries between 0 and 255" })
).annotate({ identifier: "Attempts", description: "A number of further tries." })

export const Retry = object(
  "Retry",
  "Tries again after a failed connection, a timeout, or an answer that asks for it; of several endpoints of a service, one that was not tried yet. Bodies of more than 64 KiB are not sent again. Of the requests to one backend that may be tried again at most a fifth, and at least 3, are at a time; beyond that the last result stands, and `retries_refused_total` counts. Further tries carry `x-retry-attempt`; what a client says there is removed. A try for which there is no time left, `backoff` included, is not waited for: the request is answered with 504.",
  {
    attempts: defaulted(Attempts, 1, "Further tries after the first one. 0 is none."),
    backoff: optional(Duration, "Pause before every further try."),
    codes: required(Schema.Array(StatusCode), "Statuses of answers that are tried again."),
    precondition: optional(CelExpression, "Whether the request may be tried again at all. A failure is no."),
    condition: optional(CelExpression, "Whether an answer is tried again, beside `codes`. A failure is no.")
  }
)

export const retry = declared(Retry, { places: ["route"] })
