/** Usage of Gemini, whose prompt count includes cached tokens and whose answer count leaves thinking out. */
import { isObject, numberAt } from "../../formats/json.ts"
import type { Usage } from "../reply.ts"

export const decodeUsage = (usage: unknown): Usage | undefined => {
  if (!isObject(usage)) return undefined
  const thoughts = numberAt(usage, "thoughtsTokenCount")
  return {
    input: numberAt(usage, "promptTokenCount") ?? 0,
    output: (numberAt(usage, "candidatesTokenCount") ?? 0) + (thoughts ?? 0),
    total: numberAt(usage, "totalTokenCount"),
    cacheRead: numberAt(usage, "cachedContentTokenCount"),
    cacheWrite: undefined,
    reasoning: thoughts,
    cacheInInput: true
  }
}
