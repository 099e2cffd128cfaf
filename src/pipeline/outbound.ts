/**
 * Calls that a backend which is a relay of its own makes for one request: several, none, or more than one after the other.
 * Traces and spans tell each of them, beside the one call of the engine.
 */
import type { TraceContext } from "../http/trace-context.ts"

export interface OutboundCall {
  /** What its events carry to tell it from others: `mcp` and the target. */
  readonly scope: string
  /** The name of its span. */
  readonly name: string
  /** The address as far as it is known. */
  readonly target: string
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
}
