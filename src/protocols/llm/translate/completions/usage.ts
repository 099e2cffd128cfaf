/** Usage of chat completions, both ways. */
import type { CompletionsUsage } from "../../formats/completions.ts"
import { defined, isObject, numberAt, objectAt } from "../../formats/json.ts"
import type { Usage } from "../reply.ts"

/** Providers that count cache apart from the input have it repeated in their own words, and their input stays as they said it. */
export const encodeUsage = (usage: Usage): CompletionsUsage => {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage
  const apart = !usage.cacheInInput
  return defined({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: usage.total ?? input + output,
    cache_read_input_tokens: apart ? cacheRead : undefined,
    cache_creation_input_tokens: apart ? cacheWrite : undefined,
    prompt_tokens_details:
      cacheRead === undefined && cacheWrite === undefined
        ? undefined
        : defined({ cached_tokens: cacheRead, cache_write_tokens: cacheWrite }),
    completion_tokens_details: reasoning === undefined ? undefined : { reasoning_tokens: reasoning }
  })
}

export const decodeUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const input = objectAt(usage, "prompt_tokens_details") ?? {}
  const output = objectAt(usage, "completion_tokens_details") ?? {}
  return {
    input: numberAt(usage, "prompt_tokens") ?? 0,
    output: numberAt(usage, "completion_tokens") ?? 0,
    total: numberAt(usage, "total_tokens"),
    cacheRead: numberAt(input, "cached_tokens") ?? numberAt(usage, "cache_read_input_tokens"),
    cacheWrite: numberAt(input, "cache_write_tokens") ?? numberAt(usage, "cache_creation_input_tokens"),
    reasoning: numberAt(output, "reasoning_tokens"),
    cacheInInput: true
  }
}
