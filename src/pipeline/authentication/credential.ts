/** Where a policy looks for a credential: a place in the request, or whatever an expression makes of it. */
import { Effect } from "effect"
import type { CredentialLocation } from "../../../spec/location.ts"
import { challenge, defaultRealm } from "../../http/challenge.ts"
import { type Carrier, cookieCarrier, headerCarrier, queryCarrier } from "../../http/credential.ts"
import { Unreadable, unreadable } from "../errors.ts"
import { compileExpression, decided } from "../expressions.ts"
import { type FailedReading, failedReadings } from "../fail-closed.ts"
import type { RequestSite } from "../site.ts"
import { type CredentialHeaders, credentialHeaders } from "../slots.ts"
import type { ConfigPath, ConfigProblem } from "../stage.ts"
import type { View } from "../view.ts"

type Slots = typeof credentialHeaders
type Asking = Pick<View<Slots, Slots>, "request" | "variables" | "get" | "set">

/** What may not be readable where an expression says where the credential stands. A policy in the mode `permissive` refuses nobody. */
export const credentialReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    ["what the expression of a location reads: JSON, base64 or other text that is none", unreadable.value],
    ["more than the expression of a location may do", unreadable.work]
  )

/** A place in requests where a credential is looked for. */
export interface Credential {
  /**
   * The credential; `undefined` when there is none. Where it stands may be told by something that cannot be read. Leaves in the
   * exchange where it looked.
   */
  readonly read: (exchange: Asking) => string | undefined | Unreadable
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

/**
 * @param path that of `location`.
 * @param preserved whether the credential stays in the request for the backend.
 */
export const compileCredential = (
  location: CredentialLocation,
  site: RequestSite,
  path: ConfigPath,
  preserved = false
): Effect.Effect<Credential, ReadonlyArray<ConfigProblem>> => {
  if (location.header !== undefined)
    return Effect.succeed(
      carried(
        headerCarrier(location.header.name.toLowerCase(), location.header.prefix),
        location.header.name.toLowerCase(),
        preserved
      )
    )
  if (location.queryParameter !== undefined)
    return Effect.succeed(carried(queryCarrier(location.queryParameter.name), undefined, preserved))
  if (location.cookie !== undefined)
    return Effect.succeed(carried(cookieCarrier(location.cookie.name), "cookie", preserved))
  const at = [...path, "expression"]
  return Effect.flatMap(compileExpression(location.expression, site, at), (expression) => {
    const { requestBody, requestBodyPrefix } = expression.attributes
    if (requestBody || requestBodyPrefix)
      return Effect.fail([
        { path: at, message: "a credential is looked for in the head of a request, not in its body" }
      ])
    const leave = leaving(undefined, preserved)
    return Effect.succeed({
      read: (x) => {
        leave(x)
        const found = decided(expression, x.variables)
        if (found instanceof Unreadable) return found
        return typeof found === "string" && found !== "" ? found : undefined
      },
      remove: () => {}
    })
  })
}

const carried = ({ read, remove }: Carrier, header: string | undefined, preserved: boolean): Credential => {
  const leave = leaving(header, preserved)
  return {
    read: (x) => {
      leave(x)
      return read(x.request)
    },
    remove: ({ request }) => remove(request)
  }
}

/** Leaves in the exchange where it looked, beside what others left: several policies may look, each at its place. */
const leaving = (header: string | undefined, preserved: boolean): ((x: Asking) => void) => {
  const looked = header === undefined ? [] : [header]
  const own: CredentialHeaders = { looked, preserved: preserved ? looked : [] }
  // Who looked before is the same for nearly every request, so both are joined for the first of them alone.
  let before: CredentialHeaders | undefined
  let both = own
  return (x) => {
    const others = x.get(credentialHeaders)
    if (others !== before) {
      before = others
      both =
        others === undefined
          ? own
          : { looked: [...others.looked, ...looked], preserved: [...others.preserved, ...own.preserved] }
    }
    x.set(credentialHeaders, both)
  }
}
