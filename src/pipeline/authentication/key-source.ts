/** The key set of an issuer as policies open it: in the configuration, in a file, or at an address with policies beside it. */
import { Effect, type Scope } from "effect"
import type { FileInlineOrRemote } from "../../../spec/document.ts"
import { Jwks, type KeySet, type KeySource } from "../../services/jwks.ts"
import { compileDocumentCall } from "../document-call.ts"
import type { Attachment, ConfigPath, ConfigProblem } from "../stage.ts"
import type { SubCalls } from "../sub-calls.ts"

/** @param part where it stands in the policy that is being compiled. */
export const openKeySet = (
  source: (typeof FileInlineOrRemote)["Type"],
  { path }: Pick<Attachment, "path">,
  part: ConfigPath
): Effect.Effect<KeySet, ReadonlyArray<ConfigProblem>, Jwks | SubCalls | Scope.Scope> =>
  Effect.gen(function* () {
    const jwks = yield* Jwks
    const known = yield* Effect.mapError(sourceOf(source, [...path, ...part]), (problems) =>
      problems.map((problem) => ({ ...problem, fromRoot: true as const }))
    )
    return yield* Effect.mapError(jwks.open(known), ({ message }) => [{ path: part, message }])
  })

const sourceOf = (source: (typeof FileInlineOrRemote)["Type"], at: ConfigPath) => {
  if (typeof source === "string" || source.url === undefined) return Effect.succeed<KeySource>(source)
  const { url } = source
  return Effect.map(compileDocumentCall(source, at), (call): KeySource => ({ url, call }))
}
