/** Where a policy looks for a credential: a place in the request, or whatever an expression makes of it. */
import { Effect } from "effect"
import type { CredentialLocation } from "../../../spec/location.ts"
import { type Carrier, cookieCarrier, headerCarrier, queryCarrier } from "../../http/credential.ts"
import { Unreadable, unreadable } from "../errors.ts"
import { compileExpression, decided } from "../expressions.ts"
import { type FailedReading, failedReadings } from "../fail-closed.ts"
import type { ConfigPath, ConfigProblem, Site } from "../stage.ts"
import type { View } from "../view.ts"

type Asking = Pick<View<never, never>, "request" | "variables">

/** What may not be readable where an expression says where the credential stands. A policy in the mode `permissive` refuses nobody. */
export const credentialReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    ["what the expression of a location reads: JSON, base64 or other text that is none", unreadable.value],
    ["more than the expression of a location may do", unreadable.work]
  )

export interface Credential {
  /** The credential; `undefined` when there is none. Where it stands may be told by something that cannot be read. */
  readonly read: (exchange: Asking) => string | undefined | Unreadable
  /** Takes it out of the request, so that no backend sees it. What an expression found stays. */
  readonly remove: (exchange: Asking) => void
}

/** @param path that of `location`. */
export const compileCredential = (
  location: CredentialLocation,
  site: Site,
  path: ConfigPath
): Effect.Effect<Credential, ReadonlyArray<ConfigProblem>> => {
  if (location.header !== undefined)
    return Effect.succeed(carried(headerCarrier(location.header.name.toLowerCase(), location.header.prefix)))
  if (location.queryParameter !== undefined) return Effect.succeed(carried(queryCarrier(location.queryParameter.name)))
  if (location.cookie !== undefined) return Effect.succeed(carried(cookieCarrier(location.cookie.name)))
  const at = [...path, "expression"]
  return Effect.flatMap(compileExpression(location.expression, site, at), (expression) => {
    const { requestBody, requestBodyPrefix } = expression.attributes
    if (requestBody || requestBodyPrefix)
      return Effect.fail([
        { path: at, message: "a credential is looked for in the head of a request, not in its body" }
      ])
    return Effect.succeed({
      read: ({ variables }) => {
        const found = decided(expression, variables)
        if (found instanceof Unreadable) return found
        return typeof found === "string" && found !== "" ? found : undefined
      },
      remove: () => {}
    })
  })
}

const carried = ({ read, remove }: Carrier): Credential => ({
  read: ({ request }) => read(request),
  remove: ({ request }) => remove(request)
})
