/**
 * A call that the proxy makes beside that of the backend: a request of its own, with the policies of the backend that it asks. It
 * takes over nothing of the request that it is made for.
 */
import { Effect, Exit } from "effect"
import { isSource } from "../http/body.ts"
import { RequestHead } from "../http/message.ts"
import { Defects } from "../services/defects.ts"
import { Monotonic } from "../services/monotonic.ts"
import { UpstreamTimedOut } from "../services/upstreams.ts"
import { requestTimedOut, within } from "./deadline.ts"
import { Defect, FilterFailed } from "./errors.ts"
import { defaultBodyLimit, Exchange } from "./exchange.ts"
import { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
import { plainLoop } from "./run.ts"
import { makeReach, noHooks, type Reach } from "./serve.ts"
import { authorityRewritten, timeouts } from "./slots.ts"
import type { StageError } from "./stage.ts"
import type { Caller, Reply } from "./sub-calls.ts"
import type { Peer } from "./view.ts"

/** The client of a sub-call is the proxy, which is at no address that a rule could mean. */
const proxyItself: Peer = { address: "0.0.0.0", port: 0, rawAddress: "0.0.0.0", rawPort: 0 }

/** How requests get to backends. */
export interface Ways {
  readonly reach: Reach
  readonly clock: () => number
  /** Told what is thrown when a call is over. */
  readonly tell: (cause: unknown) => void
}

export const makeWays: Effect.Effect<Ways> = Effect.gen(function* () {
  const clock = yield* Monotonic
  const tell = yield* Defects
  // A defect goes on to whoever made the call, and is told there.
  const reach = makeReach(plainLoop(clock), noHooks, clock, () => {})
  return { reach, clock, tell: (cause: unknown) => tell("engine", cause) }
})

/** @param authority what the backend is asked under where nobody says otherwise. */
export const callerOf = ({ reach, clock, tell }: Ways, backend: Backend, authority: string): Caller => ({
  ask: (caller, asked) =>
    Effect.suspend((): Effect.Effect<Reply, StageError> => {
      const head = new RequestHead(asked.method, "http", asked.authority ?? authority, "/", asked.headers)
      const fault = head.moveTo(asked.pathAndQuery)
      if (fault !== undefined) return Exit.fail(new FilterFailed({ detail: fault.fault }))
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
})

/** Lets go of everything that was held for a call. */
const over = (x: Exchange, exit: Exit.Exit<Reply, StageError>, tell: (cause: unknown) => void): void => {
  const { response } = x
  if (response !== undefined && isSource(response.body)) response.body.cancel()
  const whole = Exit.isSuccess(exit) ? exit.value : undefined
  const failure = whole === undefined ? (x.error?.message ?? "the call was given up") : undefined
  x.finish({ status: response?.status, failure, bytes: whole?.body.length ?? 0 }, tell)
}
