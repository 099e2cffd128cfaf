/**
 * The way of a request: gateway policies, route selection, route policies, backend policies, backend call, backend
 * response, response. Written once; the plain and the observed form differ in their loop and in their hooks alone.
 */
import { Cause, Effect, Exit } from "effect"
import { type Body, isSource } from "../http/body.ts"
import { addVary } from "../http/header-list.ts"
import type { Answer } from "../http/message.ts"
import { Attempts } from "./attempts.ts"
import { Beside, type Stop } from "./beside.ts"
import { within } from "./deadline.ts"
import { callStopped, Defect, NoTunnel, NotFound, type TimedOut } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import { rememberGrpcStatus } from "./grpc/ending.ts"
import type { Passage } from "./passage.ts"
import { render } from "./render.ts"
import type { Backend, Listener, Route, Selection } from "./route.ts"
import { errorOf, type Loop, type PhaseOutcome, type Step } from "./run.ts"
import type { RequestSite } from "./site.ts"
import { plan as planned } from "./slots.ts"
import { next, type StageError } from "./stage.ts"

/** What is told between the phases. The hooks of the plain form do nothing. */
export interface Hooks {
  readonly started: (passage: Passage) => void
  /** Before the nodes of a request phase. */
  readonly entering: (passage: Passage, site: RequestSite) => void
  /** After the nodes of a request phase, when none of them stopped the request. */
  readonly passed: (passage: Passage, site: RequestSite) => void
  readonly selected: (passage: Passage, selection: Selection) => void
  readonly calling: (passage: Passage, backend: Backend) => void
  /** The backend answered, or failed to. */
  readonly called: (passage: Passage, error: StageError | undefined) => void
  /** The attempt is let go of, and another one follows in so many milliseconds. */
  readonly repeating: (passage: Passage, error: StageError | undefined, delay: number) => void
  /** After the nodes of the backend response. */
  readonly ready: (passage: Passage) => void
  /** The answer as it leaves. */
  readonly final: (passage: Passage, error: StageError | undefined) => void
}

const noTunnel = new NoTunnel()

const release = (body: Body): void => {
  if (isSource(body)) body.cancel()
}

const nothing = () => {}
export const noHooks: Hooks = {
  started: nothing,
  entering: nothing,
  passed: nothing,
  selected: nothing,
  calling: nothing,
  called: nothing,
  repeating: nothing,
  ready: nothing,
  final: nothing
}

/** Serves one request on a listener. Never fails: whatever goes wrong is an answer, unless the fiber is interrupted. */
export type Serve = (passage: Passage, listener: Listener | StageError) => Effect.Effect<Answer>

/** The end of that way alone: a request that the proxy itself makes of a backend. Never fails either. */
export type Reach = (passage: Passage, backend: Backend) => Effect.Effect<Answer>

type Making<Way> = (loop: Loop, hooks: Hooks, clock: () => number, defects: (defect: Defect) => void) => Way

export const makeServe: Making<Serve> = (...parts) => makeWays(...parts).serve
export const makeReach: Making<Reach> = (...parts) => makeWays(...parts).reach

const makeWays: Making<{ readonly serve: Serve; readonly reach: Reach }> = (loop, hooks, clock, defects) => {
  const serve: Serve = (p, listener) => {
    hooks.started(p)
    if ("_tag" in listener) return refuse(p, listener, [])
    p.listener = listener
    hooks.entering(p, "gateway")
    return after(loop(listener.steps, p, 0), p, listener.response, () => {
      hooks.passed(p, "gateway")
      return routing(p, listener)
    })
  }

  const routing = (p: Passage, listener: Listener): Effect.Effect<Answer> => {
    const selection = listener.select(p.exchange)
    const route = selection.route
    p.route = route
    p.exchange.matchedPrefix = selection.prefix
    hooks.selected(p, selection)
    if (route === undefined) return refuse(p, selection.failure ?? new NotFound({ what: "route" }), listener.response)
    hooks.entering(p, "route")
    const outcome = loop(route.steps, p, 0)
    return outcome === next ? passedRoute(p, route) : after(outcome, p, route.response, () => passedRoute(p, route))
  }

  const passedRoute = (p: Passage, route: Route): Effect.Effect<Answer> => {
    hooks.passed(p, "route")
    const made = route.plan ?? p.exchange.get(planned)
    const plan = made ?? route.elsewhere
    if (plan !== undefined) p.attempts = new Attempts(plan, made === undefined, p)
    return attempting(p, route)
  }

  const attempting = (p: Passage, route: Route): Effect.Effect<Answer> => {
    const { attempts } = p
    attempts?.begin(p)
    const backend = attempts?.backend ?? route.choose(p.exchange)
    if ("_tag" in backend) {
      attempts?.settle()
      return refuse(p, backend, route.response)
    }
    attempts?.goTo(backend)
    return reach(p, backend)
  }

  const reach: Reach = (p, backend) => {
    p.backend = backend
    hooks.entering(p, "backend")
    if (p.exchange.request.method === "CONNECT" && (backend.protocol === "llm" || backend.protocol === "mcp"))
      return refuse(p, noTunnel, backend.response)
    const outcome = loop(backend.steps, p, 0)
    return outcome === next
      ? calling(p, backend)
      : after(outcome, p, backend.response, () => calling(p, backend), backend)
  }

  const calling = (p: Passage, backend: Backend): Effect.Effect<Answer> => {
    hooks.passed(p, "backend")
    hooks.calling(p, backend)
    p.called = clock()
    let call: Effect.Effect<Answer, StageError>
    try {
      call = backend.call(p.exchange, p)
    } catch (cause) {
      call = Exit.die(cause)
    }
    if (backend.beside !== undefined) return accompanied(p, backend, call, backend.beside)
    if (Exit.isExit(call)) return answered(p, backend, call as Exit.Exit<Answer, StageError>)
    return Effect.matchCauseEffect(inTime(p, backend, call), {
      onFailure: (cause) => answered(p, backend, Exit.failCause(cause)),
      onSuccess: (answer) => answered(p, backend, Exit.succeed(answer))
    })
  }

  const inTime = (p: Passage, { keepsTime }: Backend, call: Effect.Effect<Answer, StageError>) =>
    keepsTime === true ? call : within(p.exchange, clock, call)

  /** A call beside which nodes run. */
  const accompanied = (
    p: Passage,
    backend: Backend,
    call: Effect.Effect<Answer, StageError>,
    steps: ReadonlyArray<Step>
  ): Effect.Effect<Answer> => {
    const beside = new Beside(clock)
    p.beside = beside
    p.exchange.onFinish(() => beside.end())
    return Effect.flatMap(beside.race(inTime(p, backend, call), steps, p, loop), (exit) => {
      const stop = beside.takeStop()
      if (stop === undefined) return answered(p, backend, exit!)
      p.answered = clock()
      hooks.called(p, callStopped)
      return stopped(p, backend, stop)
    })
  }

  /** A node beside the call has the last word on this attempt. */
  const stopped = (p: Passage, backend: Backend, stop: Stop): Effect.Effect<Answer> =>
    after(stop, p, backend.response, () => Effect.interrupt, backend)

  const answered = (p: Passage, backend: Backend, exit: Exit.Exit<Answer, StageError>): Effect.Effect<Answer> => {
    p.answered = clock()
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
      const error = failure(exit.cause)
      p.beside?.end()
      hooks.called(p, error)
      return ended(p, backend, error)
    }
    p.exchange.response = exit.value
    hooks.called(p, undefined)
    const { beside } = p
    return beside === undefined ? passedCall(p, backend) : awaited(p, backend, beside)
  }

  /** The answer waits for those nodes beside the call that are not sure of it yet. */
  const awaited = (p: Passage, backend: Backend, beside: Beside): Effect.Effect<Answer> =>
    Effect.flatMap(beside.passed, () => {
      const stop = beside.takeStop()
      if (stop !== undefined) return stopped(p, backend, stop)
      const { response } = p.exchange
      response!.body = beside.watched(response!.body)
      return passedCall(p, backend)
    })

  const passedCall = (p: Passage, backend: Backend): Effect.Effect<Answer> => {
    if (backend.afterwards !== undefined) p.afterwards = afterwards(p, backend.afterwards)
    if (backend.backendResponse.length === 0) return ended(p, backend, undefined)
    const outcome = loop(backend.backendResponse, p, 0)
    return outcome === next
      ? ended(p, backend, undefined)
      : after(outcome, p, backend.response, () => ended(p, backend, undefined), backend)
  }

  /** The answer is on its way: what nodes refuse now cuts it off, and is told as the failure of its request. */
  const afterwards = (p: Passage, steps: ReadonlyArray<Step>): Effect.Effect<StageError | undefined> =>
    Effect.map(Effect.exit(Effect.suspend(() => loop(steps, p, 0, true))), (exit) => {
      if (Exit.isSuccess(exit) && exit.value === undefined) return undefined
      const error = Exit.isSuccess(exit) ? callStopped : failure(exit.cause)
      p.exchange.error = error
      return error
    })

  /** An attempt came to an answer or to a failure: that is what the client is told, unless another one follows. */
  const ended = (p: Passage, backend: Backend, error: StageError | undefined): Effect.Effect<Answer> => {
    const { attempts } = p
    if (attempts !== undefined) {
      const delay = again(attempts, p, error)
      if (typeof delay === "number") return repeated(p, error, delay)
      attempts.settle()
      if (delay !== undefined) return refuse(p, delay, backend.response)
    }
    if (error !== undefined) return refuse(p, error, backend.response)
    hooks.ready(p)
    return finishing(p, backend.response, 0, undefined)
  }

  /** Milliseconds until the next attempt, or why it cannot be waited for; a plan that throws is a defect like any other. */
  const again = (
    attempts: Attempts,
    p: Passage,
    error: StageError | undefined
  ): number | Defect | TimedOut | undefined => {
    try {
      return attempts.again(p, error, clock())
    } catch (cause) {
      const defect = new Defect({ cause })
      defects(defect)
      return defect
    }
  }

  /** Lets go of an attempt, and of everything that was made for it. */
  const repeated = (p: Passage, error: StageError | undefined, delay: number): Effect.Effect<Answer> => {
    const { exchange } = p
    hooks.repeating(p, error, delay)
    const { response, requestBody } = exchange
    release(response?.body)
    release(requestBody)
    const dropped = { status: response?.status, failure: error?.message ?? "another attempt was made", bytes: 0 }
    exchange.finish(dropped, (cause) => defects(new Defect({ cause })))
    const next = () => attempting(p, p.route!)
    return delay > 0 ? Effect.flatMap(Effect.sleep(delay), next) : Effect.suspend(next)
  }

  /** Goes on when a phase let the request pass; else answers with what it said. In the backend phases that ends an attempt. */
  const after = (
    outcome: PhaseOutcome,
    p: Passage,
    response: ReadonlyArray<Step>,
    onward: () => Effect.Effect<Answer>,
    backend?: Backend
  ): Effect.Effect<Answer> => {
    if (outcome === next) return onward()
    if (!Exit.isExit(outcome))
      return Effect.flatMap(Effect.exit(outcome), (exit) => after(exit, p, response, onward, backend))
    const exit = outcome as Exit.Exit<Answer | undefined, StageError>
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
      const error = failure(exit.cause)
      return backend === undefined ? refuse(p, error, response) : ended(p, backend, error)
    }
    if (exit.value === undefined) return onward()
    p.attempts?.settle()
    replace(p.exchange, exit.value)
    return finishing(p, response, 0, undefined)
  }

  const failure = (cause: Cause.Cause<StageError>): StageError => {
    const error = errorOf(cause) ?? new Defect({ cause: Cause.squash(cause) })
    if (error instanceof Defect) defects(error)
    return error
  }

  const refuse = (p: Passage, error: StageError, response: ReadonlyArray<Step>): Effect.Effect<Answer> => {
    fail(p.exchange, error)
    return finishing(p, response, 0, error)
  }

  const fail = (x: Exchange, error: StageError): void => {
    x.error = error
    replace(x, render(error, x.request))
  }

  /** Nobody will read the body of an answer that is replaced, unless the new one has it too. */
  const replace = (x: Exchange, answer: Answer): void => {
    const body = x.response?.body
    if (body !== answer.body) release(body)
    x.response = answer
  }

  /** Runs the response nodes from `from` on. One that fails replaces the answer; those after it still run. */
  const finishing = (
    p: Passage,
    steps: ReadonlyArray<Step>,
    from: number,
    error: StageError | undefined
  ): Effect.Effect<Answer> => {
    if (steps.length === 0) return sealed(p, error)
    const outcome = loop(steps, p, from)
    if (outcome === next) return sealed(p, error)
    const conclude = (exit: Exit.Exit<Answer | undefined, StageError>): Effect.Effect<Answer> => {
      if (Exit.isFailure(exit)) {
        if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
        const failed = failure(exit.cause)
        fail(p.exchange, failed)
        return finishing(p, steps, p.stoppedAt + 1, failed)
      }
      if (exit.value === undefined) return sealed(p, error)
      replace(p.exchange, exit.value)
      return finishing(p, steps, p.stoppedAt + 1, error)
    }
    return Exit.isExit(outcome)
      ? conclude(outcome as Exit.Exit<Answer | undefined, StageError>)
      : Effect.flatMap(Effect.exit(outcome), conclude)
  }

  /** Nothing of the answer has left yet: what a node beside the call says stands in its place. */
  const replaced = (x: Exchange, stop: Stop): StageError | undefined => {
    if (Exit.isSuccess(stop)) {
      replace(x, stop.value)
      return undefined
    }
    const error = failure(stop.cause)
    fail(x, error)
    return error
  }

  /** What was queued for any answer overwrites what the answer has, but on what it depends is the sum of both. */
  const sealed = (p: Passage, failed: StageError | undefined): Effect.Effect<Answer> => {
    const stop = p.beside?.takeStop()
    const error = stop === undefined ? failed : replaced(p.exchange, stop)
    const { response: answer, answerHeaders } = p.exchange
    const queued = answerHeaders.flat
    for (let i = 0; i < queued.length; i += 2) {
      if (queued[i] === "vary") addVary(answer!.headers, queued[i + 1]!)
      else answer!.headers.set(queued[i]!, queued[i + 1]!)
    }
    // Calls of gRPC are POSTs: others are not looked through.
    if (p.exchange.request.method === "POST") rememberGrpcStatus(p.exchange, answer!)
    hooks.final(p, error)
    return Exit.succeed(answer!)
  }

  return { serve, reach }
}
