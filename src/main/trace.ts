/**
 * Package export `headgate/trace`: the typed events of requests on their way, of a gateway in this process or of one
 * behind an admin address.
 */
import { type Cause, Data, Effect, Exit, Queue, Schema, Scope, Stream } from "effect"
import { parseAdminAddress } from "../../layers/admin-address.ts"
import { TraceEvent } from "../../spec/trace-events.ts"
import { compileExpression } from "../compile/conditions.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import type { Watchers } from "../pipeline/watchers.ts"
import { AdminUnreachable } from "./admin/client.ts"
import { openTrace, type TraceOptions } from "./admin/trace-client.ts"

export { RequestState, requestStages, responseStages, TraceEvent, TraceMessage } from "../../spec/trace-events.ts"
export { AdminUnreachable } from "./admin/client.ts"
export type { TraceOptions } from "./admin/trace-client.ts"

/** A gateway of `headgate` in this process, or an admin address: `localhost:15000`, `ip:port` or `unix:/path`. */
export type TraceSource = { readonly watchers: Watchers } | string

/** The expression that chooses a request cannot be compiled. */
export class InvalidExpression extends Data.TaggedError("InvalidExpression")<{ readonly detail: string }> {
  override get message() {
    return `invalid expression: ${this.detail}`
  }
}

/** What came is no event of this version. */
export class UnknownEvent extends Data.TaggedError("UnknownEvent")<{ readonly json: string; readonly detail: string }> {
  override get message() {
    return `no event of this version: ${this.detail}`
  }
}

export type TraceFailed = AdminUnreachable | InvalidExpression | UnknownEvent

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(TraceEvent), { onExcessProperty: "error" })

/**
 * Waits for a request. When the effect ends the watcher is in place: a request sent from then on is seen. The stream
 * yields its events in order and ends with it; with `follow` it goes on until its scope ends.
 */
export const watch = (
  source: TraceSource,
  options: TraceOptions = {}
): Effect.Effect<Stream.Stream<TraceEvent, TraceFailed>, TraceFailed, Scope.Scope> => {
  if (typeof source !== "string") return subscribe(source.watchers, options)
  const address = parseAdminAddress(source)
  if (typeof address !== "object")
    return new AdminUnreachable({ detail: `${source}: ${address ?? "nothing listens there"}` })
  return Effect.map(openTrace(address, options), (lines) =>
    Stream.mapEffect(lines, (json) =>
      Effect.mapError(decode(json), (error) => new UnknownEvent({ json, detail: error.message }))
    )
  )
}

/** The most events that wait for a reader; beyond that they are dropped, so that no request is slowed. */
const most = 4096

const subscribe = (
  watchers: Watchers,
  { expression, follow }: TraceOptions
): Effect.Effect<Stream.Stream<TraceEvent>, InvalidExpression, Scope.Scope> =>
  Effect.gen(function* () {
    const wants: ((exchange: Exchange) => boolean) | string | undefined =
      expression === undefined ? undefined : compileExpression(expression)
    if (typeof wants === "string") return yield* new InvalidExpression({ detail: wants })
    const events = yield* Queue.dropping<TraceEvent, Cause.Done>(most)
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        watchers.subscribe({
          wants,
          follow: follow === undefined ? undefined : { eventsPerSecond: follow },
          emit: (event, request) => Queue.offerUnsafe(events, follow === undefined ? event : { ...event, request }),
          done: () => Queue.endUnsafe(events)
        })
      ),
      (unsubscribe) => Effect.sync(unsubscribe)
    )
    return Stream.fromQueue(events)
  })

/** The same for programs that do not speak Effect: iterate over it once, or dispose of it. */
export interface Trace extends AsyncIterable<TraceEvent>, AsyncDisposable {}

/** Waits for a request. When the promise resolves the watcher is in place; it rejects with `TraceFailed`. */
export const watching = async (source: TraceSource, options?: TraceOptions): Promise<Trace> => {
  const scope = await Effect.runPromise(Scope.make())
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  const events = await Effect.runPromise(
    watch(source, options).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
  )
  const closing = Stream.ensuring(events, Scope.close(scope, Exit.void))
  return {
    [Symbol.asyncIterator]: () => Stream.toAsyncIterable(closing)[Symbol.asyncIterator](),
    [Symbol.asyncDispose]: close
  }
}
