/**
 * Deltas as Anthropic message events: blocks numbered in the order of their opening, one `message_delta` with the stop reason and all usage,
 * then `message_stop`. An answer that was cut off gets neither.
 */
import type { MessagesBlockDelta, MessagesEvent, MessagesResponseBlock } from "../../formats/messages.ts"
import type { SseEvent } from "../../formats/stream.ts"
import type { Exchange, StreamEncoder } from "../codec.ts"
import type { Delta, Finish, Usage } from "../reply.ts"
import { encodeFinish } from "./finish.ts"
import { encodeUsage } from "./usage.ts"

const text: MessagesResponseBlock = { type: "text", text: "" }
const thinking: MessagesResponseBlock = { type: "thinking", thinking: "", signature: "" }

class MessagesStreamEncoder implements StreamEncoder {
  private readonly exchange: Exchange
  private started = false
  private ended = false
  private serviceTier: string | undefined
  private finish: Finish | undefined
  private usage: Usage | undefined
  private opened = 0
  /** Open blocks: the decoder's number to the client's. */
  private readonly indexes = new Map<number, number>()

  constructor(exchange: Exchange) {
    this.exchange = exchange
  }

  push(deltas: ReadonlyArray<Delta>): ReadonlyArray<SseEvent> {
    const events: Array<SseEvent> = []
    for (const delta of deltas) if (!this.ended) this.encode(delta, events)
    return events
  }

  end(): ReadonlyArray<SseEvent> {
    return []
  }

  private emit(events: Array<SseEvent>, event: MessagesEvent): void {
    events.push({ event: event.type, data: JSON.stringify(event) })
  }

  private encode(delta: Delta, events: Array<SseEvent>): void {
    switch (delta.type) {
      case "start":
        this.start(events, delta)
        break
      case "open":
        this.open(events, delta.block, delta.kind === "text" ? text : thinking)
        break
      case "openTool": {
        const id = delta.id ?? `tool_call_${this.opened}`
        this.open(events, delta.block, { type: "tool_use", id, name: delta.name, input: {} })
        break
      }
      case "redacted":
        this.open(events, delta.block, { type: "redacted_thinking", data: delta.data })
        break
      case "text":
        this.fill(events, delta.block, { type: "text_delta", text: delta.text })
        break
      case "reasoning":
        this.fill(events, delta.block, { type: "thinking_delta", thinking: delta.text })
        break
      case "signature":
        this.fill(events, delta.block, { type: "signature_delta", signature: delta.signature })
        break
      case "arguments":
        this.fill(events, delta.block, { type: "input_json_delta", partial_json: delta.text })
        break
      case "close":
        this.close(events, delta.block)
        break
      case "finish":
        this.finish = delta.finish
        break
      case "usage":
        this.usage = delta.usage
        break
      case "done":
        this.done(events)
        break
      case "error":
        this.fail(events, delta.kind, delta.message)
        break
    }
  }

  private start(events: Array<SseEvent>, said?: Delta & { readonly type: "start" }): void {
    if (this.started) return
    this.started = true
    this.serviceTier = said?.serviceTier
    this.emit(events, {
      type: "message_start",
      message: {
        id: said?.id ?? `msg_${this.exchange.call.randomHex(16)}`,
        type: "message",
        role: "assistant",
        model: said?.model ?? this.exchange.call.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 0, output_tokens: 0 }
      }
    })
  }

  private open(events: Array<SseEvent>, block: number, content: MessagesResponseBlock): void {
    this.start(events)
    const index = this.opened++
    this.indexes.set(block, index)
    this.emit(events, { type: "content_block_start", index, content_block: content })
  }

  private fill(events: Array<SseEvent>, block: number, delta: MessagesBlockDelta): void {
    const index = this.indexes.get(block)
    if (index === undefined) this.fail(events, "api_error", "upstream continued a content block that it had closed")
    else this.emit(events, { type: "content_block_delta", index, delta })
  }

  private close(events: Array<SseEvent>, block: number): void {
    const index = this.indexes.get(block)
    if (index === undefined) return
    this.indexes.delete(block)
    this.emit(events, { type: "content_block_stop", index })
  }

  private closeAll(events: Array<SseEvent>): void {
    for (const block of this.indexes.keys()) this.close(events, block)
  }

  private done(events: Array<SseEvent>): void {
    this.start(events)
    this.closeAll(events)
    this.ended = true
    this.emit(events, {
      type: "message_delta",
      delta: { stop_reason: encodeFinish(this.finish), stop_sequence: null },
      usage: encodeUsage(this.usage, this.serviceTier)
    })
    this.emit(events, { type: "message_stop" })
  }

  /** No `message_stop` here: it would tell the client that what it has is the whole answer. */
  private fail(events: Array<SseEvent>, type: string, message: string): void {
    this.closeAll(events)
    this.ended = true
    this.emit(events, { type: "error", error: { type, message } })
  }
}

export const streamEncoder = (exchange: Exchange): StreamEncoder => new MessagesStreamEncoder(exchange)
