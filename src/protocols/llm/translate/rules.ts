/** What the eight chat translations do differently from one another where they share a codec: one row a pair, as data. */

import type { ClientFormat, UpstreamFormat } from "../formats/format.ts"

export interface PairRules {
  /** Towards converse: neighbouring messages of one role become one. */
  readonly mergeTurns: boolean
  /** Towards converse: all system texts become one block. */
  readonly joinSystem: boolean
  /** Towards converse: tool calls whose input is no JSON become an empty object, or are left out. */
  readonly badToolInput: "empty" | "skip"
  /** Towards converse: the text of a custom tool call becomes the member `input` of an object. */
  readonly wrapCustomInput: boolean
  /** Towards converse: files become documents, or are left out. */
  readonly documents: boolean
  /** Towards converse: a tool result that the client called neither good nor bad says so, instead of nothing. */
  readonly nullStatus: boolean
  /** Towards converse: members that only Anthropic models have pass through. */
  readonly anthropicFields: boolean
  /** Towards converse: cache points are the configuration's to set, because the client's format has none. */
  readonly configuredCaching: boolean
  /** Towards completions: what becomes of images in user messages. */
  readonly images: "keep" | "drop"
  /** Towards completions: the role of what stands above the list of messages. */
  readonly instructions: "system" | "developer"
  /** Towards completions: the client has a switch for thinking, and an effort without it asks for none. */
  readonly thinkingSwitch: boolean
  /** Towards completions: the text of an assistant message is one string, or a list of parts. */
  readonly assistantText: "string" | "parts"
  /** From converse, which has no ids: the answer's id is in Anthropic's style. */
  readonly messageIds: boolean
  /** From converse: reasoning is part of the visible text, because the client's format has no other place for it here. */
  readonly reasoningAsText: boolean
  /** From converse: the signature of reasoning reaches the client, who sends it back for the reasoning to be replayed. */
  readonly reasoningSignature: boolean
  /** The role is announced in a chunk of its own, or rides on the first chunk with content. */
  readonly announceRole: boolean
  /** To responses: the items of an answer that was cut short are incomplete, as the answer is. */
  readonly incompleteItems: boolean
  /** To responses: what an answer stopped by the provider's filter says. */
  readonly filteredMessage: string
  /** An upstream error body reaches the client as it came, because both sides have the same shape. */
  readonly sameErrors: boolean
}

const base: PairRules = {
  mergeTurns: true,
  joinSystem: false,
  badToolInput: "empty",
  wrapCustomInput: false,
  documents: false,
  nullStatus: true,
  anthropicFields: false,
  configuredCaching: true,
  images: "keep",
  instructions: "developer",
  thinkingSwitch: false,
  assistantText: "string",
  messageIds: false,
  reasoningAsText: false,
  reasoningSignature: false,
  announceRole: false,
  incompleteItems: false,
  filteredMessage: "Content filtered",
  sameErrors: false
}

/** Client format, then provider format. A pair that is not here has no translation. */
export const pairRules: { readonly [C in ClientFormat]?: { readonly [U in UpstreamFormat]?: PairRules } } = {
  completions: {
    messages: base,
    converse: { ...base, joinSystem: true, reasoningSignature: true, announceRole: true },
    generateContent: base
  },
  messages: {
    completions: { ...base, instructions: "system", thinkingSwitch: true, assistantText: "parts" },
    responses: base,
    converse: {
      ...base,
      mergeTurns: false,
      nullStatus: false,
      anthropicFields: true,
      configuredCaching: false,
      messageIds: true
    }
  },
  responses: {
    completions: { ...base, images: "drop", sameErrors: true },
    converse: {
      ...base,
      badToolInput: "skip",
      wrapCustomInput: true,
      documents: true,
      reasoningAsText: true,
      incompleteItems: true,
      filteredMessage: "Content filtered by guardrails"
    }
  }
}
