/** The wire shape of requestRedirect: an answer that sends the client elsewhere. */
import { Schema } from "effect"
import { AuthorityRewrite, declared, defaulted, object, optional, PathRewrite } from "../../spec/policy.ts"

const RedirectStatus = Schema.Literals([301, 302, 303, 307, 308]).annotate({
  identifier: "RedirectStatus",
  description: "The status of a redirect."
})

export const RequestRedirect = object("RequestRedirect", "Answers with a redirect to an absolute location.", {
  scheme: optional(
    Schema.Literals(["http", "https"]),
    "The scheme of the location; the scheme of the request when left out."
  ),
  authority: optional(AuthorityRewrite, "The authority of the location; the authority of the request when left out."),
  path: optional(PathRewrite, "The path of the location; the path of the request when left out."),
  status: defaulted(RedirectStatus, 302, "The status of the answer.")
})

export const requestRedirect = declared(RequestRedirect, {
  places: ["route", "backend"],
  answers: true,
  judgesPaths: () => true
})
