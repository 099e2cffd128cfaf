/**
 * A value that comes from outside and is loaded again and again. A failed attempt keeps the value that there is; whoever
 * needs a newer one can ask for an attempt, and however many ask, it is made once per interval.
 */
import { Clock, Deferred, Effect, Exit, Fiber, type Scope } from "effect"

/** What an attempt found. */
export interface Loaded<A> {
  readonly value: A
  /** Milliseconds until it should be loaded again. */
  readonly lifetime: number
}

export interface RefreshOptions<A> {
  readonly load: Effect.Effect<Loaded<A>, unknown>
  /** Milliseconds that lie between attempts at the least, when somebody asks. */
  readonly interval: number
  /** Milliseconds until a failed attempt is repeated. While there is no value yet it begins with a second and doubles up to this. */
  readonly retry: number
  /** Milliseconds that whoever asks waits for an attempt at the most; the attempt goes on without them. */
  readonly patience: number
}

export interface Refreshed<A> {
  readonly current: () => A | undefined
  /** Whether an attempt is under way. */
  readonly loading: () => boolean
  /** Joins the attempt under way, or makes one unless the last began less than an interval ago; ends with it, or when patience does. */
  readonly refresh: Effect.Effect<void>
}

const firstRetry = 1000

/** Begins to load at once, and goes on until the scope ends. Does not wait for the first value. */
export const refreshed = <A>(options: RefreshOptions<A>): Effect.Effect<Refreshed<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { load, interval, retry, patience } = options
    const scope = yield* Effect.scope
    let value: A | undefined
    let began = Number.NEGATIVE_INFINITY
    let due = 0
    let failures = 0
    let running: Deferred.Deferred<void> | undefined

    const attempt = Effect.gen(function* () {
      began = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(load)
      const ended = yield* Clock.currentTimeMillis
      if (Exit.isSuccess(exit)) {
        value = exit.value.value
        failures = 0
        due = ended + exit.value.lifetime
      } else {
        due = ended + (value === undefined ? Math.min(retry, firstRetry * 2 ** failures) : retry)
        failures++
      }
    })

    const joined = Effect.suspend(() => {
      if (running !== undefined) return Deferred.await(running)
      const done = Deferred.makeUnsafe<void>()
      running = done
      return Effect.ensuring(
        attempt,
        Effect.sync(() => {
          running = undefined
          Deferred.doneUnsafe(done, Exit.void)
        })
      )
    })

    const rounds = Effect.gen(function* () {
      while (true) {
        const wait = due - (yield* Clock.currentTimeMillis)
        yield* wait > 0 ? Effect.sleep(wait) : joined
      }
    })
    yield* Effect.forkScoped(rounds, { startImmediately: true })

    return {
      current: () => value,
      loading: () => running !== undefined,
      refresh: Effect.gen(function* () {
        if (running === undefined && (yield* Clock.currentTimeMillis) - began < interval) return
        // Forked into the scope: whoever asked may leave, the others still wait for it.
        const asked = yield* Effect.forkIn(joined, scope, { startImmediately: true })
        yield* Effect.timeoutOption(Fiber.await(asked), patience)
      })
    }
  })
