/** An answer as an Anthropic message. */
import type { MessagesResponse, MessagesResponseBlock } from "../../formats/messages.ts"
import type { Reply, ReplyPart } from "../reply.ts"
import { inputValue } from "../tool-input.ts"
import { encodeFinish } from "./finish.ts"
import { encodeUsage } from "./usage.ts"

const encodePart = (part: ReplyPart): MessagesResponseBlock => {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text }
    case "reasoning":
      return { type: "thinking", thinking: part.text, signature: part.signature ?? "" }
    case "redacted":
      return { type: "redacted_thinking", data: part.data }
    case "toolCall":
      return { type: "tool_use", id: part.id, name: part.name, input: inputValue(part.arguments) }
  }
}

export const encodeResponse = ({ id, model, choices, usage, serviceTier }: Reply): MessagesResponse => ({
  id,
  type: "message",
  role: "assistant",
  model,
  content: choices[0].parts.map(encodePart),
  stop_reason: encodeFinish(choices[0].finish),
  stop_sequence: null,
  usage: encodeUsage(usage, serviceTier)
})
