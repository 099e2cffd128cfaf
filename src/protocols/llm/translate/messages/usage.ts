/** Usage of Anthropic messages, both ways. */
import { defined, isObject, numberAt } from "../../formats/json.ts"
import type { MessagesUsage } from "../../formats/messages.ts"
import type { Usage } from "../reply.ts"

/** This API counts cache reads and writes apart from the input. */
export const encodeUsage = (usage: Usage | undefined, serviceTier?: string): MessagesUsage => {
  if (usage === undefined) return { input_tokens: 0, output_tokens: 0 }
  const { cacheRead, cacheWrite } = usage
  const apart = usage.cacheInInput ? (cacheRead ?? 0) + (cacheWrite ?? 0) : 0
  return defined({
    input_tokens: Math.max(0, usage.input - apart),
    output_tokens: usage.output,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    service_tier: serviceTier
  })
}

/** `before`: the counts of an earlier event of the same stream, which stand where this one is silent. */
export const decodeUsage = (usage: unknown, before?: Usage): Usage | undefined =>
  isObject(usage)
    ? {
        input: numberAt(usage, "input_tokens") ?? before?.input ?? 0,
        output: numberAt(usage, "output_tokens") ?? before?.output ?? 0,
        total: undefined,
        cacheRead: numberAt(usage, "cache_read_input_tokens") ?? before?.cacheRead,
        cacheWrite: numberAt(usage, "cache_creation_input_tokens") ?? before?.cacheWrite,
        reasoning: undefined,
        cacheInInput: false
      }
    : before
