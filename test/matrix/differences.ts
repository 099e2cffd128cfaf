/** How the object that a library hands out may differ from the one of its own provider: in nothing but what is listed here. */
import type { ClientName } from "./clients.ts"
import type { Said } from "./scenarios.ts"

/** Ids, times and names of models are each answer's own. */
const own =
  /^(id|call_id|item_id|created|created_at|completed_at|system_fingerprint|obfuscation|_request_id|responseId|sdkHttpResponse|model|modelVersion)$/

export const steady = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, each: unknown) => (own.test(key) ? "*" : each)))

const members = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined

/** Where two values differ, as `path: before -> after`. */
export const differing = (before: unknown, after: unknown, at = ""): ReadonlyArray<string> => {
  const [old, now] = [members(before), members(after)]
  if (old !== undefined && now !== undefined && Array.isArray(before) === Array.isArray(after))
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((key) =>
      differing(old[key], now[key], `${at}.${key}`)
    )
  return before === after ? [] : [`${at.slice(1)}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`]
}

/** aimock leaves these out, the API documents them. */
const detailed = [
  'usage.input_tokens_details: undefined -> {"cached_tokens":0}',
  'usage.output_tokens_details: undefined -> {"reasoning_tokens":0}',
  'incomplete_details: undefined -> {"reason":"max_tokens"}'
]
/** The tables of the translations know neither. */
const withoutNulls = ["choices.0.logprobs: null -> undefined", "choices.0.message.refusal: null -> undefined"]

const allowed: { readonly [C in ClientName]?: { readonly [U in ClientName]?: ReadonlyArray<string> } } = {
  completions: { messages: withoutNulls, generateContent: withoutNulls, converse: withoutNulls },
  // aimock signs what Claude thinks, and not what Bedrock's Claude does.
  messages: { converse: ['content.0.signature: "aimock-placeholder-signature" -> ""'] },
  responses: {
    completions: detailed,
    // From Bedrock, what was cut short is so in every item, too.
    converse: [
      ...detailed,
      'output.0.status: "completed" -> "incomplete"',
      'output.0.content.0.text: "Forty-two." -> "Six by nine, perhaps.Forty-two."',
      'output_text: "Forty-two." -> "Six by nine, perhaps.Forty-two."'
    ]
  }
}

export const documented = (client: ClientName, upstream: ClientName): ReadonlySet<string> =>
  new Set(allowed[client]?.[upstream])

/** What becomes of reasoning: where a table has no place for it, it is dropped; to responses clients Bedrock's is text. */
export const reasoned = (client: ClientName, upstream: ClientName, says: Said): Said => {
  const { reasoning = "", ...rest } = says
  if (client === upstream || client === "completions" || reasoning === "") return says
  if (client === "messages" && upstream === "converse") return says
  return client === "responses" && upstream === "converse" ? { ...rest, text: reasoning + rest.text } : rest
}

/** The native object as it is without the parts that `reasoned` takes away. */
export const expectedOf = (client: ClientName, upstream: ClientName, typed: unknown): unknown =>
  client === upstream || client === "completions" || (client === "messages" && upstream === "converse")
    ? typed
    : withoutReasoning(typed)

const withoutReasoning = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const kept = value.filter((item: unknown) => !["reasoning", "thinking"].includes(String(members(item)?.["type"])))
    return kept.map(withoutReasoning)
  }
  const object = members(value)
  return object === undefined
    ? value
    : Object.fromEntries(Object.entries(object).map(([key, item]) => [key, withoutReasoning(item)]))
}

/** The table of responses to completions keeps no image. */
export const keepsImages = (client: ClientName, upstream: ClientName): boolean =>
  !(client === "responses" && upstream === "completions")
