/** What the terminals for models see of an exchange, and which slots they read. */
import { slot, slots } from "../../src/policy/policy.ts"
import type { Call } from "../../src/policy/terminal.ts"

/** The call of a model, as far as its nodes have brought it. */
export const modelCall = slot<object>()("llmCall", "attempt")

export const reads = [
  ...slots.expressionSlots,
  slots.affinity,
  slots.modelAccess,
  slots.timeouts,
  slots.tokenBudgets
] as const

export type ModelSlots = (typeof reads)[number] | typeof modelCall

export type Exchange = Call<ModelSlots>
