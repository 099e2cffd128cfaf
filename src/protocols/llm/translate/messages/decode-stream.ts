/** Anthropic message events as deltas; the format's blocks are the deltas' blocks. Events that are not JSON are skipped. */
import { isObject, type JsonObject, jsonText, numberAt, objectAt, parseJson, stringAt } from "../../formats/json.ts"
import type { UpstreamEvent } from "../../formats/stream.ts"
import type { StreamDecoder } from "../codec.ts"
import type { Delta, Usage } from "../reply.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

class MessagesStreamDecoder implements StreamDecoder {
  private usage: Usage | undefined
  /** Open tool blocks, with the input that came with their start until a piece of input follows. */
  private readonly tools = new Map<number, { initial: unknown }>()

  push(event: UpstreamEvent): ReadonlyArray<Delta> {
    const data = "data" in event ? parseJson(event.data) : undefined
    return isObject(data) ? this.event(data) : []
  }

  end(): ReadonlyArray<Delta> {
    return []
  }

  private event(data: JsonObject): ReadonlyArray<Delta> {
    const block = numberAt(data, "index") ?? 0
    switch (data["type"]) {
      case "message_start": {
        const message = objectAt(data, "message") ?? {}
        const usage = objectAt(message, "usage")
        this.usage = decodeUsage(usage)
        return [
          {
            type: "start",
            id: stringAt(message, "id"),
            model: stringAt(message, "model"),
            serviceTier: usage && stringAt(usage, "service_tier")
          }
        ]
      }
      case "content_block_start":
        return this.open(block, objectAt(data, "content_block") ?? {})
      case "content_block_delta":
        return this.fill(block, objectAt(data, "delta") ?? {})
      case "content_block_stop":
        return this.close(block)
      case "message_delta":
        return this.finish(data)
      case "message_stop":
        return [{ type: "done" }]
      case "error": {
        const error = objectAt(data, "error") ?? {}
        return [
          {
            type: "error",
            kind: stringAt(error, "type") ?? "api_error",
            message: stringAt(error, "message") ?? "upstream error"
          }
        ]
      }
      default:
        return []
    }
  }

  private open(block: number, content: JsonObject): ReadonlyArray<Delta> {
    switch (content["type"]) {
      case "tool_use":
      case "server_tool_use":
        this.tools.set(block, { initial: content["input"] })
        return [{ type: "openTool", block, id: stringAt(content, "id"), name: stringAt(content, "name") ?? "" }]
      case "text":
        return [{ type: "open", block, kind: "text" }, ...this.fill(block, { ...content, type: "text_delta" })]
      case "thinking":
        return [{ type: "open", block, kind: "reasoning" }, ...this.fill(block, { ...content, type: "thinking_delta" })]
      default:
        return []
    }
  }

  private fill(block: number, delta: JsonObject): ReadonlyArray<Delta> {
    switch (delta["type"]) {
      case "text_delta": {
        const text = stringAt(delta, "text")
        return text ? [{ type: "text", block, text }] : []
      }
      case "thinking_delta": {
        const text = stringAt(delta, "thinking")
        return text ? [{ type: "reasoning", block, text }] : []
      }
      case "signature_delta": {
        const signature = stringAt(delta, "signature")
        return signature ? [{ type: "signature", block, signature }] : []
      }
      case "input_json_delta": {
        const text = stringAt(delta, "partial_json")
        const tool = this.tools.get(block)
        if (tool === undefined || !text) return []
        tool.initial = undefined
        return [{ type: "arguments", block, text }]
      }
      default:
        return []
    }
  }

  private close(block: number): ReadonlyArray<Delta> {
    const tool = this.tools.get(block)
    if (tool === undefined) return [{ type: "close", block }]
    this.tools.delete(block)
    // Some servers of this API send the whole input with the start of its block.
    const whole = isObject(tool.initial) && Object.keys(tool.initial).length > 0
    const text = whole ? jsonText(tool.initial) : undefined
    return text === undefined
      ? [{ type: "close", block }]
      : [
          { type: "arguments", block, text },
          { type: "close", block }
        ]
  }

  private finish(data: JsonObject): ReadonlyArray<Delta> {
    const deltas: Array<Delta> = []
    const finish = decodeFinish(objectAt(data, "delta")?.["stop_reason"])
    if (finish !== undefined) deltas.push({ type: "finish", finish })
    this.usage = decodeUsage(data["usage"], this.usage)
    if (this.usage !== undefined) deltas.push({ type: "usage", usage: this.usage })
    return deltas
  }
}

export const streamDecoder = (): StreamDecoder => new MessagesStreamDecoder()
