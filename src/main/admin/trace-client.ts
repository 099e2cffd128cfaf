/** Asks the admin interface of a running proxy for the trace of a request, and hands its events on as they were sent. */
import { Deferred, Effect, Queue, type Scope, Stream } from "effect"
import type * as Cause from "effect/Cause"
import { type Address, show } from "../../../layers/http/address.ts"
import { AdminUnreachable, openAdmin, reasonOf } from "./client.ts"

export interface TraceOptions {
  /** A CEL expression: only a request for which it is true is traced. Default: the next request. */
  readonly expression?: string | undefined
  /** Traces request after request, with at most this many events in a second. Default: one request, whole. */
  readonly follow?: number | undefined
}

/** Events that may wait for a slow reader before the proxy is asked to wait; it drops what it cannot hold. */
const ahead = 256

/**
 * Subscribes. When the effect ends the watcher is in place; the stream yields the JSON of each event exactly as it was
 * sent, and ends with the traced request.
 */
export const openTrace = (
  admin: Address,
  options: TraceOptions
): Effect.Effect<Stream.Stream<string, AdminUnreachable>, AdminUnreachable, Scope.Scope> =>
  Effect.gen(function* () {
    const response = yield* post(admin, options)
    const ready = yield* Deferred.make<void, AdminUnreachable>()
    const events = yield* Queue.bounded<string, AdminUnreachable | Cause.Done>(ahead)
    const lines = Stream.fromAsyncIterable(
      response,
      (cause) => new AdminUnreachable({ detail: `the trace broke off: ${reasonOf(cause)}` })
    ).pipe(Stream.decodeText, Stream.splitLines)
    yield* Stream.runForEach(lines, (line) =>
      line === ": ready"
        ? Deferred.succeed(ready, undefined)
        : line.startsWith("data: ")
          ? Queue.offer(events, line.slice("data: ".length))
          : Effect.void
    ).pipe(
      Effect.andThen(new AdminUnreachable({ detail: `${show(admin)} did not send a trace` })),
      // After the watcher was in place, the end of the stream is the end of the request.
      Effect.catch((error) =>
        Effect.flatMap(Deferred.fail(ready, error), (early) =>
          early || !response.complete ? Queue.fail(events, error) : Queue.end(events)
        )
      ),
      Effect.forkScoped
    )
    yield* Deferred.await(ready)
    return Stream.fromQueue(events)
  })

const post = (admin: Address, { expression, follow }: TraceOptions) => {
  const query = new URLSearchParams()
  if (expression !== undefined) query.set("expression", expression)
  if (follow !== undefined) query.set("follow", String(follow))
  return openAdmin(admin, "POST", `/debug/trace?${query}`)
}
