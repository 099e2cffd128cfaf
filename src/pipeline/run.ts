/**
 * The per-request loop over the nodes of a phase. A node that answers at once costs one call and one comparison; the
 * first one that has to wait turns the rest of the phase into an ordinary Effect. Observation is a second loop, chosen
 * per request, so that the plain one has no branch for it.
 */
import { Cause, Effect, Exit, Option } from "effect"
import { within } from "./deadline.ts"
import { Defect } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import type { Latency } from "./latency.ts"
import { WatchCalls } from "./outbound.ts"
import type { Passage } from "./passage.ts"
import type { Site } from "./site.ts"
import type { timeouts } from "./slots.ts"
import {
  type AnySlot,
  type ConfigPath,
  next,
  type OutcomeKind,
  type Phase,
  type StageError,
  type Verdict
} from "./stage.ts"
import type { Reading } from "./view.ts"
import type { Watch } from "./watch.ts"

/** What is on its way through the nodes: a request, or a connection. */
export interface Traveller {
  /** What policies see of it. */
  readonly exchange: Pick<Exchange, "arrived"> & Reading<typeof timeouts>
  /** The index of the step at which a loop last stopped with an answer or a failure. */
  stoppedAt: number
  readonly watch: Pick<Watch, "outbound"> | undefined
}

/** What a step does. Policies see the message alone; what ends a route sees the passage, too. */
export type StepRun<T extends Traveller = Passage> = (
  exchange: T["exchange"],
  passage: T
) => Effect.Effect<Verdict, StageError>

/** A node of a policy, compiled into its place. */
export interface Step<T extends Traveller = Passage> {
  readonly policy: string
  readonly node: string
  readonly site: Site
  readonly phase: Phase
  /** The configuration that it was compiled from. */
  readonly path: ConfigPath
  readonly failOpen: boolean
  readonly run: StepRun<T>
  /** What it can make of a request here: what its policy declares, and what its condition adds. */
  readonly outcomes: ReadonlyArray<OutcomeKind>
  readonly reads: ReadonlyArray<AnySlot>
  readonly writes: ReadonlyArray<AnySlot>
  readonly condition: string | undefined
  readonly holds: ((exchange: T["exchange"], passage: T) => boolean) | undefined
  /** Beside the call: whether the answer waits for it. Default: it does. */
  readonly answerWaits?: boolean | undefined
  readonly latency: Latency
}

/** What tells a step, and where it was configured. */
export type StepName = Pick<Step, "policy" | "phase" | "node" | "path">

/** Milliseconds with fractions, from a clock that never goes back. */
export type MonotonicClock = () => number

export type PhaseOutcome = Effect.Effect<Verdict, StageError>

/**
 * Runs the nodes of a phase from the one at `from` on.
 * @param afterwards whether they run once more, when the phases are over: then the answer has begun, and the time of the request is not theirs.
 */
export type Loop<T extends Traveller = Passage> = (
  steps: ReadonlyArray<Step<T>>,
  passage: T,
  from: number,
  afterwards?: boolean | undefined
) => PhaseOutcome

/** What the observed loop tells about each node. */
export interface StageFinished<T extends Traveller = Passage> {
  readonly step: Step<T>
  /** Milliseconds on the monotonic clock. */
  readonly start: number
  readonly end: number
  readonly outcome: "next" | "responded" | "failed" | "failedOpen" | "skipped"
  readonly error: StageError | undefined
  /** Whether the node ran once more, when the phases were over. */
  readonly afterwards: boolean
}

/** The declared error of a failed exit; a throw is a defect. `undefined` when the fiber was interrupted. */
export const errorOf = (cause: Cause.Cause<StageError>): StageError | undefined => {
  if (Cause.hasDies(cause)) return new Defect({ cause: Cause.squash(cause) })
  return Option.getOrUndefined(Cause.findErrorOption(cause))
}

/**
 * failOpen forgives declared errors only: defects, interruptions, and what was decided or could not be decided (the end of the request's
 * time, what a decision could not read or had no room to), always get through.
 */
const forgiven = <T extends Traveller>(step: Step<T>, exit: Exit.Exit<Verdict, StageError>): boolean => {
  if (!step.failOpen || Exit.isSuccess(exit) || Cause.hasDies(exit.cause)) return false
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error !== undefined && error.unforgiven !== true
}

/** What was thrown is never a declared failure, so that no policy fails open on a bug. */
const defect = (cause: unknown): Exit.Exit<Verdict, StageError> => Exit.die(cause)

/** The loop for requests that nobody watches. */
export const plainLoop = <T extends Traveller = Passage>(clock: MonotonicClock): Loop<T> => {
  const loop: Loop<T> = (steps, passage, from, afterwards = false) => {
    if (steps.length === 0) return next
    const { exchange } = passage
    let started = clock()
    let i = from
    try {
      for (; i < steps.length; i++) {
        const step = steps[i]!
        if (step.holds !== undefined && !step.holds(exchange, passage)) continue
        const effect = step.run(exchange, passage)
        if (effect !== next) {
          if (!Exit.isExit(effect)) return awaited(effect, steps, passage, i, started, afterwards)
          const settled = settle(step, effect as Exit.Exit<Verdict, StageError>)
          if (settled !== next) {
            step.latency.record(clock() - started)
            stopped(passage, step, i, afterwards)
            return settled
          }
        }
        const now = clock()
        step.latency.record(now - started)
        started = now
      }
    } catch (cause) {
      stopped(passage, steps[i]!, i, afterwards)
      return defect(cause)
    }
    return next
  }
  const awaited = (
    effect: PhaseOutcome,
    steps: ReadonlyArray<Step<T>>,
    passage: T,
    i: number,
    started: number,
    afterwards: boolean
  ): PhaseOutcome =>
    Effect.flatMap(Effect.exit(inTime(effect, steps[i]!, passage, clock, afterwards)), (exit) => {
      const step = steps[i]!
      step.latency.record(clock() - started)
      const settled = settle(step, exit)
      if (settled === next) return loop(steps, passage, i + 1, afterwards)
      stopped(passage, step, i, afterwards)
      return settled
    })
  return loop
}

/** A node beside the call, or afterwards, runs when others do: where these stopped is not for it to say. */
const stopped = <T extends Traveller>(passage: T, { phase }: Step<T>, i: number, afterwards: boolean): void => {
  if (phase !== "call" && !afterwards) passage.stoppedAt = i
}

/** What a node waits for takes no longer than its request may, unless nothing waits for the node. */
const inTime = <T extends Traveller>(
  effect: PhaseOutcome,
  step: Step<T>,
  { exchange }: T,
  clock: MonotonicClock,
  afterwards: boolean
): PhaseOutcome => (afterwards || step.answerWaits === false ? effect : within(exchange, clock, effect))

const settle = <T extends Traveller>(
  step: Step<T>,
  exit: Exit.Exit<Verdict, StageError>
): Exit.Exit<Verdict, StageError> => {
  if (Exit.isSuccess(exit)) return exit.value === undefined ? next : exit
  if (!forgiven(step, exit)) return exit
  step.latency.failedOpen++
  return next
}

/** What a node waits for, with the calls that it makes told as its own. */
const watched = <T extends Traveller>(effect: PhaseOutcome, { watch }: T, step: Step<T>): PhaseOutcome =>
  watch === undefined ? effect : Effect.provideService(effect, WatchCalls, (call) => watch.outbound(call, step))

/** The same meaning, plus one event for each node. */
export const observedLoop = <T extends Traveller = Passage>(
  clock: MonotonicClock,
  tell: (passage: T, event: StageFinished<T>) => void
): Loop<T> => {
  const conclude = (
    passage: T,
    step: Step<T>,
    start: number,
    exit: Exit.Exit<Verdict, StageError>,
    afterwards: boolean
  ) => {
    const end = clock()
    step.latency.record(end - start)
    const settled = settle(step, exit)
    const outcome = Exit.isFailure(exit)
      ? settled === next
        ? "failedOpen"
        : "failed"
      : settled === next
        ? "next"
        : "responded"
    const error = Exit.isFailure(exit) ? errorOf(exit.cause) : undefined
    tell(passage, { step, start, end, outcome, error, afterwards })
    return settled
  }
  const loop: Loop<T> = (steps, passage, from, afterwards = false) => {
    const { exchange } = passage
    for (let i = from; i < steps.length; i++) {
      const step = steps[i]!
      const start = clock()
      let effect: PhaseOutcome
      try {
        if (step.holds !== undefined && !step.holds(exchange, passage)) {
          tell(passage, { step, start, end: clock(), outcome: "skipped", error: undefined, afterwards })
          continue
        }
        effect = step.run(exchange, passage)
      } catch (cause) {
        effect = defect(cause)
      }
      if (!Exit.isExit(effect)) {
        const told = inTime(watched(effect, passage, step), step, passage, clock, afterwards)
        return Effect.flatMap(Effect.exit(told), (exit) => {
          const settled = conclude(passage, step, start, exit, afterwards)
          if (settled === next) return loop(steps, passage, i + 1, afterwards)
          stopped(passage, step, i, afterwards)
          return settled
        })
      }
      const settled = conclude(passage, step, start, effect as Exit.Exit<Verdict, StageError>, afterwards)
      if (settled === next) continue
      stopped(passage, step, i, afterwards)
      return settled
    }
    return next
  }
  return loop
}
