/** The port `Documents` over calls of the proxy itself. */
import { Clock, Data, Effect, Layer, RcMap, Result, type Scope } from "effect"
import { freshFor } from "../../src/http/freshness.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { type Document, type DocumentKind, Documents } from "../../src/services/documents.ts"
import { HttpFetch } from "../../src/services/http-fetch.ts"
import { Log } from "../../src/services/log.ts"
import { type Loaded, refreshed } from "./refreshed.ts"

/** Between the attempts that requests may cause. */
const shortestInterval = 30_000
const shortestLifetime = 60_000
/** However long a server lets its document be kept: a key that it withdraws must not live on for a year. */
const longestLifetime = 24 * 60 * 60_000
/** After a failed attempt. */
const retryAfter = 15_000
/** A server that hangs is no reason for requests to hang: they are answered with what is known then. */
const longestWait = 2_000

class NotLoaded extends Data.TaggedError("NotLoaded")<{ readonly detail: string }> {}

/** Two of the same kind and address are the same. */
class Place extends Data.Class<{ readonly kind: DocumentKind<unknown>; readonly url: string }> {}

export const layer: Layer.Layer<Documents, never, HttpFetch | Log> = Layer.effect(
  Documents,
  Effect.gen(function* () {
    const { fetch } = yield* HttpFetch
    const log = yield* Log

    const fetched = ({ accept, lifetime: usual, maxBytes }: DocumentKind<unknown>, url: string) => {
      const headers = new HeaderList(["accept", accept])
      return Effect.gen(function* () {
        const answer = yield* fetch({ method: "GET", url, headers, maxBytes })
        if (answer.status !== 200) return yield* new NotLoaded({ detail: `status ${answer.status}` })
        const lifetime = freshFor(answer.headers, yield* Clock.currentTimeMillis) ?? usual
        return {
          value: Buffer.from(answer.body).toString("utf8"),
          lifetime: Math.min(longestLifetime, Math.max(shortestLifetime, lifetime))
        }
      })
    }

    /** The same text is the same value, and what is wrong is told once. */
    const loading = (kind: DocumentKind<unknown>, url: string) => {
      const source = fetched(kind, url)
      let text: string | undefined
      let value: unknown
      let wrong: string | undefined
      const load: Effect.Effect<Loaded<unknown>, { readonly detail: string }> = Effect.gen(function* () {
        const { value: newer, lifetime } = yield* source
        if (newer !== text) {
          const read = kind.read(newer)
          if (Result.isFailure(read)) return yield* new NotLoaded({ detail: read.failure })
          for (const warning of read.success.warnings) log.log("warn", kind.target, `${url}: ${warning}`)
          text = newer
          value = read.success.value
        }
        wrong = undefined
        return { value, lifetime }
      })
      return Effect.tapError(load, ({ detail }) =>
        Effect.sync(() => {
          if (detail !== wrong) log.log("warn", kind.target, `${url}: ${kind.name} not loaded: ${detail}`)
          wrong = detail
        })
      )
    }

    const places = yield* RcMap.make({
      lookup: ({ kind, url }: Place) =>
        refreshed({ load: loading(kind, url), interval: shortestInterval, retry: retryAfter, patience: longestWait })
    })
    return {
      // What a place yields is of its kind.
      open: <A>(kind: DocumentKind<A>, url: string) =>
        RcMap.get(places, new Place({ kind, url })) as Effect.Effect<Document<A>, never, Scope.Scope>
    }
  })
)
