/**
 * Deltas as OpenAI response events: the message item opens with the response and stays open beside the function calls; the `done` events and
 * the final event hold everything that was streamed.
 */
import type {
  ItemStatus,
  ResponsesEvent,
  ResponsesFunctionCall,
  ResponsesMessageItem,
  ResponsesOutputItem,
  ResponsesResponse,
  ResponsesStatus
} from "../../formats/responses.ts"
import type { SseEvent } from "../../formats/stream.ts"
import type { Exchange, StreamEncoder } from "../codec.ts"
import type { Delta, Finish, Usage } from "../reply.ts"
import { encodeEnding, itemStatus } from "./status.ts"
import { encodeUsage } from "./usage.ts"

interface OpenCall {
  readonly outputIndex: number
  readonly id: string
  readonly name: string
  text: string
}

class ResponsesStreamEncoder implements StreamEncoder {
  private readonly exchange: Exchange
  private readonly id: string
  private readonly messageId: string
  private sequence = 0
  private started = false
  private ended = false
  private text: string | undefined
  private finish: Finish | undefined
  private usage: Usage | undefined
  private readonly calls = new Map<number, OpenCall>()

  constructor(exchange: Exchange) {
    this.exchange = exchange
    this.id = `resp_${exchange.call.randomHex(16)}`
    this.messageId = `msg_${exchange.call.randomHex(16)}`
  }

  push(deltas: ReadonlyArray<Delta>): ReadonlyArray<SseEvent> {
    const events: Array<SseEvent> = []
    for (const delta of deltas) if (!this.ended) this.encode(delta, events)
    return events
  }

  end(): ReadonlyArray<SseEvent> {
    return []
  }

  private emit(events: Array<SseEvent>, event: ResponsesEvent): void {
    this.sequence++
    events.push({ event: event.type, data: JSON.stringify({ ...event, sequence_number: this.sequence }) })
  }

  private encode(delta: Delta, events: Array<SseEvent>): void {
    switch (delta.type) {
      case "start":
        this.start(events)
        break
      case "text":
        this.addText(events, delta.text)
        break
      case "reasoning":
        if (this.exchange.rules.reasoningAsText) this.addText(events, delta.text)
        break
      case "openTool":
        this.openCall(events, delta)
        break
      case "arguments":
        this.addArguments(events, delta.block, delta.text)
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
        this.ended = true
        this.emit(events, { type: "error", code: delta.kind, message: delta.message, param: null })
        break
    }
  }

  private response(status: ResponsesStatus, output: ReadonlyArray<ResponsesOutputItem>): ResponsesResponse {
    const { now, model } = this.exchange.call
    return { id: this.id, object: "response", created_at: Math.floor(now / 1000), model, status, output }
  }

  private message(status: ItemStatus): ResponsesMessageItem {
    const content = this.text === undefined ? [] : [this.part()]
    return { type: "message", id: this.messageId, role: "assistant", status, content }
  }

  private part() {
    return { type: "output_text" as const, text: this.text ?? "", annotations: [] }
  }

  private functionCall({ id, name, text }: OpenCall, status: ItemStatus): ResponsesFunctionCall {
    return { type: "function_call", id, call_id: id, name, arguments: text, status }
  }

  private start(events: Array<SseEvent>): void {
    if (this.started) return
    this.started = true
    this.emit(events, { type: "response.created", response: this.response("in_progress", []) })
    this.emit(events, { type: "response.output_item.added", output_index: 0, item: this.message("in_progress") })
  }

  private addText(events: Array<SseEvent>, text: string): void {
    this.start(events)
    const place = { item_id: this.messageId, output_index: 0, content_index: 0 } as const
    if (this.text === undefined) {
      this.text = ""
      this.emit(events, { type: "response.content_part.added", ...place, part: this.part() })
    }
    this.text += text
    this.emit(events, { type: "response.output_text.delta", ...place, delta: text })
  }

  private openCall(events: Array<SseEvent>, { block, id, name }: Delta & { readonly type: "openTool" }): void {
    this.start(events)
    const call: OpenCall = {
      outputIndex: this.calls.size + 1,
      id: id ?? `call_${this.exchange.call.randomHex(16)}`,
      name,
      text: ""
    }
    this.calls.set(block, call)
    this.emit(events, {
      type: "response.output_item.added",
      output_index: call.outputIndex,
      item: this.functionCall(call, "in_progress")
    })
  }

  private addArguments(events: Array<SseEvent>, block: number, text: string): void {
    const call = this.calls.get(block)
    if (call === undefined) return
    call.text += text
    this.emit(events, {
      type: "response.function_call_arguments.delta",
      item_id: call.id,
      output_index: call.outputIndex,
      delta: text
    })
  }

  private done(events: Array<SseEvent>): void {
    this.start(events)
    this.ended = true
    const ending = encodeEnding(this.finish, this.exchange.rules.filteredMessage)
    const status = itemStatus(ending, this.exchange.rules)
    const calls = [...this.calls.values()]
    for (const call of calls) this.closeCall(events, call, status)
    this.closeMessage(events, status)
    const output = [
      ...(this.text === undefined ? [] : [this.message(status)]),
      ...calls.map((call) => this.functionCall(call, status))
    ]
    const response: ResponsesResponse = {
      ...this.response(ending.status, output),
      ...ending,
      ...(this.usage !== undefined && { usage: encodeUsage(this.usage) })
    }
    this.emit(events, { type: `response.${ending.status}`, response })
  }

  private closeCall(events: Array<SseEvent>, call: OpenCall, status: ItemStatus): void {
    // Clients parse the arguments, and nothing is no JSON.
    if (call.text === "") call.text = "{}"
    const { id, name, outputIndex, text } = call
    this.emit(events, {
      type: "response.function_call_arguments.done",
      item_id: id,
      output_index: outputIndex,
      name,
      arguments: text
    })
    this.emit(events, {
      type: "response.output_item.done",
      output_index: outputIndex,
      item: this.functionCall(call, status)
    })
  }

  private closeMessage(events: Array<SseEvent>, status: ItemStatus): void {
    if (this.text !== undefined) {
      const place = { item_id: this.messageId, output_index: 0, content_index: 0 } as const
      this.emit(events, { type: "response.output_text.done", ...place, text: this.text })
      this.emit(events, { type: "response.content_part.done", ...place, part: this.part() })
    }
    this.emit(events, { type: "response.output_item.done", output_index: 0, item: this.message(status) })
  }
}

export const streamEncoder = (exchange: Exchange): StreamEncoder => new ResponsesStreamEncoder(exchange)
