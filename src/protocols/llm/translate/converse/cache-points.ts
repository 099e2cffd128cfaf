/** Cache points that configuration, not the client, sets in a Converse request. */
import {
  type CachePoint,
  type ConverseMessage,
  type ConverseText,
  type ConverseTool,
  cachePoint
} from "../../formats/converse.ts"
import type { PromptCaching } from "../codec.ts"

/** Claude from version 3 on, Nova, and whatever stands behind an inference profile of one's own. */
const supportsCaching = (model: string): boolean => {
  if (model.includes(":application-inference-profile/") || model.includes("amazon.nova")) return true
  return (
    model.includes("anthropic.claude") &&
    !model.includes("claude-instant") &&
    !model.includes("claude-v1") &&
    !model.includes("claude-v2")
  )
}

/** Thirteen tokens for ten words: near enough to compare with a threshold. */
const estimateTokens = (system: ReadonlyArray<ConverseText | CachePoint>): number => {
  let words = 0
  for (const block of system) if ("text" in block) words += block.text.match(/\S+/g)?.length ?? 0
  return Math.floor((words * 13) / 10)
}

/** The lists of one request body, before they are sealed. */
export interface CacheTargets {
  readonly system: Array<ConverseText | CachePoint>
  readonly messages: Array<ConverseMessage>
  readonly tools: Array<ConverseTool>
}

/** Sets the configured cache points in place, where the model supports them. */
export const setCachePoints = (
  { system, messages, tools }: CacheTargets,
  model: string,
  caching: PromptCaching
): void => {
  if (!supportsCaching(model)) return
  if (caching.cacheSystem && system.length > 0 && estimateTokens(system) >= caching.minTokens) system.push(cachePoint)
  if (caching.cacheMessages && messages.length >= 2) {
    const index = Math.max(messages.length - 2 - caching.cacheMessageOffset, 0)
    const message = messages[index]
    if (message !== undefined) messages[index] = { ...message, content: [...message.content, cachePoint] }
  }
  if (caching.cacheTools && tools.length > 0) tools.push(cachePoint)
}
