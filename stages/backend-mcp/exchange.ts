/** What the terminal for MCP servers sees of an exchange, and which slots it reads. */
import { credentialHeaders, expressionSlots, mcpRules, timeouts } from "../../src/pipeline/slots.ts"
import type { Call } from "../../src/pipeline/terminal.ts"

export const reads = [...expressionSlots, credentialHeaders, mcpRules, timeouts] as const

export type McpSlots = (typeof reads)[number]

export type Exchange = Call<McpSlots>
