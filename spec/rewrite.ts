/** The parts of a URL that a rewrite or a redirect replaces. */
import { Schema } from "effect"
import { exactlyOneOf, required } from "./field.ts"
import { PortNumber, ShortString } from "./primitives.ts"

/** The authority: a whole one, its host, its port, or a mode. */
export const AuthorityRewrite = Schema.Union([
  Schema.Literals(["auto", "none"]),
  exactlyOneOf("AuthorityParts", "The new authority or a part of it.", {
    full: required(ShortString, "The whole authority, `host` or `host:port`."),
    host: required(ShortString, "The host; the port stays."),
    port: required(PortNumber, "The port; the host stays.")
  })
]).annotate({
  identifier: "AuthorityRewrite",
  description: "The new authority; `auto` takes the host of the backend, `none` keeps the one of the client."
})

/** The path: a whole one, or another prefix in place of the one that matched. */
export const PathRewrite = exactlyOneOf("PathRewrite", "The new path; the query stays.", {
  full: required(
    Schema.String.check(Schema.isStartingWith("/", { expected: "a path that begins with /" })),
    "The whole path; the query stays."
  ),
  prefix: required(Schema.String, "Replaces the prefix that the route matched, on a segment boundary.")
})
