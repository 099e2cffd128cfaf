/**
 * Key sets of every kind: those in the configuration and in files are parsed once, remote ones are fetched and refreshed in
 * the background. A provider that cannot be reached stops nothing: there are no keys until it answers, and
 * the old ones stay when it stops answering.
 */
import { Clock, Data, Effect, Layer, RcMap, type Scope } from "effect"
import { freshFor } from "../../src/http/freshness.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { Files } from "../../src/services/files.ts"
import { HttpFetch } from "../../src/services/http-fetch.ts"
import { Jwks, type KeySet, KeySetUnusable, type Keys } from "../../src/services/jwks.ts"
import { Log } from "../../src/services/log.ts"
import { parseKeySet } from "./key-set.ts"
import { type Loaded, refreshed } from "./refreshed.ts"

/** Between the attempts that tokens with unknown keys may cause. */
const shortestInterval = 30_000
/** How long a remote set is used before it is fetched again, where the provider does not say: 15 minutes. */
const defaultLifetime = 15 * 60_000
const shortestLifetime = 60_000
/** However long a provider lets its set be kept: a key that it withdraws must not live on for a year. */
const longestLifetime = 24 * 60 * 60_000
/** After a failed attempt. */
const retryAfter = 15_000
/** A provider that hangs is no reason for requests to hang: they are answered with what is known then. */
const longestWait = 2_000

class NotLoaded extends Data.TaggedError("NotLoaded")<{ readonly detail: string }> {}

const wholeSet = (text: string) =>
  Effect.suspend(() => {
    const parsed = parseKeySet(text)
    if (typeof parsed === "string") return Effect.fail(new KeySetUnusable({ detail: parsed }))
    if (parsed.unusable.length > 0) return Effect.fail(new KeySetUnusable({ detail: parsed.unusable.join("; ") }))
    return Effect.succeed(parsed.keys)
  })

const fixed = (text: string): Effect.Effect<KeySet, KeySetUnusable> =>
  Effect.map(wholeSet(text), (keys) => ({ current: () => keys, refresh: Effect.void }))

export const layer: Layer.Layer<Jwks, never, Files | HttpFetch | Log> = Layer.effect(
  Jwks,
  Effect.gen(function* () {
    const { fetch } = yield* HttpFetch
    const { read } = yield* Files
    const log = yield* Log

    /** Loads a set from its text: the same text is the same set, and what is wrong is told once. */
    const loading = <E extends { readonly detail: string }>(
      name: string,
      source: Effect.Effect<Loaded<string>, E>
    ): Effect.Effect<Loaded<Keys>, E | NotLoaded> => {
      let text: string | undefined
      let keys: Keys = new Map()
      let wrong: string | undefined
      const load = Effect.gen(function* () {
        const { value, lifetime } = yield* source
        if (value !== text) {
          const parsed = parseKeySet(value)
          if (typeof parsed === "string") return yield* new NotLoaded({ detail: parsed })
          // One odd key must not close the door for the tokens of all others.
          for (const detail of parsed.unusable) log.log("warn", "jwks", `${name}: key passed over: ${detail}`)
          text = value
          keys = parsed.keys
        }
        wrong = undefined
        return { value: keys, lifetime }
      })
      return Effect.tapError(load, ({ detail }) =>
        Effect.sync(() => {
          if (detail !== wrong) log.log("warn", "jwks", `${name}: key set not loaded: ${detail}`)
          wrong = detail
        })
      )
    }

    const remote = (url: string): Effect.Effect<KeySet, never, Scope.Scope> => {
      const headers = new HeaderList(["accept", "application/jwk-set+json, application/json"])
      const source = Effect.gen(function* () {
        const answer = yield* fetch({ method: "GET", url, headers })
        if (answer.status !== 200) return yield* new NotLoaded({ detail: `status ${answer.status}` })
        const lifetime = freshFor(answer.headers, yield* Clock.currentTimeMillis) ?? defaultLifetime
        return {
          value: Buffer.from(answer.body).toString("utf8"),
          lifetime: Math.min(longestLifetime, Math.max(shortestLifetime, lifetime))
        }
      })
      return refreshed({
        load: loading(url, source),
        interval: shortestInterval,
        retry: retryAfter,
        patience: longestWait
      })
    }
    const remotes = yield* RcMap.make({ lookup: remote })

    return {
      open: (source) => {
        if (typeof source === "string") return fixed(source)
        if ("url" in source) return RcMap.get(remotes, source.url)
        // When the file changes, the configuration is compiled anew: a set that is not whole is told, and the old one stays.
        return Effect.flatMap(
          Effect.mapError(read(source.file), ({ message }) => new KeySetUnusable({ detail: message })),
          fixed
        )
      }
    }
  })
)
