/** Where a policy looks for a credential: a place in the request, or whatever an expression makes of it. */
import { Effect } from "effect"
import type { CredentialLocation } from "../../../spec/location.ts"
import { challenge, defaultRealm } from "../../http/challenge.ts"
import { type Carrier, cookieCarrier, headerCarrier, queryCarrier } from "../../http/credential.ts"
import { compileExpression } from "../expressions.ts"
import type { ConfigPath, ConfigProblem, Site } from "../stage.ts"
import type { View } from "../view.ts"

type Asking = Pick<View<never, never>, "request" | "variables">

export interface Credential {
  /** The credential; `undefined` when there is none. */
  readonly read: (exchange: Asking) => string | undefined
  /** Takes it out of the request, so that no backend sees it. What an expression found stays. */
  readonly remove: (exchange: Asking) => void
}

/** Asks for a credential where it is looked for: by the scheme before it, or by the name of its place. */
export const challengeFor = ({ header, queryParameter, cookie }: CredentialLocation): string => {
  const scheme =
    header?.name.toLowerCase() === "authorization" ? /^[\w-]+(?= )/.exec(header.prefix ?? "")?.[0] : undefined
  return challenge(scheme ?? "ApiKey", {
    realm: defaultRealm,
    ...(scheme !== undefined || header === undefined ? {} : { header: header.name }),
    ...(queryParameter === undefined ? {} : { query: queryParameter.name }),
    ...(cookie === undefined ? {} : { cookie: cookie.name })
  })
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
        const found = expression.evaluate(variables)
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
