/**
 * The way of a request: gateway policies, route selection, route policies, backend policies, backend call, backend
 * response, response. Written once; the plain and the observed form differ in their loop and in their hooks alone.
 */
import { Cause, Effect, Exit } from "effect"
import { isSource } from "../http/body.ts"
import { addVary } from "../http/header-list.ts"
import type { Answer } from "../http/message.ts"
import { within } from "./deadline.ts"
import { Defect, NotFound } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import { render } from "./render.ts"
import type { Backend, Listener, Route, Selection } from "./route.ts"
import { errorOf, type Loop, type PhaseOutcome, type Step } from "./run.ts"
import { next, type Site, type StageError } from "./stage.ts"

/** What is told between the phases. The hooks of the plain form do nothing. */
export interface Hooks {
  readonly started: (exchange: Exchange) => void
  /** Before the nodes of a request phase. */
  readonly entering: (exchange: Exchange, site: Site) => void
  /** After the nodes of a request phase, when none of them stopped the request. */
  readonly passed: (exchange: Exchange, site: Site) => void
  readonly selected: (exchange: Exchange, selection: Selection) => void
  readonly calling: (exchange: Exchange, backend: Backend) => void
  /** The backend answered, or failed to. */
  readonly called: (exchange: Exchange, error: StageError | undefined) => void
  /** After the nodes of the backend response. */
  readonly ready: (exchange: Exchange) => void
  /** The answer as it leaves. */
  readonly final: (exchange: Exchange, error: StageError | undefined) => void
}

const nothing = () => {}
export const noHooks: Hooks = {
  started: nothing,
  entering: nothing,
  passed: nothing,
  selected: nothing,
  calling: nothing,
  called: nothing,
  ready: nothing,
  final: nothing
}

/** Serves one request on a listener. Never fails: whatever goes wrong is an answer, unless the fiber is interrupted. */
export type Serve = (exchange: Exchange, listener: Listener | undefined) => Effect.Effect<Answer>

export const makeServe = (loop: Loop, hooks: Hooks, clock: () => number, defects: (defect: Defect) => void): Serve => {
  const serve: Serve = (x, listener) => {
    hooks.started(x)
    if (listener === undefined) return refuse(x, new NotFound({ what: "listener" }), [])
    x.listener = listener
    hooks.entering(x, "gateway")
    return after(loop(listener.steps, x, 0), x, listener.response, () => {
      hooks.passed(x, "gateway")
      return routing(x, listener)
    })
  }

  const routing = (x: Exchange, listener: Listener): Effect.Effect<Answer> => {
    const selection = listener.select(x)
    const route = selection.route
    x.route = route
    x.matchedPrefix = selection.prefix
    hooks.selected(x, selection)
    if (route === undefined) return refuse(x, selection.failure ?? new NotFound({ what: "route" }), listener.response)
    hooks.entering(x, "route")
    const outcome = loop(route.steps, x, 0)
    return outcome === next ? passedRoute(x, route) : after(outcome, x, route.response, () => passedRoute(x, route))
  }

  const passedRoute = (x: Exchange, route: Route): Effect.Effect<Answer> => {
    hooks.passed(x, "route")
    const backend = route.choose(x)
    if ("_tag" in backend) return refuse(x, backend, route.response)
    x.backend = backend
    hooks.entering(x, "backend")
    const outcome = loop(backend.steps, x, 0)
    return outcome === next ? calling(x, backend) : after(outcome, x, backend.response, () => calling(x, backend))
  }

  const calling = (x: Exchange, backend: Backend): Effect.Effect<Answer> => {
    hooks.passed(x, "backend")
    hooks.calling(x, backend)
    x.called = clock()
    let call: Effect.Effect<Answer, StageError>
    try {
      call = backend.call(x)
    } catch (cause) {
      call = Exit.die(cause)
    }
    if (Exit.isExit(call)) return answered(x, backend, call as Exit.Exit<Answer, StageError>)
    return Effect.matchCauseEffect(backend.keepsTime === true ? call : within(x, clock, call), {
      onFailure: (cause) => answered(x, backend, Exit.failCause(cause)),
      onSuccess: (answer) => answered(x, backend, Exit.succeed(answer))
    })
  }

  const answered = (x: Exchange, backend: Backend, exit: Exit.Exit<Answer, StageError>): Effect.Effect<Answer> => {
    x.answered = clock()
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
      const error = failure(exit.cause)
      hooks.called(x, error)
      return refuse(x, error, backend.response)
    }
    x.response = exit.value
    hooks.called(x, undefined)
    if (backend.backendResponse.length === 0) {
      hooks.ready(x)
      return finishing(x, backend.response, 0, undefined)
    }
    return after(loop(backend.backendResponse, x, 0), x, backend.response, () => {
      hooks.ready(x)
      return finishing(x, backend.response, 0, undefined)
    })
  }

  /** Goes on when a phase let the request pass; else answers with what it said. */
  const after = (
    outcome: PhaseOutcome,
    x: Exchange,
    response: ReadonlyArray<Step>,
    onward: () => Effect.Effect<Answer>
  ): Effect.Effect<Answer> => {
    if (outcome === next) return onward()
    if (!Exit.isExit(outcome)) return Effect.flatMap(Effect.exit(outcome), (exit) => after(exit, x, response, onward))
    const exit = outcome as Exit.Exit<Answer | undefined, StageError>
    if (Exit.isFailure(exit)) {
      if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
      return refuse(x, failure(exit.cause), response)
    }
    if (exit.value === undefined) return onward()
    replace(x, exit.value)
    return finishing(x, response, 0, undefined)
  }

  const failure = (cause: Cause.Cause<StageError>): StageError => {
    const error = errorOf(cause) ?? new Defect({ cause: Cause.squash(cause) })
    if (error instanceof Defect) defects(error)
    return error
  }

  const refuse = (x: Exchange, error: StageError, response: ReadonlyArray<Step>): Effect.Effect<Answer> => {
    x.error = error
    replace(x, render(error, x))
    return finishing(x, response, 0, error)
  }

  /** Nobody will read the body of an answer that is replaced, unless the new one has it too. */
  const replace = (x: Exchange, answer: Answer): void => {
    const body = x.response?.body
    if (body !== answer.body && isSource(body)) body.cancel()
    x.response = answer
  }

  /** Runs the response nodes from `from` on. One that fails replaces the answer; those after it still run. */
  const finishing = (
    x: Exchange,
    steps: ReadonlyArray<Step>,
    from: number,
    error: StageError | undefined
  ): Effect.Effect<Answer> => {
    if (steps.length === 0) return sealed(x, error)
    const outcome = loop(steps, x, from)
    if (outcome === next) return sealed(x, error)
    const conclude = (exit: Exit.Exit<Answer | undefined, StageError>): Effect.Effect<Answer> => {
      if (Exit.isFailure(exit)) {
        if (Cause.hasInterruptsOnly(exit.cause)) return Effect.interrupt
        const failed = failure(exit.cause)
        x.error = failed
        replace(x, render(failed, x))
        return finishing(x, steps, x.stoppedAt + 1, failed)
      }
      if (exit.value === undefined) return sealed(x, error)
      replace(x, exit.value)
      return finishing(x, steps, x.stoppedAt + 1, error)
    }
    return Exit.isExit(outcome)
      ? conclude(outcome as Exit.Exit<Answer | undefined, StageError>)
      : Effect.flatMap(Effect.exit(outcome), conclude)
  }

  /** What was queued for any answer overwrites what the answer has, but on what it depends is the sum of both. */
  const sealed = (x: Exchange, error: StageError | undefined): Effect.Effect<Answer> => {
    const answer = x.response!
    const queued = x.answerHeaders.flat
    for (let i = 0; i < queued.length; i += 2) {
      if (queued[i] === "vary") addVary(answer.headers, queued[i + 1]!)
      else answer.headers.set(queued[i]!, queued[i + 1]!)
    }
    hooks.final(x, error)
    return Exit.succeed(answer)
  }

  return serve
}
