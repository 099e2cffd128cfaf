/** What a provider may answer, stream or fail with that holds what a guard keeps from clients. */
import { escaped, type Format, fish, sword, word } from "./guarded-words.ts"

/** What a provider answers, and the client must not see. */
export interface Said {
  readonly name: string
  readonly format: Format
  readonly status?: number
  /** The answer, or the events of a stream. */
  readonly answer?: object | string
  readonly events?: ReadonlyArray<object | string>
  readonly type?: string
}

const choice = (message: object) => ({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message, finish_reason: "stop" }]
})
const delta = (of: object) => ({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: of }] })
const block = (of: object) => ({ id: "m", type: "message", role: "assistant", content: [of] })
const output = (of: object) => ({ id: "r", object: "response", output: [of] })
const candidate = (...parts: ReadonlyArray<object>) => ({ candidates: [{ content: { role: "model", parts } }] })
const letters = (of: (letter: string) => object) => [...word].map(of)

export const said: ReadonlyArray<Said> = [
  { name: "content", format: "completions", answer: choice({ role: "assistant", content: word }) },
  {
    name: "content in parts",
    format: "completions",
    answer: choice({
      content: [
        { type: "text", text: sword },
        { type: "text", text: fish }
      ]
    })
  },
  {
    name: "arguments",
    format: "completions",
    answer: choice({
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: `{"a":"${escaped}"}` } }]
    })
  },
  { name: "a refusal", format: "completions", answer: choice({ content: null, refusal: word }) },
  { name: "reasoning_content", format: "completions", answer: choice({ content: "a", reasoning_content: word }) },
  { name: "an unknown member", format: "completions", answer: { ...choice({ content: "a" }), aside: { deep: word } } },
  { name: "a choice of another shape", format: "completions", answer: { choices: [{ text: word }] } },
  { name: "choices that are an object", format: "completions", answer: { choices: { message: { content: word } } } },
  {
    name: "choices twice",
    format: "completions",
    answer: `{"choices":[{"message":{"content":"${word}"}}],"choices":[]}`
  },
  { name: "no JSON", format: "completions", answer: `{"choices":[{"message":{"content":"${word}` },
  { name: "a list", format: "completions", answer: `[{"message":{"content":"${word}"}}]` },
  {
    name: "an error",
    format: "completions",
    status: 400,
    answer: { error: { type: "invalid_request_error", message: word } }
  },
  { name: "an error in plain text", format: "completions", status: 500, answer: `cannot ${word}`, type: "text/plain" },
  { name: "an error in HTML", format: "completions", status: 502, answer: `<p>${word}</p>`, type: "text/html" },
  { name: "an error that is a list", format: "completions", status: 400, answer: `["${word}"]` },
  {
    name: "an error that says it twice",
    format: "completions",
    status: 400,
    answer: `{"error":"${word}","error":"a"}`
  },
  { name: "a redirection", format: "completions", status: 302, answer: { message: word } },
  { name: "text", format: "messages", answer: block({ type: "text", text: word }) },
  { name: "thinking", format: "messages", answer: block({ type: "thinking", thinking: word, signature: "a" }) },
  {
    name: "the input of a call",
    format: "messages",
    answer: block({ type: "tool_use", id: "t", name: "f", input: { a: word } })
  },
  { name: "an unknown block", format: "messages", answer: block({ type: "utterance", said: word }) },
  {
    name: "an error",
    format: "messages",
    status: 529,
    answer: { type: "error", error: { type: "overloaded_error", message: word } }
  },
  {
    name: "text",
    format: "responses",
    answer: output({ type: "message", role: "assistant", content: [{ type: "output_text", text: word }] })
  },
  {
    name: "arguments",
    format: "responses",
    answer: output({ type: "function_call", name: "f", call_id: "c", arguments: word })
  },
  {
    name: "a summary of reasoning",
    format: "responses",
    answer: output({ type: "reasoning", id: "r", summary: [{ type: "summary_text", text: word }] })
  },
  {
    name: "a refusal",
    format: "responses",
    answer: output({ type: "message", content: [{ type: "refusal", refusal: word }] })
  },
  { name: "an error", format: "responses", answer: { ...output({}), error: { code: "a", message: word } } },
  { name: "text", format: "generateContent", answer: candidate({ text: word }) },
  { name: "a thought", format: "generateContent", answer: candidate({ text: word, thought: true }) },
  {
    name: "arguments",
    format: "generateContent",
    answer: candidate({ functionCall: { name: "f", args: { a: word } } })
  },
  {
    name: "an error",
    format: "generateContent",
    status: 400,
    answer: { error: { code: 400, status: "INVALID_ARGUMENT", message: word } }
  },
  { name: "pieces of content", format: "completions", events: letters((content) => delta({ content })) },
  {
    name: "pieces of arguments",
    format: "completions",
    events: letters((letter) => delta({ tool_calls: [{ index: 0, function: { arguments: letter } }] }))
  },
  { name: "pieces of a refusal", format: "completions", events: letters((refusal) => delta({ refusal })) },
  {
    name: "pieces of reasoning",
    format: "completions",
    events: letters((reasoning_content) => delta({ reasoning_content }))
  },
  {
    name: "pieces of two choices",
    format: "completions",
    events: [...word].flatMap((letter) => [
      delta({ content: letter }),
      { choices: [{ index: 1, delta: { content: "-" } }] }
    ])
  },
  {
    name: "a message in the place of a delta",
    format: "completions",
    events: [{ choices: [{ index: 0, message: { content: word } }] }]
  },
  {
    name: "an event that is no JSON",
    format: "completions",
    events: [delta({ content: "a" }), `{"choices":[{"delta":{"content":"${word}`]
  },
  { name: "an event that is a string", format: "completions", events: [`"${word}"`] },
  { name: "an error in the stream", format: "completions", events: [{ error: { message: word } }] },
  {
    name: "pieces of text",
    format: "messages",
    events: letters((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }))
  },
  {
    name: "pieces of input",
    format: "messages",
    events: letters((partial_json) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json }
    }))
  },
  {
    name: "pieces of thinking",
    format: "messages",
    events: letters((thinking) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking }
    }))
  },
  {
    name: "a block that begins with it",
    format: "messages",
    events: [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: sword } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: fish } }
    ]
  },
  {
    name: "pieces of text",
    format: "responses",
    events: letters((piece) => ({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta: piece
    }))
  },
  {
    name: "pieces of arguments",
    format: "responses",
    events: letters((piece) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: piece }))
  },
  {
    name: "the text at the end alone",
    format: "responses",
    events: [
      {
        type: "response.completed",
        response: output({ type: "message", content: [{ type: "output_text", text: word }] })
      }
    ]
  }
]

/** An answer of each format that no guard minds, and the word by which one knows it. */
export const greeting = "goldfish"
export const greetings: Readonly<Record<Format, Said>> = {
  completions: {
    name: "a greeting",
    format: "completions",
    answer: choice({ role: "assistant", content: greeting })
  },
  messages: { name: "a greeting", format: "messages", answer: block({ type: "text", text: greeting }) },
  responses: {
    name: "a greeting",
    format: "responses",
    answer: output({ type: "message", role: "assistant", content: [{ type: "output_text", text: greeting }] })
  },
  generateContent: { name: "a greeting", format: "generateContent", answer: candidate({ text: greeting }) }
}
