/** The port `Documents` over calls of the proxy itself, or over those that policies say something of. */
import { Clock, Data, Effect, Layer, RcMap, Result, type Scope } from "effect"
import { freshFor } from "../../src/http/freshness.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { toldWaiting } from "../../src/pipeline/told-fetch.ts"
import { type Document, type DocumentCall, type DocumentKind, Documents } from "../../src/services/documents.ts"
import { HttpFetch } from "../../src/services/http-fetch.ts"
import { Log } from "../../src/services/log.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { type Loaded, type Refreshed, refreshed } from "./refreshed.ts"

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

/** Two of the same kind and address that are fetched alike are the same. */
class Place extends Data.Class<{
  readonly kind: DocumentKind<unknown>
  readonly url: string
  /** Of the call that fetches it, unless it is one without policies. */
  readonly identity: string | undefined
}> {}

type Fetch = HttpFetch["Service"]["fetch"]

/** The calls of the configurations that have a document open. They belong to their configurations, so that the newest is used. */
class Calls {
  readonly #open = new Map<string, Set<{ readonly fetch: Fetch }>>()

  add({ identity, fetch }: DocumentCall): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const call = { fetch }
          const open = this.#open.get(identity) ?? new Set()
          this.#open.set(identity, open.add(call))
          return call
        }),
        (call) =>
          Effect.sync(() => {
            const open = this.#open.get(identity)
            open?.delete(call)
            if (open?.size === 0) this.#open.delete(identity)
          })
      )
    )
  }

  newest(identity: string): Fetch | undefined {
    return Array.from(this.#open.get(identity) ?? []).at(-1)?.fetch
  }
}

export const layer: Layer.Layer<Documents, never, HttpFetch | Log> = Layer.effect(
  Documents,
  Effect.gen(function* () {
    const { fetch } = yield* HttpFetch
    const log = yield* Log
    const clock = yield* Monotonic

    const calls = new Calls()

    /** What is fetched by a call of its own is never fetched by another one. */
    const fetchOf = (identity: string | undefined) =>
      Effect.suspend(() => {
        const own = identity === undefined ? fetch : calls.newest(identity)
        return own === undefined ? Effect.fail(new NotLoaded({ detail: "nobody asks for it" })) : Effect.succeed(own)
      })

    const fetched = ({ kind: { accept, lifetime: usual, maxBytes }, url, identity }: Place) => {
      const headers = new HeaderList(["accept", accept])
      return Effect.gen(function* () {
        const call = yield* fetchOf(identity)
        const answer = yield* call({ method: "GET", url, headers, maxBytes })
        if (answer.status !== 200) return yield* new NotLoaded({ detail: `status ${answer.status}` })
        const lifetime = freshFor(answer.headers, yield* Clock.currentTimeMillis) ?? usual
        return {
          value: Buffer.from(answer.body).toString("utf8"),
          lifetime: Math.min(longestLifetime, Math.max(shortestLifetime, lifetime))
        }
      })
    }

    /** The same text is the same value, and what is wrong is told once. */
    const loading = (place: Place) => {
      const { kind, url } = place
      const source = fetched(place)
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
      const told = Effect.tapError(load, ({ detail }) =>
        Effect.sync(() => {
          if (detail !== wrong) log.log("warn", kind.target, `${url}: ${kind.name} not loaded: ${detail}`)
          wrong = detail
        })
      )
      return { load: told, wrong: () => wrong }
    }

    /** Whoever waits for an attempt that is under way on nobody's behalf is told of it, too, if they are watched. */
    const kept = ({ url }: Place, document: Refreshed<unknown>, wrong: () => string | undefined): Document<unknown> => {
      const outcome = Effect.suspend(() => {
        const detail = wrong() ?? (document.loading() ? "it is not there yet" : undefined)
        return detail === undefined ? Effect.succeed({ status: 200 }) : Effect.fail(new NotLoaded({ detail }))
      })
      const waited = toldWaiting({ method: "GET", url }, clock, Effect.andThen(document.refresh, outcome))
      return {
        current: document.current,
        refresh: Effect.suspend(() => (document.loading() ? Effect.ignore(waited) : document.refresh))
      }
    }

    const places = yield* RcMap.make({
      lookup: (place: Place) => {
        const { load, wrong } = loading(place)
        const document = refreshed({ load, interval: shortestInterval, retry: retryAfter, patience: longestWait })
        return Effect.map(document, (document) => kept(place, document, wrong))
      }
    })
    return {
      // What a place yields is of its kind. Its call is there before it is fetched for the first time.
      open: <A>(kind: DocumentKind<A>, url: string, call?: DocumentCall) =>
        Effect.andThen(
          call === undefined ? Effect.void : calls.add(call),
          RcMap.get(places, new Place({ kind, url, identity: call?.identity }))
        ) as Effect.Effect<Document<A>, never, Scope.Scope>
    }
  })
)
