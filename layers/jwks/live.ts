/**
 * Key sets of every kind: those in the configuration and in files are parsed once, remote ones are fetched and refreshed in
 * the background. A provider that cannot be reached stops nothing: there are no keys until it answers, and
 * the old ones stay when it stops answering.
 */
import { Effect, Layer, Result } from "effect"
import { type DocumentKind, Documents } from "../../src/services/documents.ts"
import { Files } from "../../src/services/files.ts"
import { Jwks, type KeySet, KeySetUnusable, type Keys } from "../../src/services/jwks.ts"
import { parseKeySet } from "./key-set.ts"

/** Remote sets. One odd key must not close the door for the tokens of all others. */
const keySets: DocumentKind<Keys> = {
  name: "key set",
  target: "jwks",
  accept: "application/jwk-set+json, application/json",
  maxBytes: 1024 * 1024,
  lifetime: 15 * 60_000,
  read: (text) => {
    const parsed = parseKeySet(text)
    return typeof parsed === "string"
      ? Result.fail(parsed)
      : Result.succeed({ value: parsed.keys, warnings: parsed.unusable.map((detail) => `key passed over: ${detail}`) })
  }
}

const wholeSet = (text: string) =>
  Effect.suspend(() => {
    const parsed = parseKeySet(text)
    if (typeof parsed === "string") return Effect.fail(new KeySetUnusable({ detail: parsed }))
    if (parsed.unusable.length > 0) return Effect.fail(new KeySetUnusable({ detail: parsed.unusable.join("; ") }))
    return Effect.succeed(parsed.keys)
  })

const fixed = (text: string): Effect.Effect<KeySet, KeySetUnusable> =>
  Effect.map(wholeSet(text), (keys) => ({ current: () => keys, refresh: Effect.void }))

export const layer: Layer.Layer<Jwks, never, Files | Documents> = Layer.effect(
  Jwks,
  Effect.gen(function* () {
    const documents = yield* Documents
    const { read } = yield* Files
    return {
      open: (source) => {
        if (typeof source === "string") return fixed(source)
        if ("url" in source) return documents.open(keySets, source.url, source.call)
        // When the file changes, the configuration is compiled anew: a set that is not whole is told, and the old one stays.
        return Effect.flatMap(
          Effect.mapError(read(source.file), ({ message }) => new KeySetUnusable({ detail: message })),
          fixed
        )
      }
    }
  })
)
