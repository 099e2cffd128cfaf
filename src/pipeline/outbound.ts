/**
 * Calls that are made for one request beside the one of the engine: those of a stage, which asks another server, and those of a
 * backend which is a relay of its own. Traces and spans tell each of them.
 */
import { Cause, Context, Effect, Exit, Option } from "effect"
import type { TraceContext } from "../http/trace-context.ts"
import type { Series } from "../services/metrics.ts"
import type { Purpose } from "./call-times.ts"
import { Defect } from "./errors.ts"

export interface OutboundCall {
  /** What its events carry to tell it from others: `guardrail`, or `mcp` and the target. */
  readonly scope: string
  /** The name of its span. */
  readonly name: string
  /** The address as far as it is known. */
  readonly target: string
  /** What is asked there, where its scope does not say it: as `tools/call search`. */
  readonly call?: string | undefined
  readonly attributes: Readonly<Record<string, string>>
}

export interface OutboundResult {
  /** The HTTP status, where the call has one. */
  readonly status: number | undefined
  /** Why it did not succeed. */
  readonly error: string | undefined
}

/** Watches one call. */
export interface OutboundWatch {
  /** The trace that the called server belongs to. */
  readonly context: TraceContext | undefined
  /** Called once. */
  readonly ended: (result: OutboundResult) => void
  /** A call that is made for this one. */
  readonly outbound: WatchCall
}

/** Whoever hears of calls is told of one that begins. */
export type WatchCall = (call: OutboundCall) => OutboundWatch

/**
 * Whoever is to hear of the calls that a fiber makes: set where a watched request waits for a stage, and handed on with the fiber to
 * whatever the stage starts.
 */
export const WatchCalls = Context.Reference<WatchCall | undefined>("headgate/pipeline/WatchCalls", {
  defaultValue: () => undefined
})

/** How calls of a stage are timed and told. */
export interface Telling<E> {
  readonly purpose: Purpose
  readonly time: Series
  readonly clock: () => number
  /** Why a call failed. Holds no secret. */
  readonly why: (error: E) => string
}

/** What a server is asked. */
interface AskedOf {
  readonly target: string
  readonly method: string
  readonly authority: string
  /** Without a query, which may hold anything. */
  readonly path: string
}

const described = (purpose: Purpose, { target, method, authority, path }: AskedOf): OutboundCall => ({
  scope: purpose,
  name: purpose,
  target,
  attributes: {
    "hg.outbound.kind": "policy",
    "hg.outbound.subtype": purpose,
    "http.method": method,
    "http.host": authority,
    "http.path": path
  }
})

/**
 * Makes a call of a stage: timed for every request, and told to whoever watches the one that it is made for.
 * @param make gets the trace that the called server belongs to, if there is one.
 */
export const toldCall = <A extends { readonly status: number }, E>(
  { purpose, time, clock, why }: Telling<E>,
  request: AskedOf,
  make: (context: TraceContext | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => {
    const began = clock()
    const watch = fiber.getRef(WatchCalls)?.(described(purpose, request))
    const made = make(watch?.context)
    const call = watch === undefined ? made : Effect.provideService(made, WatchCalls, watch.outbound)
    return Effect.onExit(call, (exit) =>
      Effect.sync(() => {
        time.record((clock() - began) / 1000)
        watch?.ended(resultOf(exit, why))
      })
    )
  })

const resultOf = <A extends { readonly status: number }, E>(
  exit: Exit.Exit<A, E>,
  why: (error: E) => string
): OutboundResult => {
  if (Exit.isSuccess(exit)) return { status: exit.value.status, error: undefined }
  const { cause } = exit
  if (Cause.hasDies(cause)) return { status: undefined, error: new Defect({ cause: Cause.squash(cause) }).message }
  const error = Cause.findErrorOption(cause)
  return { status: undefined, error: Option.isSome(error) ? why(error.value) : "the call was given up" }
}
