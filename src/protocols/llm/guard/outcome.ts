/** What a guard's finding leads to: enforcement, audit and failure modes in one place for all kinds of guards. */
import type { JsonObject } from "../formats/json.ts"

/** An answer of the guard's own in place of the provider's. */
export interface GuardAnswer {
  readonly status: number
  readonly body: string
  /** No content type is set unless configuration does. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
}

/** What one evaluation found. `fatal` failures are not forgiven by failing open. */
export type Finding =
  | { readonly type: "pass" }
  | { readonly type: "mask"; readonly body: JsonObject }
  | { readonly type: "reject"; readonly answer: GuardAnswer }
  | { readonly type: "failed"; readonly fatal: boolean }

/** How a guard is configured to act on what it finds. */
export interface Enforcement {
  /** Record what would have been done and change nothing. */
  readonly audit: boolean
  readonly failureMode: "failClosed" | "failOpen"
}

/** The action label of the check metric: exactly one per evaluation. */
export type GuardAction = "Allow" | "Mask" | "Reject" | "FailOpen" | "Audit"

/** What happens to the exchange, and what the metric says. */
export type GuardOutcome =
  | { readonly type: "continue"; readonly action: GuardAction }
  | { readonly type: "changed"; readonly body: JsonObject; readonly action: GuardAction }
  | { readonly type: "answered"; readonly answer: GuardAnswer; readonly action: GuardAction }
  /** The guard failed and fails closed: the exchange ends with an error of the proxy. */
  | { readonly type: "failed"; readonly action: GuardAction }

/** The answer of a rejection that configuration says nothing about. */
export const defaultRejection: GuardAnswer = {
  status: 403,
  body: "request rejected due to inappropriate content",
  headers: []
}

const allowed: GuardOutcome = { type: "continue", action: "Allow" }
const audited: GuardOutcome = { type: "continue", action: "Audit" }
const failedOpen: GuardOutcome = { type: "continue", action: "FailOpen" }
const failedClosed: GuardOutcome = { type: "failed", action: "Reject" }

/** A failure counts even in audit: a guard that fails closed stops what it could not look at. */
export const enforce = (finding: Finding, { audit, failureMode }: Enforcement): GuardOutcome => {
  switch (finding.type) {
    case "pass":
      return allowed
    case "failed":
      return failureMode === "failOpen" && !finding.fatal ? failedOpen : failedClosed
    case "mask":
      return audit ? audited : { type: "changed", body: finding.body, action: "Mask" }
    case "reject":
      return audit ? audited : { type: "answered", answer: finding.answer, action: "Reject" }
  }
}
