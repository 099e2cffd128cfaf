/** What the terminal for MCP servers sees of an exchange, and which slots it reads. */
import { slots } from "../../src/policy/policy.ts"
import type { Call } from "../../src/policy/terminal.ts"

export const reads = [
  ...slots.expressionSlots,
  slots.credentialHeaders,
  slots.mcpRules,
  slots.shownCredentials,
  slots.timeouts
] as const

export type McpSlots = (typeof reads)[number] | typeof slots.mcpCall

export type Exchange = Call<McpSlots>
