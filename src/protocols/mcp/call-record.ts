/** The record of upstream calls: facts for the access log, and the moments at which spans begin and end. */
import type { Context } from "effect"
import type { McpClock, McpFacts, McpObserver, McpUpstreamCall, TraceHeaders } from "./contract.ts"

/** One upstream call. */
export interface CallRecord {
  readonly call: McpUpstreamCall
  readonly trace: TraceHeaders | undefined
  /** What others are called with on behalf of this one, if somebody watches. */
  readonly context: Context.Context<never> | undefined
  /** Closes the record once; with the reason if the call did not succeed. */
  readonly end: (failure: CallFailure | undefined) => void
}

/** Why a call did not succeed. */
export interface CallFailure {
  readonly _tag?: string
  readonly status?: number
  readonly code?: number | undefined
  readonly message: string
}

/** Collects the upstream calls of one client request. */
export interface Ledger {
  readonly facts: McpFacts
  readonly begin: (target: string, method: string, name: string | undefined) => CallRecord
}

// The statuses of other failures are what the client is answered, not what the target said.
const failureFacts = ({ _tag, message, status, code }: CallFailure): McpUpstreamCall["failure"] => ({
  message,
  ...(_tag === "TargetStatus" && status !== undefined ? { status } : {}),
  ...(code === undefined ? {} : { code })
})

/** A ledger that writes to `facts` and tells `observer`. */
export const makeLedger = (facts: McpFacts, observer: McpObserver | undefined, clock: McpClock): Ledger => ({
  facts,
  begin: (target, method, name) => {
    const call: McpUpstreamCall = {
      target,
      method,
      name,
      startedAt: clock.now(),
      endedAt: undefined,
      failure: undefined
    }
    facts.calls.push(call)
    return {
      call,
      trace: observer?.started(call),
      context: observer?.within?.(call),
      end: (failure) => {
        if (call.endedAt !== undefined) return
        call.endedAt = clock.now()
        if (failure !== undefined) call.failure = failureFacts(failure)
        observer?.finished(call)
      }
    }
  }
})

/** Facts of a request of which nothing is known yet. */
export const noMcpFacts = (): McpFacts => ({
  method: undefined,
  sessionId: undefined,
  target: undefined,
  resourceType: undefined,
  name: undefined,
  result: undefined,
  errorCode: undefined,
  errorMessage: undefined,
  calls: []
})
