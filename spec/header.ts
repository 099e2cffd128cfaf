/** Header names, static header changes, and matches on headers and query parameters. */
import { Schema } from "effect"
import { exactlyOneOf, object, optional, required, sampled } from "./field.ts"
import { LongString } from "./primitives.ts"

const nameExpected = "a header name"

/** A field name of HTTP (RFC 9110 5.1). */
export const HeaderName = Schema.String.check(
  Schema.isPattern(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/u, { expected: nameExpected })
).annotate({ identifier: "HeaderName", description: "A header name; case does not matter." })

/** A header, or one of the pseudo-headers of a request. */
export const HeaderOrPseudo = Schema.String.check(
  Schema.isPattern(/^(?::(?:method|path|authority|scheme)|[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256})$/u, {
    expected: "a header name, or :method, :path, :authority or :scheme"
  })
).annotate({
  identifier: "HeaderOrPseudo",
  description: "A header name, or `:method`, `:path`, `:authority`, `:scheme`."
})

/** A header value without line breaks and other control characters. */
export const HeaderValue = Schema.String.check(
  Schema.isPattern(/^[^\u0000-\u0008\u000a-\u001f\u007f]*$/u, { expected: "a header value without control characters" })
).annotate({ identifier: "HeaderValue", description: "A header value." })

/** Static changes of headers, in the order add, set, remove. */
export const HeaderModifier = object("HeaderModifier", "Static changes of headers, in the order add, set, remove.", {
  add: optional(
    Schema.Record(HeaderName, HeaderValue),
    "Headers to add; one that is there already gets another value."
  ),
  set: optional(Schema.Record(HeaderName, HeaderValue), "Headers to set; one that is there already is replaced."),
  remove: optional(Schema.Array(HeaderName), "Headers to remove.")
})

/** The regular expressions of the language: linear time, without look-around and back-references. */
export const Regex = LongString.annotate({
  identifier: "Regex",
  description: "A regular expression in RE2 syntax; it must match the whole text.",
  format: "re2"
})

/** An exact text or a regular expression. */
export const ValueMatch = sampled(
  exactlyOneOf("ValueMatch", "An exact text or a regular expression.", {
    exact: required(Schema.String, "The text must be equal."),
    regex: required(Regex, "The expression must match the whole text.")
  }),
  "{ exact: text } or { regex: pattern }"
)

/** A condition on a request header. */
export const HeaderMatch = object("HeaderMatch", "A condition on a request header.", {
  name: required(HeaderOrPseudo, "The header; any of its values may match."),
  value: required(ValueMatch, "What the value must be.")
})

/** A condition on a query parameter. */
export const QueryMatch = object("QueryMatch", "A condition on a query parameter.", {
  name: required(LongString, "The parameter; of several with this name the last one counts."),
  value: required(ValueMatch, "What the value must be.")
})
