/** What the terminals for models see of an exchange, and which slots they read. */
import { expressionSlots, modelAccess, timeouts, tokenBudgets } from "../../src/pipeline/slots.ts"
import { slot } from "../../src/pipeline/stage.ts"
import type { Call } from "../../src/pipeline/terminal.ts"
import type { Prepared } from "./request.ts"

/** What the preparation of a request leaves for its call and its answer. */
export const preparedCall = slot<Prepared>()("llmCall")

export const reads = [...expressionSlots, modelAccess, timeouts, tokenBudgets] as const

export type ModelSlots = (typeof reads)[number] | typeof preparedCall

export type Exchange = Call<ModelSlots>
