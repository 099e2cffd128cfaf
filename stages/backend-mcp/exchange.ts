/** What the terminal for MCP servers sees of an exchange, and which slots it reads. */
import { credentialHeaders, expressionSlots, type mcpCall, mcpRules, timeouts } from "../../src/pipeline/slots.ts"
import type { Call } from "../../src/pipeline/terminal.ts"

export const reads = [...expressionSlots, credentialHeaders, mcpRules, timeouts] as const

export type Exchange = Call<(typeof reads)[number] | typeof mcpCall>
