/** What the terminals for models see of an exchange, and which slots they read. */
import type { OpenCall } from "../../src/balance/endpoint-health.ts"
import { slot, slots } from "../../src/policy/policy.ts"
import type { Call } from "../../src/policy/terminal.ts"
import type { Prepared } from "./request.ts"

/** What the preparation of a request leaves for its call and its answer. */
export const preparedCall = slot<Prepared>()("llmCall", "attempt")

/** The call as the balancing between endpoints sees it. */
export const openCall = slot<OpenCall>()("llmOpenCall", "attempt")

export const reads = [
  ...slots.expressionSlots,
  slots.affinity,
  slots.modelAccess,
  slots.timeouts,
  slots.tokenBudgets
] as const

export type ModelSlots = (typeof reads)[number] | typeof preparedCall | typeof openCall

export type Exchange = Call<ModelSlots>
