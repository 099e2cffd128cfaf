/**
 * The call of a document beside whose address policies stand: a call of a backend like any other, on behalf of the proxy itself. What it
 * is told apart by holds its credentials, as a digest.
 */
import { Clock, Effect, type Scope } from "effect"
import type { RemoteDocument } from "../../spec/document.ts"
import { addressOfUrl } from "../../spec/target.ts"
import { HeaderList } from "../http/header-list.ts"
import type { DocumentCall } from "../services/documents.ts"
import { type Fetched, FetchFailed, type FetchRequest } from "../services/http-fetch.ts"
import { Monotonic } from "../services/monotonic.ts"
import { defaultSettings } from "./exchange.ts"
import { fingerprint } from "./fingerprint.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"
import { type Caller, type Reference, SubCalls } from "./sub-calls.ts"

/** Milliseconds until the whole document must be there, where its policies do not say. */
const defaultTimeout = 10_000

/**
 * `undefined` where it has no policies: the proxy fetches it as it fetches whatever has none.
 * @param at where the document stands. Problems carry whole paths.
 */
export const compileDocumentCall = (
  { url, policies }: RemoteDocument,
  at: ConfigPath
): Effect.Effect<DocumentCall | undefined, ReadonlyArray<ConfigProblem>, SubCalls | Scope.Scope> =>
  policies === undefined ? Effect.succeed(undefined) : compiled(URL.parse(url), policies, at)

const compiled = (url: URL | null, policies: NonNullable<Reference["policies"]>, at: ConfigPath) =>
  Effect.gen(function* () {
    // What looks like an address may have a port or a host that none has.
    if (url === null) return yield* Effect.fail([{ path: [...at, "url"], message: "expected an http or https URL" }])
    const clock = yield* Monotonic
    const caller = yield* (yield* SubCalls).resolve({ host: addressOfUrl(url), policies }, at, { purpose: "http" })
    if (caller.handsOver) {
      const path = [...at, "policies"]
      return yield* Effect.fail([
        { path, message: "there is no token to hand over: a document is fetched for no client" }
      ])
    }
    const call: DocumentCall = {
      identity: fingerprint([url.href, policies, caller.credentials]),
      fetch: (request) => fetched(caller, clock, request)
    }
    return call
  })

const fetched = (caller: Caller, clock: () => number, request: FetchRequest): Effect.Effect<Fetched, FetchFailed> => {
  const { method, url, headers, body, timeout = defaultTimeout, maxBytes } = request
  const { pathname, search } = new URL(url)
  const asked = {
    method,
    pathAndQuery: pathname + search,
    authority: undefined,
    // Policies may change them.
    headers: headers?.clone() ?? new HeaderList(),
    body,
    maxBytes
  }
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const asking = { arrived: clock(), now, settings: defaultSettings, get: () => undefined }
    const replied = caller.ask(asking, asked, timeout)
    return Effect.mapError(replied, ({ message }) => new FetchFailed({ url, detail: message }))
  })
}
