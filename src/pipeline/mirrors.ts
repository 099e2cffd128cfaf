/**
 * Copies of requests for another backend, whose answers nobody waits for. Each is a call of its own: it takes nothing from the
 * request that it is a copy of but its head and its body, lives as long as it needs within bounds of its own, and says nothing
 * of how a backend does.
 */
import { Context, Effect, type Fiber, type Scope } from "effect"
import { type Body, type BodyAborted, isSource } from "../http/body.ts"
import { formatTraceparent } from "../http/trace-context.ts"
import type { Metrics } from "../services/metrics.ts"
import { Monotonic } from "../services/monotonic.ts"
import { UpstreamTimedOut } from "../services/upstreams.ts"
import { CallTimes, timeOf } from "./call-times.ts"
import { toldCall, type WatchCall, WatchCalls } from "./outbound.ts"
import type { StageError } from "./stage.ts"
import type { Asking, Caller, SubRequest } from "./sub-calls.ts"

/** The most copies of one policy that are under way. */
const mostUnderWay = 64

/** Milliseconds for a copy, the whole of its answer included. */
const patience = 10_000

/** What became of a copy. `dropped`: it was not sent, because too many others were under way. */
type MirrorResult = "answered" | "failed" | "dropped"

/** Where copies are counted. Without a process around it, nowhere. */
export const MirrorCounter = Context.Reference<(result: MirrorResult) => void>("headgate/pipeline/MirrorCounter", {
  defaultValue: () => () => {}
})

export const mirrorCounter = (metrics: Metrics["Service"]): ((result: MirrorResult) => void) => {
  const family = metrics.counter(
    "mirrored_requests_total",
    "Copies of requests for other backends, by what became of them: answered, failed, or dropped because too many were under way.",
    ["result"]
  )
  return (result) => family.series([result]).record(1)
}

/** Where copies go. */
export interface Mirror {
  /** Sends a copy, or drops it. Whoever asks goes on at once. */
  readonly send: (asking: Asking, request: SubRequest, watch: WatchCall | undefined) => void
}

/** Opens the way to a backend. What is under way when the scope closes is given up. */
export const openMirror = (caller: Caller): Effect.Effect<Mirror, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Monotonic
    const count = yield* MirrorCounter
    const telling = {
      purpose: "mirror",
      time: timeOf(yield* CallTimes, "mirror"),
      clock,
      why: ({ message }: StageError) => message
    } as const
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const underWay = new Set<Fiber.Fiber<unknown, unknown>>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const fiber of underWay) fiber.interruptUnsafe()
      })
    )
    const { target, origin } = caller
    const usual = origin.slice(origin.indexOf("://") + 3)
    const late = Effect.suspend(() => Effect.fail(new UpstreamTimedOut({ after: patience, reached: "sent" })))
    return {
      send: ({ arrived, now, settings }, request, watch) => {
        if (underWay.size >= mostUnderWay) return count("dropped")
        const { method, pathAndQuery, authority = usual, headers } = request
        const path = pathAndQuery.split("?", 1)[0]!
        const call = toldCall(telling, { target, method, authority, path }, (trace) => {
          if (trace !== undefined) headers.set("traceparent", formatTraceparent(trace))
          const asking: Asking = { arrived, now, settings }
          const answered = Effect.flatMap(
            caller.send(asking, { ...request, aside: true }, undefined),
            ({ status, body }) => Effect.as(passedOver(body), { status })
          )
          return Effect.timeoutOrElse(answered, { duration: patience, orElse: () => late })
        })
        const fiber = fork(watch === undefined ? call : Effect.provideService(call, WatchCalls, watch))
        underWay.add(fiber)
        fiber.addObserver((exit) => {
          underWay.delete(fiber)
          count(exit._tag === "Success" ? "answered" : "failed")
        })
      }
    }
  })

/** Lets a body come to its end, so that its connection can be used again. */
const passedOver = (body: Body): Effect.Effect<void, BodyAborted> =>
  isSource(body)
    ? Effect.callback((resume) => {
        body.start({
          data: () => true,
          end: () => resume(Effect.void),
          fail: (error) => resume(Effect.fail(error))
        })
        return Effect.sync(() => body.cancel())
      })
    : Effect.void
