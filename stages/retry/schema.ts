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
    hedgeAfter: optional(
      Duration,
      "Time after which a call without an answer is made once more, at another endpoint; the first answer counts, and the other call is given up. For services alone, methods that do no harm twice (GET, HEAD, OPTIONS, TRACE, PUT, DELETE), and requests whose body is not on its way; at most a fifth, and at least 3, of the requests to one service at a time. `precondition` holds for it, too."
    ),
    condition: optional(CelExpression, "Whether an answer is tried again, beside `codes`. A failure is no.")
  }
)

export const retry = declared(Retry, { places: ["route"] })
