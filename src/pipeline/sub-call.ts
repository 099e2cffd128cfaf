/**
 * A call that the proxy makes beside that of the backend: a request of its own, with the policies of the backend that it asks. It
 * takes over nothing of the request that it is made for.
 */
import { Effect, Exit } from "effect"
import { isSource } from "../http/body.ts"
import { RequestHead } from "../http/message.ts"
import { formatTraceparent, type TraceContext } from "../http/trace-context.ts"
import { Defects } from "../services/defects.ts"
import { Monotonic } from "../services/monotonic.ts"
import { UpstreamTimedOut } from "../services/upstreams.ts"
import { CallTimes, type Purpose, timeOf } from "./call-times.ts"
import { requestTimedOut, within } from "./deadline.ts"
import { Defect, FilterFailed } from "./errors.ts"
import { defaultBodyLimit, Exchange } from "./exchange.ts"
import { toldCall } from "./outbound.ts"
import { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
import { plainLoop } from "./run.ts"
import { makeReach, noHooks, type Reach } from "./serve.ts"
import { authorityRewritten, timeouts } from "./slots.ts"
import type { StageError } from "./stage.ts"
import type { Asking, Caller, Reply, SubRequest } from "./sub-calls.ts"
import type { Peer } from "./view.ts"

/** The client of a sub-call is the proxy, which is at no address that a rule could mean. */
const proxyItself: Peer = { address: "0.0.0.0", port: 0, rawAddress: "0.0.0.0", rawPort: 0 }

/** How requests get to backends. */
export interface Ways {
  readonly reach: Reach
  readonly clock: () => number
  readonly times: CallTimes
  /** Told what is thrown when a call is over. */
  readonly tell: (cause: unknown) => void
}

export const makeWays: Effect.Effect<Ways> = Effect.gen(function* () {
  const clock = yield* Monotonic
  const tell = yield* Defects
  // A defect goes on to whoever made the call, and is told there.
  const reach = makeReach(plainLoop(clock), noHooks, clock, () => {})
  return { reach, clock, times: yield* CallTimes, tell: (cause: unknown) => tell("engine", cause) }
})

/** @param authority what the backend is asked under where nobody says otherwise. */
export const callerOf = (
  { reach, clock, times, tell }: Ways,
  backend: Backend,
  authority: string,
  purpose: Purpose
): Caller => {
  const telling = { purpose, clock, time: timeOf(times, purpose), why: ({ message }: StageError) => message }
  const { target } = backend
  /** @param head of a request of the proxy, which belongs to the trace of the one that it is made for. */
  const asking = (caller: Asking, asked: SubRequest, head: RequestHead, trace: TraceContext | undefined) =>
    Effect.suspend((): Effect.Effect<Reply, StageError> => {
      if (trace !== undefined && !head.headers.has("traceparent"))
        head.headers.set("traceparent", formatTraceparent(trace))
      const arrived = clock()
      const x = new Exchange(head, asked.body, proxyItself, caller.now + arrived - caller.arrived, arrived)
      x.settings = caller.settings
      // The name of the backend need not replace that of a client.
      x.set(authorityRewritten, true)
      const most = backend.requestTimeout ?? asked.timeout
      x.set(timeouts, { request: most, backend: undefined })
      const replied = Effect.flatMap(reach(new Passage(x), backend), ({ status }): Effect.Effect<Reply, StageError> => {
        const { error } = x
        if (error instanceof Defect) return Exit.die(error.cause)
        if (error !== undefined) return Exit.fail(error)
        return Effect.map(x.readResponseBody(defaultBodyLimit), (body) => ({ status, body }))
      })
      // That the time of this call is up says nothing of the time of whoever made it.
      const inTime = Effect.mapError(within(x, clock, replied), (error) =>
        error === requestTimedOut ? new UpstreamTimedOut({ after: most, reached: "sent" }) : error
      )
      return Effect.onExit(inTime, (exit) => Effect.sync(() => over(x, exit, tell)))
    })
  return {
    ask: (caller, asked) =>
      Effect.suspend((): Effect.Effect<Reply, StageError> => {
        const head = new RequestHead(asked.method, "http", asked.authority ?? authority, "/", asked.headers)
        const fault = head.moveTo(asked.pathAndQuery)
        if (fault !== undefined) return Exit.fail(new FilterFailed({ detail: fault.fault }))
        const told = { target, method: head.method, authority: head.authority, path: head.path }
        return toldCall(telling, told, (trace) => asking(caller, asked, head, trace))
      })
  }
}

/** Lets go of everything that was held for a call. */
const over = (x: Exchange, exit: Exit.Exit<Reply, StageError>, tell: (cause: unknown) => void): void => {
  const { response } = x
  if (response !== undefined && isSource(response.body)) response.body.cancel()
  const whole = Exit.isSuccess(exit) ? exit.value : undefined
  const failure = whole === undefined ? (x.error?.message ?? "the call was given up") : undefined
  x.finish({ status: response?.status, failure, bytes: whole?.body.length ?? 0 }, tell)
}
