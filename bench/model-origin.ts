/** A backend that answers like a model of any provider, whole or streamed, always with the same bytes: the path and the request say which. */
import { Buffer } from "node:buffer"
import { createServer } from "node:net"
import { encodeEvent } from "../src/protocols/llm/eventstream/encoder.ts"

const port = Number(process.argv[2])
/** Pieces of text in a stream. The events around them are few, and differ by format. */
const deltas = Number(process.argv[3])

const word = (i: number) => `word${i} `
const said = Array.from({ length: deltas }, (_, i) => word(i))
const text = said.join("")
const sse = (events: ReadonlyArray<unknown>, named = false): Buffer =>
  Buffer.from(
    events
      .map((event) => {
        const name = named ? `event: ${(event as { readonly type: string }).type}\n` : ""
        return `${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
      })
      .join("")
  )

interface Reply {
  readonly whole: Buffer
  readonly stream: Buffer
  readonly streamType?: string
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const usage = { prompt_tokens: 100, completion_tokens: deltas, total_tokens: 100 + deltas }

const chunk = (delta: object, finish: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }]
})
const completions: Reply = {
  whole: json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage
  }),
  stream: sse([
    chunk({ role: "assistant", content: "" }),
    ...said.map((content) => chunk({ content })),
    chunk({}, "stop"),
    { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage },
    "[DONE]"
  ])
}

const message = { id: "msg_1", type: "message", role: "assistant", model: "m" }
const messages: Reply = {
  whole: json({
    ...message,
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 100, output_tokens: deltas }
  }),
  stream: sse(
    [
      {
        type: "message_start",
        message: { ...message, content: [], usage: { input_tokens: 100, output_tokens: 0 } }
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...said.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: deltas } },
      { type: "message_stop" }
    ],
    true
  )
}

const item = { id: "msg_1", type: "message", role: "assistant", status: "completed" }
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  output: [{ ...item, content: [{ type: "output_text", text, annotations: [] }] }],
  usage: { input_tokens: 100, output_tokens: deltas, total_tokens: 100 + deltas }
}
const at = { output_index: 0, content_index: 0, item_id: "msg_1" }
const responses: Reply = {
  whole: json(response),
  stream: sse(
    [
      { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
      { type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } },
      ...said.map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
      { type: "response.output_text.done", ...at, text },
      { type: "response.content_part.done", ...at, part: { type: "output_text", text, annotations: [] } },
      { type: "response.output_item.done", output_index: 0, item: response.output[0] },
      { type: "response.completed", response }
    ],
    true
  )
}

const candidate = (text: string, finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 100, candidatesTokenCount: deltas, totalTokenCount: 100 + deltas },
  modelVersion: "m"
})
const generateContent: Reply = {
  whole: json(candidate(text, "STOP")),
  stream: sse([...said.slice(1).map((text) => candidate(text)), candidate(word(0), "STOP")])
}

const converse: Reply = {
  whole: json({
    output: { message: { role: "assistant", content: [{ text }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 100, outputTokens: deltas, totalTokens: 100 + deltas }
  }),
  stream: Buffer.concat([
    encodeEvent("messageStart", { role: "assistant" }),
    ...said.map((text) => encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text } })),
    encodeEvent("contentBlockStop", { contentBlockIndex: 0 }),
    encodeEvent("messageStop", { stopReason: "end_turn" }),
    encodeEvent("metadata", {
      usage: { inputTokens: 100, outputTokens: deltas, totalTokens: 100 + deltas },
      metrics: { latencyMs: 1 }
    })
  ]),
  streamType: "application/vnd.amazon.eventstream"
}

const replies: ReadonlyArray<readonly [part: string, reply: Reply]> = [
  ["/chat/completions", completions],
  ["/messages", messages],
  ["/responses", responses],
  ["enerateContent", generateContent],
  ["/converse", converse]
]

const answer = (type: string, body: Buffer) =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nserver: origin\r\ncontent-length: ${body.length}\r\n\r\n`),
    body
  ])
const answers = replies.map(([part, { whole, stream, streamType = "text/event-stream" }]) => ({
  part,
  whole: answer("application/json", whole),
  stream: answer(streamType, stream)
}))

const reply = (request: string): Buffer => {
  const path = request.slice(0, request.indexOf("\r\n"))
  const found = answers.find(({ part }) => path.includes(part)) ?? answers[0]!
  return path.includes("tream") || request.includes('"stream":true') ? found.stream : found.whole
}

createServer({ noDelay: true }, (socket) => {
  let pending = ""
  socket.on("error", () => {})
  socket.on("data", (bytes: Buffer) => {
    pending += bytes.toString("latin1")
    for (;;) {
      const end = pending.indexOf("\r\n\r\n")
      if (end < 0) return
      const length = Number(/\r\ncontent-length: *([0-9]+)/i.exec(pending.slice(0, end + 2))?.[1] ?? 0)
      const chunked = /\r\ntransfer-encoding: *chunked/i.test(pending.slice(0, end + 2))
      const over = chunked ? pending.indexOf("0\r\n\r\n", end + 4) + 5 : end + 4 + length
      if (chunked ? over < 5 : pending.length < over) return
      socket.write(reply(pending.slice(0, over)))
      pending = pending.slice(over)
    }
  })
}).listen(port, "127.0.0.1")
