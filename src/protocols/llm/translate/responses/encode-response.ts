/** An answer as an OpenAI response: the message first, when there is one, then the function calls. */
import { defined } from "../../formats/json.ts"
import type { ResponsesOutputItem, ResponsesResponse } from "../../formats/responses.ts"
import type { Exchange } from "../codec.ts"
import type { Reply } from "../reply.ts"
import { encodeEnding, itemStatus } from "./status.ts"
import { encodeUsage } from "./usage.ts"

export const encodeResponse = (reply: Reply, { call, rules }: Exchange): ResponsesResponse => {
  const [{ parts, finish }] = reply.choices
  const ending = encodeEnding(finish, rules.filteredMessage)
  const status = itemStatus(ending, rules)
  const calls: Array<ResponsesOutputItem> = []
  let text: string | undefined
  for (const part of parts) {
    if (part.type === "text" || (part.type === "reasoning" && rules.reasoningAsText)) text = (text ?? "") + part.text
    else if (part.type === "toolCall")
      calls.push({
        type: "function_call",
        id: part.id,
        call_id: part.id,
        name: part.name,
        arguments: part.arguments,
        status
      })
  }
  const output: Array<ResponsesOutputItem> =
    text === undefined
      ? calls
      : [
          {
            type: "message",
            id: `msg_${call.randomHex(16)}`,
            role: "assistant",
            status,
            content: [{ type: "output_text", text, annotations: [] }]
          },
          ...calls
        ]
  return defined({
    id: `resp_${call.randomHex(16)}`,
    object: "response",
    created_at: Math.floor(call.now / 1000),
    // The client is told the model that it asked for.
    model: call.model,
    status: ending.status,
    output,
    incomplete_details: ending.incomplete_details,
    error: ending.error,
    usage: reply.usage && encodeUsage(reply.usage)
  })
}
