/** How long calls of other servers take, by who makes them and what is asked: for every call, watched or not. */
import { Context } from "effect"
import type { Metrics, Series } from "../services/metrics.ts"
import type { Passage } from "./passage.ts"
import { durations } from "./record.ts"

/** `Primary`: what a route leads to. `Policy`: what a stage asks on the way. */
type CallKind = "Primary" | "Policy"
type CallSubtype = "Guardrail" | "Http" | "Llm" | "Mcp" | "Mirror"

/** Where the durations of a kind of call are observed, in seconds. */
export type CallTimes = (kind: CallKind, subtype: CallSubtype) => Series

const unobserved: Series = { record: () => {} }

/** Asked when a configuration is compiled. Without a process around it, nothing is observed. */
export const CallTimes = Context.Reference<CallTimes>("headgate/pipeline/CallTimes", {
  defaultValue: () => () => unobserved
})

export const callTimes = (metrics: Metrics["Service"]): CallTimes => {
  const family = metrics.histogram(
    "upstream_call_duration_seconds",
    "Calls of other servers, up to the head of the answer of a backend, and to the end of any other answer.",
    ["kind", "subtype"],
    durations
  )
  return (kind, subtype) => {
    // What is never called is not listed.
    let series: Series | undefined
    return {
      record: (value) => {
        series ??= family.series([kind, subtype])
        series.record(value)
      }
    }
  }
}

/** What a stage asks another server for. */
export type Purpose = "guardrail" | "http" | "mirror"
const subtypes = { guardrail: "Guardrail", http: "Http", mirror: "Mirror" } as const satisfies Record<
  Purpose,
  CallSubtype
>

export const timeOf = (times: CallTimes, purpose: Purpose): Series => times("Policy", subtypes[purpose])

/** Times the calls of the engine. A relay times its own, and a backend that was given up on counts by how long it was waited for. */
export const primaryCalls = (times: CallTimes, clock: () => number) => {
  const http = times("Primary", "Http")
  const llm = times("Primary", "Llm")
  const record = ({ backend, called }: Passage, until: number): void => {
    if (backend === undefined || called === undefined || backend.protocol === "mcp") return
    const series = backend.protocol === "llm" ? llm : http
    series.record((until - called) / 1000)
  }
  return {
    /** The backend of the attempt under way answered, or failed to. */
    called: (passage: Passage): void => record(passage, passage.answered!),
    /** The request is over. */
    over: (passage: Passage): void => {
      if (passage.answered === undefined) record(passage, clock())
    }
  }
}
