/** What the terminals for models see of an exchange, and which slots they read. */
import { slot, slots } from "../../src/policy/policy.ts"
import type { Call } from "../../src/policy/terminal.ts"
import type { Prepared } from "./request.ts"

/** What the preparation of a request leaves for its call and its answer. */
export const preparedCall = slot<Prepared>()("llmCall", "attempt")

export const reads = [...slots.expressionSlots, slots.modelAccess, slots.timeouts, slots.tokenBudgets] as const

export type ModelSlots = (typeof reads)[number] | typeof preparedCall

export type Exchange = Call<ModelSlots>
