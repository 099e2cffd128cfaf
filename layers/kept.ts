/** Things that outlive a reload, counted by the scopes that use them. */
import { Effect, Exit, Layer, Scope } from "effect"
import { Kept, type KeptKind } from "../src/services/kept.ts"

interface Entry {
  readonly value: unknown
  readonly scope: Scope.Closeable
  users: number
}

export const layer: Layer.Layer<Kept> = Layer.sync(Kept, () => {
  const byKind = new WeakMap<object, Map<string, Entry>>()
  const entriesOf = (kind: object) => {
    let entries = byKind.get(kind)
    if (entries === undefined) {
      entries = new Map()
      byKind.set(kind, entries)
    }
    return entries
  }
  return {
    keep: <A, E, R>(kind: KeptKind<A>, key: string, make: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const entries = entriesOf(kind)
        let entry = entries.get(key)
        if (entry === undefined) {
          const scope = yield* Scope.make()
          const value = yield* Scope.provide(make, scope).pipe(Effect.onError(() => Scope.close(scope, Exit.void)))
          entry = { value, scope, users: 0 }
          entries.set(key, entry)
        }
        const used = entry
        used.users++
        yield* Effect.addFinalizer(() =>
          Effect.suspend(() => {
            if (--used.users > 0) return Effect.void
            if (entries.get(key) === used) entries.delete(key)
            return Scope.close(used.scope, Exit.void)
          })
        )
        // Only `make` of this kind put it there.
        return used.value as A
      })
  }
})
