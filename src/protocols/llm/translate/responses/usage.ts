/** Usage of OpenAI responses, both ways. */
import { isObject, numberAt, objectAt } from "../../formats/json.ts"
import type { ResponsesUsage } from "../../formats/responses.ts"
import type { Usage } from "../reply.ts"

/** Some servers report no completion tokens but a total that has them. */
export const encodeUsage = ({ input, output, total, ...details }: Usage): ResponsesUsage => {
  const written = output === 0 && total !== undefined && total > 0 ? Math.max(0, total - input) : output
  const cached = details.cacheRead ?? 0
  return {
    input_tokens: input,
    input_tokens_details:
      details.cacheWrite === undefined
        ? { cached_tokens: cached }
        : { cached_tokens: cached, cache_write_tokens: details.cacheWrite },
    output_tokens: written,
    output_tokens_details: { reasoning_tokens: details.reasoning ?? 0 },
    total_tokens: total ?? input + written
  }
}

export const decodeUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const input = objectAt(usage, "input_tokens_details") ?? {}
  const output = objectAt(usage, "output_tokens_details") ?? {}
  return {
    input: numberAt(usage, "input_tokens") ?? 0,
    output: numberAt(usage, "output_tokens") ?? 0,
    total: numberAt(usage, "total_tokens"),
    cacheRead: numberAt(input, "cached_tokens"),
    cacheWrite: numberAt(input, "cache_write_tokens"),
    reasoning: numberAt(output, "reasoning_tokens"),
    cacheInInput: true
  }
}
