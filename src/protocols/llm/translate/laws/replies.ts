/** Generated answers, and how each provider format says one: whole, and as a stream that is cut anywhere. */
import { Arbitrary, Schema } from "effect"
import type { UpstreamFormat } from "../../formats/format.ts"
import type { JsonObject } from "../../formats/json.ts"
import type { EventStreamMessage, SseEvent, UpstreamEvent } from "../../formats/stream.ts"
import { Input } from "./requests.ts"

const Said = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(12))
const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))

/** One answer in plain words. `ending` is what every provider can say. */
const GeneratedReply = Schema.Struct({
  reasoning: Schema.optionalKey(Said),
  text: Schema.optionalKey(Said),
  calls: Schema.Array(
    Schema.Struct({
      name: Schema.Literals(["f", "get_weather"]),
      input: Input
    })
  ).check(Schema.isMaxLength(3)),
  ending: Schema.Literals(["end", "tools", "length", "filter"]),
  input: Tokens,
  output: Tokens,
  cacheRead: Schema.optionalKey(Tokens)
})
export type GeneratedReply = typeof GeneratedReply.Type

export const replies: Arbitrary.Arbitrary<GeneratedReply> = Arbitrary.schema(GeneratedReply)

/** How long the pieces of a stream are, over and over; a piece of nothing is an empty delta. */
export const cuts: Arbitrary.Arbitrary<ReadonlyArray<number>> = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))),
  { minLength: 1, maxLength: 4 }
)

const pieces = (text: string, lengths: ReadonlyArray<number>): ReadonlyArray<string> => {
  const out: Array<string> = []
  const useful = lengths.some((length) => length > 0) ? lengths : [...lengths, 1]
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = useful[i % useful.length] ?? 1
    out.push(text.slice(at, at + length))
    at += length
  }
  return out
}

export interface Upstream {
  readonly body: (reply: GeneratedReply) => JsonObject
  readonly events: (reply: GeneratedReply, lengths: ReadonlyArray<number>) => ReadonlyArray<UpstreamEvent>
}

const sse = (data: JsonObject): SseEvent => ({ event: String(data["type"]), data: JSON.stringify(data) })

const completionsEnding = { end: "stop", tools: "tool_calls", length: "length", filter: "content_filter" } as const
const completionsUsage = ({ input, output, cacheRead }: GeneratedReply) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cacheRead !== undefined && { prompt_tokens_details: { cached_tokens: cacheRead } })
})

const completions: Upstream = {
  body: (reply) => ({
    id: "id",
    model: "model",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.text ?? null,
          ...(reply.reasoning !== undefined && { reasoning_content: reply.reasoning }),
          tool_calls: reply.calls.map(({ name, input }, index) => ({
            id: `c${index}`,
            type: "function",
            function: { name, arguments: JSON.stringify(input) }
          }))
        },
        finish_reason: completionsEnding[reply.ending]
      }
    ],
    usage: completionsUsage(reply)
  }),
  events: (reply, lengths) => {
    const chunk = (delta: JsonObject, finish: string | null = null) =>
      sse({ id: "id", model: "model", choices: [{ index: 0, delta, finish_reason: finish }] })
    const events: Array<SseEvent> = [chunk({ role: "assistant", content: "" })]
    for (const piece of pieces(reply.reasoning ?? "", lengths)) events.push(chunk({ reasoning_content: piece }))
    for (const piece of pieces(reply.text ?? "", lengths)) events.push(chunk({ content: piece }))
    reply.calls.forEach(({ name }, index) => {
      events.push(
        chunk({ tool_calls: [{ index, id: `c${index}`, type: "function", function: { name, arguments: "" } }] })
      )
    })
    // Parallel calls are filled in turns.
    const parts = reply.calls.map(({ input }) => pieces(JSON.stringify(input), lengths))
    for (let i = 0; parts.some((list) => i < list.length); i++)
      parts.forEach((list, index) => {
        const piece = list[i]
        if (piece !== undefined) events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
      })
    events.push(chunk({}, completionsEnding[reply.ending]))
    events.push(sse({ id: "id", model: "model", choices: [], usage: completionsUsage(reply) }))
    return [...events, { data: "[DONE]" }]
  }
}

const messagesEnding = { end: "end_turn", tools: "tool_use", length: "max_tokens", filter: "refusal" } as const
const messagesUsage = ({ input, output, cacheRead }: GeneratedReply) => ({
  input_tokens: input,
  output_tokens: output,
  ...(cacheRead !== undefined && { cache_read_input_tokens: cacheRead })
})

const messages: Upstream = {
  body: (reply) => ({
    id: "id",
    model: "model",
    content: [
      ...(reply.reasoning === undefined ? [] : [{ type: "thinking", thinking: reply.reasoning, signature: "s" }]),
      ...(reply.text === undefined ? [] : [{ type: "text", text: reply.text }]),
      ...reply.calls.map(({ name, input }, index) => ({ type: "tool_use", id: `c${index}`, name, input }))
    ],
    stop_reason: messagesEnding[reply.ending],
    usage: messagesUsage(reply)
  }),
  events: (reply, lengths) => {
    const { output_tokens, ...before } = messagesUsage(reply)
    const events: Array<JsonObject> = [
      { type: "message_start", message: { id: "id", model: "model", usage: { ...before, output_tokens: 1 } } },
      { type: "ping" }
    ]
    let index = 0
    const block = (content: JsonObject, deltas: ReadonlyArray<JsonObject>) => {
      events.push({ type: "content_block_start", index, content_block: content })
      for (const delta of deltas) events.push({ type: "content_block_delta", index, delta })
      events.push({ type: "content_block_stop", index })
      index++
    }
    if (reply.reasoning !== undefined)
      block({ type: "thinking", thinking: "" }, [
        ...pieces(reply.reasoning, lengths).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: "s" }
      ])
    if (reply.text !== undefined)
      block(
        { type: "text", text: "" },
        pieces(reply.text, lengths).map((text) => ({ type: "text_delta", text }))
      )
    reply.calls.forEach(({ name, input }, call) => {
      const text = Object.keys(input).length === 0 ? "" : JSON.stringify(input)
      const deltas = pieces(text, lengths).map((partial_json) => ({ type: "input_json_delta", partial_json }))
      block({ type: "tool_use", id: `c${call}`, name, input: {} }, deltas)
    })
    events.push({
      type: "message_delta",
      delta: { stop_reason: messagesEnding[reply.ending] },
      usage: { output_tokens }
    })
    return [...events, { type: "message_stop" }].map(sse)
  }
}

const responsesUsage = ({ input, output, cacheRead }: GeneratedReply) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  ...(cacheRead !== undefined && { input_tokens_details: { cached_tokens: cacheRead } })
})
const responsesStatus = ({ ending }: GeneratedReply) =>
  ending === "length"
    ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    : { status: "completed" }
const responsesText = ({ text, ending }: GeneratedReply) =>
  ending === "filter" ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] }

const responses: Upstream = {
  body: (reply) => ({
    id: "id",
    model: "model",
    ...responsesStatus(reply),
    output: [
      ...(reply.reasoning === undefined ? [] : [{ type: "reasoning", summary: [] }]),
      ...(reply.text === undefined ? [] : [{ type: "message", content: [responsesText(reply)] }]),
      ...reply.calls.map(({ name, input }, index) => ({
        type: "function_call",
        call_id: `c${index}`,
        name,
        arguments: JSON.stringify(input)
      }))
    ],
    usage: responsesUsage(reply)
  }),
  events: (reply, lengths) => {
    const events: Array<JsonObject> = [{ type: "response.created", response: { id: "id", model: "model" } }]
    let output_index = 0
    const item = (shown: JsonObject, inner: ReadonlyArray<JsonObject>) => {
      events.push({ type: "response.output_item.added", output_index, item: shown })
      for (const event of inner) events.push({ ...event, output_index })
      events.push({ type: "response.output_item.done", output_index, item: shown })
      output_index++
    }
    if (reply.reasoning !== undefined)
      item({ type: "reasoning" }, [{ type: "response.reasoning_summary_text.delta", delta: reply.reasoning }])
    if (reply.text !== undefined) {
      const kind = reply.ending === "filter" ? "refusal" : "output_text"
      item({ type: "message" }, [
        { type: "response.content_part.added", content_index: 0, part: { type: kind } },
        ...pieces(reply.text, lengths).map((delta) => ({ type: `response.${kind}.delta`, content_index: 0, delta })),
        { type: "response.content_part.done", content_index: 0, part: responsesText(reply) }
      ])
    }
    reply.calls.forEach(({ name, input }, index) => {
      const text = JSON.stringify(input)
      item({ type: "function_call", id: `fc${index}`, call_id: `c${index}`, name, arguments: text }, [
        ...pieces(text, lengths).map((delta) => ({ type: "response.function_call_arguments.delta", delta })),
        { type: "response.function_call_arguments.done", arguments: text }
      ])
    })
    const ended = responsesStatus(reply)
    return [...events, { type: `response.${ended.status}`, response: { ...ended, usage: responsesUsage(reply) } }].map(
      sse
    )
  }
}

const converseEnding = {
  end: "end_turn",
  tools: "tool_use",
  length: "max_tokens",
  filter: "guardrail_intervened"
} as const
const converseUsage = ({ input, output, cacheRead }: GeneratedReply) => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output + (cacheRead ?? 0),
  ...(cacheRead !== undefined && { cacheReadInputTokens: cacheRead })
})

const converse: Upstream = {
  body: (reply) => ({
    output: {
      message: {
        role: "assistant",
        content: [
          ...(reply.reasoning === undefined
            ? []
            : [{ reasoningContent: { reasoningText: { text: reply.reasoning, signature: "s" } } }]),
          ...(reply.text === undefined ? [] : [{ text: reply.text }]),
          ...reply.calls.map(({ name, input }, index) => ({ toolUse: { toolUseId: `c${index}`, name, input } }))
        ]
      }
    },
    stopReason: converseEnding[reply.ending],
    usage: converseUsage(reply)
  }),
  events: (reply, lengths) => {
    const events: Array<EventStreamMessage> = []
    let contentBlockIndex = 0
    const event = (type: string, body: JsonObject) =>
      events.push({ headers: { ":event-type": type, ":message-type": "event" }, body })
    const block = (deltas: ReadonlyArray<JsonObject>, start?: JsonObject) => {
      if (start !== undefined) event("contentBlockStart", { contentBlockIndex, start })
      for (const delta of deltas) event("contentBlockDelta", { contentBlockIndex, delta })
      event("contentBlockStop", { contentBlockIndex })
      contentBlockIndex++
    }
    event("messageStart", { role: "assistant" })
    if (reply.reasoning !== undefined)
      block([
        ...pieces(reply.reasoning, lengths).map((text) => ({ reasoningContent: { text } })),
        { reasoningContent: { signature: "s" } }
      ])
    if (reply.text !== undefined) block(pieces(reply.text, lengths).map((text) => ({ text })))
    reply.calls.forEach(({ name, input }, index) => {
      const deltas = pieces(JSON.stringify(input), lengths).map((text) => ({ toolUse: { input: text } }))
      block(deltas, { toolUse: { toolUseId: `c${index}`, name } })
    })
    event("messageStop", { stopReason: converseEnding[reply.ending] })
    event("metadata", { usage: converseUsage(reply) })
    return events
  }
}

const geminiEnding = { end: "STOP", tools: "STOP", length: "MAX_TOKENS", filter: "SAFETY" } as const
const geminiUsage = ({ input, output, cacheRead }: GeneratedReply) => ({
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: input + output,
  ...(cacheRead !== undefined && { cachedContentTokenCount: cacheRead })
})

const generateContent: Upstream = {
  body: (reply) => ({
    responseId: "id",
    modelVersion: "model",
    candidates: [
      {
        content: {
          parts: [
            ...(reply.reasoning === undefined ? [] : [{ text: reply.reasoning, thought: true }]),
            ...(reply.text === undefined ? [] : [{ text: reply.text }]),
            ...reply.calls.map(({ name, input }) => ({ functionCall: { name, args: input }, thoughtSignature: "s" }))
          ]
        },
        finishReason: geminiEnding[reply.ending]
      }
    ],
    usageMetadata: geminiUsage(reply)
  }),
  events: (reply, lengths) => {
    const event = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}) =>
      sse({
        responseId: "id",
        modelVersion: "model",
        candidates: [{ content: { parts }, ...more }],
        usageMetadata: geminiUsage(reply)
      })
    return [
      ...pieces(reply.reasoning ?? "", lengths).map((text) => event([{ text, thought: true }])),
      ...pieces(reply.text ?? "", lengths).map((text) => event([{ text }])),
      ...reply.calls.map(({ name, input }) => event([{ functionCall: { name, args: input }, thoughtSignature: "s" }])),
      event([{ text: "" }], { finishReason: geminiEnding[reply.ending] })
    ]
  }
}

export const upstreams: { readonly [U in UpstreamFormat]?: Upstream } = {
  completions,
  messages,
  responses,
  converse,
  generateContent
}
