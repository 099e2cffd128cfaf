/** The mock as OpenAI chat completions. */
import type { JsonObject } from "../formats/json.ts"
import { encodeSse, sseDone } from "../sse/encoder.ts"
import { answer, type MockAnswer } from "./answer.ts"
import type { MockCall, MockReply, MockSettings, TimedChunk } from "./settings.ts"

const usageOf = ({ promptTokens, tokens }: MockAnswer) => ({
  prompt_tokens: promptTokens,
  completion_tokens: tokens.length,
  total_tokens: promptTokens + tokens.length
})

const finishOf = ({ cut }: MockAnswer) => (cut ? "length" : "stop")

export const completions = (settings: MockSettings, body: JsonObject, { now }: MockCall): MockReply => {
  const said = answer(settings, "completions", body)
  if (body["stream"] === true) return { type: "stream", chunks: stream(settings, said, now) }
  const message = { role: "assistant", content: said.text, refusal: null }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(said) }
  const reply = {
    id: `chatcmpl-${said.id}`,
    object: "chat.completion",
    created: now,
    model: said.model,
    choices: [choice],
    usage: usageOf(said)
  }
  return { type: "json", status: 200, afterMs: said.endsAt, body: JSON.stringify(reply) }
}

/** A chunk for the role, one per token, one for the finish, one with the usage, `[DONE]`. */
const stream = (settings: MockSettings, said: MockAnswer, created: number): ReadonlyArray<TimedChunk> => {
  const head = { id: `chatcmpl-${said.id}`, object: "chat.completion.chunk", created, model: said.model }
  const chunk = (atMs: number, rest: JsonObject): TimedChunk => ({
    atMs,
    text: encodeSse({ data: JSON.stringify({ ...head, ...rest }) })
  })
  const delta = (atMs: number, delta: JsonObject, finish: string | null) =>
    chunk(atMs, { choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], usage: null })
  return [
    delta(settings.latencyMs, { role: "assistant", content: "" }, null),
    ...said.tokens.map((content, i) => delta(said.tokenAt(i), { content }, null)),
    delta(said.endsAt, {}, finishOf(said)),
    chunk(said.endsAt, { choices: [], usage: usageOf(said) }),
    { atMs: said.endsAt, text: sseDone }
  ]
}
