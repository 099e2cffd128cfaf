/** The wire shape of cors: cross-origin rules of a route or a listener. */
import { Schema } from "effect"
import { Duration, declared, defaulted, HeaderName, object, optional } from "../../spec/policy.ts"

const Origin = Schema.String.check(
  Schema.isPattern(/^(?:\*|[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/?#@]+)$/u, {
    expected: "* or an origin such as https://example.com"
  })
).annotate({
  identifier: "Origin",
  description: "An origin, `scheme://host[:port]`; the host may contain `*`. `*` alone is any origin."
})

const Method = Schema.String.check(
  Schema.isPattern(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/u, { expected: "an HTTP method" })
).annotate({ identifier: "Method", description: "An HTTP method, or `*`." })

export const Cors = object(
  "Cors",
  "Answers cross-origin preflights and marks answers for browsers. It runs before authentication, so a preflight needs no credential and a refusal stays readable.",
  {
    allowOrigins: defaulted(
      Schema.Array(Origin),
      [],
      "Origins that may read answers. `*` anywhere in the list is any origin."
    ),
    allowMethods: defaulted(Schema.Array(Method), [], "Methods that a preflight admits. `*` is any method."),
    allowHeaders: defaulted(
      Schema.Array(HeaderName),
      [],
      "Request headers that a preflight admits. `*` is any header."
    ),
    exposeHeaders: defaulted(Schema.Array(HeaderName), [], "Answer headers that scripts may read."),
    allowCredentials: defaulted(Schema.Boolean, false, "Whether a browser may send cookies and other credentials."),
    maxAge: optional(Duration, "How long a browser may keep the answer to a preflight.")
  }
)

export const cors = declared(Cors, {
  places: ["gateway", "route", "llm", "ui"],
  doubts: ({ allowCredentials, allowOrigins }) =>
    allowCredentials && allowOrigins.includes("*")
      ? [
          {
            code: "cors-any-origin-with-credentials",
            path: ["allowCredentials"],
            message: "every web page may send requests with the credentials of its visitors; name the origins"
          }
        ]
      : []
})
