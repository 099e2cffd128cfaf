/** Usage of Bedrock Converse, which counts cache reads and writes apart from the input. */
import { isObject, numberAt } from "../../formats/json.ts"
import type { Usage } from "../reply.ts"

export const decodeUsage = (usage: unknown): Usage | undefined =>
  isObject(usage)
    ? {
        input: numberAt(usage, "inputTokens") ?? 0,
        output: numberAt(usage, "outputTokens") ?? 0,
        total: numberAt(usage, "totalTokens"),
        cacheRead: numberAt(usage, "cacheReadInputTokens"),
        cacheWrite: numberAt(usage, "cacheWriteInputTokens"),
        reasoning: undefined,
        cacheInInput: false
      }
    : undefined
