/**
 * Port: things that outlive a reload because their own configuration did not change: sessions, buckets, connections. They
 * are keyed by what they were made from; the last snapshot that uses one closes it.
 */
import { Context, type Effect, type Scope } from "effect"

/** A kind of thing that is kept. Make one constant for each kind. */
export class KeptKind<in out A> {
  readonly name: string
  // Present in types alone: what is kept under this kind.
  declare readonly "~A": (a: A) => A
  constructor(name: string) {
    this.name = name
  }
}

export class Kept extends Context.Service<
  Kept,
  {
    /**
     * The thing of that kind and key: the one in use, or a new one. It stays at least as long as the scope.
     * @param key the content of its configuration.
     */
    readonly keep: <A, E, R>(
      kind: KeptKind<A>,
      key: string,
      make: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, Exclude<R, Scope.Scope> | Scope.Scope>
  }
>()("headgate/services/Kept") {}
