/** What a finished call still owes to, or gets back from, the limits that were charged at its admission. */
import { inputTokens, type Usage } from "../usage/usage.ts"

/**
 * Tokens to charge on top of `charged`; negative is a refund. Input that the response does not state stays at what was charged, so an
 * aborted call without any usage owes nothing more.
 */
export const settlement = (charged: number, usage: Usage | undefined): number => {
  if (usage === undefined) return 0
  const input = usage.input === undefined ? charged : inputTokens(usage)
  return input - charged + (usage.output ?? 0)
}
