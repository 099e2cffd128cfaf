/** Documents, as key sets and descriptions of interfaces: in the configuration itself, in a file, or at an address, which is called like whatever else the proxy calls. */
import { Schema } from "effect"
import { ConnectionPolicies } from "./connection/policies.ts"
import { exactlyOneOf, optional, type Rule, required } from "./field.ts"
import { HttpUrl, LongString } from "./primitives.ts"

type Forms = typeof ConnectionPolicies
/** Under names: written out, the type of a whole file would be too long to be exported. */
export interface WrittenDocumentPolicies extends Readonly<Forms["Encoded"]> {}
export interface DocumentPolicies extends Schema.Codec<ConnectionPolicies, WrittenDocumentPolicies> {}
const policies: DocumentPolicies = ConnectionPolicies

/** A file is read, not called. */
const calledAlone: Rule<object> = {
  check: (form) =>
    "policies" in form && !("url" in form)
      ? { path: ["policies"], issue: "is for a document at an address: expected url beside it" }
      : undefined,
  jsonSchema: { dependentRequired: { policies: ["url"] } }
}

const Reference = exactlyOneOf(
  "FileOrUrlReference",
  "The content of a file or the document at an address.",
  {
    file: required(LongString, "Path of the file, as in `FileReference`; it is watched."),
    url: required(HttpUrl, "Address of the document; it is refreshed in the background.")
  },
  {
    policies: optional(
      policies,
      "Beside `url`: policies of the call that fetches the document. Documents at one address with other policies are others."
    )
  },
  calledAlone
)

/** The text itself, `{ file }` (watched) or `{ url }` (refreshed in the background). */
export const FileInlineOrRemote = Schema.Union([Schema.String, Reference]).annotate({
  identifier: "FileInlineOrRemote",
  description: "The text itself, `file`, or `url`. Files are watched, addresses refreshed."
})

/** A document at an address. */
export type RemoteDocument = Extract<(typeof FileInlineOrRemote)["Type"], { readonly url: string }>
