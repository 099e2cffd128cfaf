/** The mock as OpenAI responses. */
import type { JsonObject } from "../formats/json.ts"
import { encodeSse } from "../sse/encoder.ts"
import { answer, type MockAnswer } from "./answer.ts"
import type { MockCall, MockReply, MockSettings, TimedChunk } from "./settings.ts"

const itemId = ({ id }: MockAnswer) => `msg_${id}`

const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] })

const itemOf = (said: MockAnswer, status: string, content: ReadonlyArray<unknown>) => ({
  id: itemId(said),
  type: "message",
  role: "assistant",
  status,
  content
})

/** The response object in one of its states. */
const responseOf = (said: MockAnswer, created: number, status: string, done: boolean) => ({
  id: `resp_${said.id}`,
  object: "response",
  created_at: created,
  status,
  error: null,
  incomplete_details: done && said.cut ? { reason: "max_output_tokens" } : null,
  instructions: null,
  metadata: {},
  model: said.model,
  output: done ? [itemOf(said, status, [textPart(said.text)])] : [],
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: "auto",
  tools: [],
  top_p: null,
  usage: done
    ? {
        input_tokens: said.promptTokens,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: said.tokens.length,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: said.promptTokens + said.tokens.length
      }
    : null
})

const finalStatus = ({ cut }: MockAnswer) => (cut ? "incomplete" : "completed")

export const responses = (settings: MockSettings, body: JsonObject, { now }: MockCall): MockReply => {
  const said = answer(settings, "responses", body)
  return body["stream"] === true
    ? { type: "stream", chunks: stream(settings, said, now) }
    : {
        type: "json",
        status: 200,
        afterMs: said.endsAt,
        body: JSON.stringify(responseOf(said, now, finalStatus(said), true))
      }
}

/** The events of one message with one text part, numbered in their order. */
const stream = (settings: MockSettings, said: MockAnswer, created: number): ReadonlyArray<TimedChunk> => {
  const status = finalStatus(said)
  const at = { item_id: itemId(said), output_index: 0, content_index: 0 }
  const started = responseOf(said, created, "in_progress", false)
  const start = settings.latencyMs
  const end = said.endsAt
  const events: ReadonlyArray<readonly [atMs: number, type: string, rest: JsonObject]> = [
    [start, "response.created", { response: started }],
    [start, "response.in_progress", { response: started }],
    [start, "response.output_item.added", { output_index: 0, item: itemOf(said, "in_progress", []) }],
    [start, "response.content_part.added", { ...at, part: textPart("") }],
    ...said.tokens.map(
      (delta, i) => [said.tokenAt(i), "response.output_text.delta", { ...at, delta, logprobs: [] }] as const
    ),
    [end, "response.output_text.done", { ...at, text: said.text, logprobs: [] }],
    [end, "response.content_part.done", { ...at, part: textPart(said.text) }],
    [end, "response.output_item.done", { output_index: 0, item: itemOf(said, status, [textPart(said.text)]) }],
    [end, `response.${status}`, { response: responseOf(said, created, status, true) }]
  ]
  return events.map(([atMs, type, rest], sequence_number) => ({
    atMs,
    text: encodeSse({ event: type, data: JSON.stringify({ type, sequence_number, ...rest }) })
  }))
}
