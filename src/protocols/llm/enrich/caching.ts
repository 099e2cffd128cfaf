/** Prompt caching on Bedrock: marks in a converse request up to which the provider may reuse what it has computed before. */
import { elements, isObject, type JsonObject, member, withMember } from "../models/json.ts"

/** The `promptCaching` policy with its defaults filled in. */
export interface PromptCaching {
  readonly cacheSystem: boolean
  readonly cacheMessages: boolean
  readonly cacheTools: boolean
  /** A system prompt shorter than this is not worth a mark. */
  readonly minTokens: number
  /** How many messages further back than the one before the last the mark goes. */
  readonly cacheMessageOffset: number
}

/** What an empty `promptCaching: {}` means. */
export const defaultPromptCaching: PromptCaching = {
  cacheSystem: true,
  cacheMessages: true,
  cacheTools: false,
  minTokens: 1024,
  cacheMessageOffset: 0
}

const cachePoint = { cachePoint: { type: "default" } } as const

/** Claude but for its first generations, Nova, and application profiles, whose model cannot be seen. */
export const cachesPrompts = (model: string): boolean =>
  model.includes("anthropic.claude")
    ? !/claude-(instant|v1|v2)/.test(model)
    : model.includes("amazon.nova") || model.includes(":application-inference-profile/")

/** Tokens of prose by its words: thirteen for ten. */
const tokensOf = (system: ReadonlyArray<unknown>): number => {
  let words = 0
  for (const block of system) {
    const text = member(block, "text")
    if (typeof text === "string") words += text.split(/\s+/).filter((word) => word !== "").length
  }
  return Math.floor((words * 13) / 10)
}

const markedAt = (list: ReadonlyArray<unknown>, index: number, mark: (item: JsonObject) => JsonObject) =>
  list.map((item, i) => (i === index && isObject(item) ? mark(item) : item))

/** The converse body with the marks of the policy. Only for models of `cachesPrompts`. */
export const markCachePoints = (body: JsonObject, policy: PromptCaching): JsonObject => {
  let marked = body
  const system = elements(body["system"])
  if (policy.cacheSystem && system.length > 0 && tokensOf(system) >= policy.minTokens)
    marked = withMember(marked, "system", [...system, cachePoint])
  const messages = elements(body["messages"])
  if (policy.cacheMessages && messages.length >= 2) {
    const index = Math.max(messages.length - 2 - policy.cacheMessageOffset, 0)
    const mark = (message: JsonObject) => withMember(message, "content", [...elements(message["content"]), cachePoint])
    marked = withMember(marked, "messages", markedAt(messages, index, mark))
  }
  const toolConfig = body["toolConfig"]
  const tools = elements(member(toolConfig, "tools"))
  if (policy.cacheTools && isObject(toolConfig) && tools.length > 0)
    marked = withMember(marked, "toolConfig", withMember(toolConfig, "tools", [...tools, cachePoint]))
  return marked
}
