/**
 * The credentials by which the proxy authenticates to a backend: keys of the configuration, or the token that the client was
 * recognised by. Read and checked while the configuration is compiled, written into each request.
 */
import { Data, Effect, Redacted, Result, type Scope } from "effect"
import type { BackendAuth } from "../../../spec/connection/policies.ts"
import { bearer as bearerLocation } from "../../../spec/location.ts"
import { type Carrier, cookieCarrier, headerCarrier, queryCarrier } from "../../http/credential.ts"
import { isHopByHop } from "../../http/framing.ts"
import { isHeaderValue } from "../../http/header-list.ts"
import type { RequestHead } from "../../http/message.ts"
import { Files } from "../../services/files.ts"
import type { ShownCredentials } from "../slots.ts"
import { type ConfigPath, type ConfigProblem, type StageError, unavailable } from "../stage.ts"
import type { TokenBearer } from "./identity.ts"

type Auth = typeof BackendAuth.Type
type Location = NonNullable<NonNullable<Auth["passthrough"]>["location"]>
type Secret = Auth["credentials"][number]["key"]

/** The proxy cannot show its credential to a backend: the request is not sent without it. */
export class BackendAuthFailed
  extends Data.TaggedError("BackendAuthFailed")<{ readonly detail: string }>
  implements StageError
{
  readonly status = 500
  readonly source = "proxy"
  override get message() {
    return `backend authentication failed: ${this.detail}`
  }
}
const noQuery = new BackendAuthFailed({ detail: "the request has no query" })

/** The credentials for one backend. */
export interface BackendCredential {
  /** Whether the configuration says where the main one stands. */
  readonly explicit: boolean
  /** Whether the token of the client is passed on. */
  readonly passesToken: boolean
  /** Whether one of them is a parameter of the query, which a request for `*` does not have. */
  readonly inQuery: boolean
  /** Whether anything is shown with the request of this client. */
  readonly shows: (client: TokenBearer | undefined) => boolean
  /** Writes them; or tells why it cannot, and has written nothing. */
  readonly write: (request: RequestHead, client: TokenBearer | undefined) => BackendAuthFailed | undefined
  /** What `write` has written. */
  readonly shown: (client: TokenBearer | undefined) => ShownCredentials | undefined
}

/** One credential at its place. */
interface Placed {
  readonly put: (request: RequestHead) => void
  /** The line of a header that it is by itself. */
  readonly line: ReadonlyArray<string>
}

/** A place in requests. */
interface Place {
  readonly carrier: Carrier
  readonly lineOf: (credential: string) => ReadonlyArray<string>
  /** What is wrong with a credential there. */
  readonly faultOf: (credential: string) => string | undefined
}

const placedAt = ({ carrier, lineOf }: Place, credential: string): Placed => ({
  put: carrier.put(credential),
  line: lineOf(credential)
})

const unlikely = "expected characters of Latin-1 without control characters"

/** Headers that say how a message is framed, and whom it is for, are not for credentials. */
const isTaken = (name: string) => isHopByHop(name) || name === "host" || name === "content-length"

const placeOf = ({ header, queryParameter, cookie }: Location): Place | string => {
  if (header !== undefined) {
    const name = header.name.toLowerCase()
    const { prefix = "" } = header
    if (isTaken(name)) return "expected a header in which a credential can stand"
    return {
      carrier: headerCarrier(name, prefix),
      lineOf: (credential) => [name, prefix + credential],
      faultOf: (credential) => (isHeaderValue(prefix + credential) ? undefined : unlikely)
    }
  }
  if (queryParameter !== undefined)
    return { carrier: queryCarrier(queryParameter.name), lineOf: () => [], faultOf: () => undefined }
  return {
    carrier: cookieCarrier(cookie.name),
    lineOf: (credential) => ["cookie", `${cookie.name}=${credential}`],
    faultOf: (credential) =>
      !isHeaderValue(credential)
        ? unlikely
        : credential.includes(";")
          ? "expected a cookie without a semicolon"
          : undefined
  }
}

/** Kinds of credentials that the language has besides. */
const others = ["gcp", "aws", "azure", "copilot", "jwtSign", "oauthTokenExchange", "crossAppAccess"] as const

const isInQuery = ({ queryParameter }: Location) => queryParameter !== undefined

/** Compiles the credentials for a backend. Problems carry paths below the policy. */
export const compileBackendCredential = (
  auth: Auth
): Effect.Effect<BackendCredential, ReadonlyArray<ConfigProblem>, Files | Scope.Scope> =>
  Effect.gen(function* () {
    const { key, passthrough, credentials } = auth
    const files = yield* Files
    const problems: Array<ConfigProblem> = others
      .filter((kind) => auth[kind] !== undefined)
      .map((kind) => unavailable([kind], `${kind} as a credential`))
    const locations: Array<Location> = []
    const place = (location: Location, path: ConfigPath): Place | undefined => {
      locations.push(location)
      const found = placeOf(location)
      if (typeof found === "string") {
        problems.push({ path: [...path, "header", "name"], message: found })
        return undefined
      }
      const fault = found.faultOf("")
      if (fault === undefined) return found
      problems.push({ path: [...path, "header", "prefix"], message: fault })
      return undefined
    }
    const placed = function* (secret: Secret, path: ConfigPath, at: Place | undefined) {
      const text = yield* Effect.result(textOf(secret, files))
      const fault = Result.isFailure(text)
        ? text.failure
        : text.success === ""
          ? "expected a value that is not empty"
          : at?.faultOf(text.success)
      if (fault !== undefined) problems.push({ path, message: fault })
      return at === undefined || Result.isFailure(text) ? [] : [placedAt(at, text.success)]
    }

    const fixed: Array<Placed> = []
    if (key !== undefined)
      fixed.push(...(yield* placed(key.value, ["key"], place(key.location ?? bearerLocation, ["key", "location"]))))
    for (const [index, credential] of credentials.entries()) {
      const path = ["credentials", index]
      const at = place(credential.location, [...path, "location"])
      fixed.push(...(yield* placed(credential.key, [...path, "key"], at)))
    }
    const token = passthrough && place(passthrough.location ?? bearerLocation, ["passthrough", "location"])
    if (problems.length > 0) return yield* Effect.fail(problems)
    return credentialOf(fixed, token, (key ?? passthrough)?.location !== undefined, locations.some(isInQuery))
  })

const textOf = (secret: Secret, { read }: Files["Service"]): Effect.Effect<string, string, Scope.Scope> =>
  Redacted.isRedacted(secret)
    ? Effect.succeed(Redacted.value(secret).trim())
    : Effect.mapError(read(secret.file), ({ message }) => message)

/** @param token where the token of the client is written, if it is. */
const credentialOf = (
  fixed: ReadonlyArray<Placed>,
  token: Place | undefined,
  explicit: boolean,
  inQuery: boolean
): BackendCredential => {
  const lines = fixed.flatMap(({ line }) => line)
  const always: ShownCredentials | undefined = fixed.length === 0 ? undefined : { lines, inQuery }
  return {
    explicit,
    passesToken: token !== undefined,
    inQuery,
    shows: (client) => always !== undefined || (token !== undefined && client !== undefined),
    write: (request, client) => {
      if (inQuery && !request.pathAndQuery.startsWith("/")) return noQuery
      if (token !== undefined && client !== undefined) token.carrier.put(client.rawToken)(request)
      for (const { put } of fixed) put(request)
      return undefined
    },
    shown:
      token === undefined
        ? () => always
        : (client) => (client === undefined ? always : { lines: [...token.lineOf(client.rawToken), ...lines], inQuery })
  }
}
