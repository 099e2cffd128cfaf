/**
 * ConverseStream messages as deltas. Only tool blocks announce themselves, the others open with their first delta; usage comes after the stop,
 * in a message of its own.
 */
import { isObject, type JsonObject, numberAt, objectAt, stringAt } from "../../formats/json.ts"
import type { HeaderLookup, UpstreamEvent } from "../../formats/stream.ts"
import type { Exchange, StreamDecoder } from "../codec.ts"
import type { Delta } from "../reply.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

const broken: Delta = { type: "error", kind: "api_error", message: "Stream processing error" }

class ConverseStreamDecoder implements StreamDecoder {
  private readonly exchange: Exchange
  private readonly header: HeaderLookup | undefined
  private readonly open = new Set<number>()
  private stopped = false
  private counted = false
  private complete = false

  constructor(exchange: Exchange, header: HeaderLookup | undefined) {
    this.exchange = exchange
    this.header = header
  }

  push(event: UpstreamEvent): ReadonlyArray<Delta> {
    if (!("headers" in event)) return []
    const messageType = event.headers[":message-type"]
    if (messageType === "exception" || messageType === "error" || !isObject(event.body)) return [broken]
    const out: Array<Delta> = []
    this.event(event.headers[":event-type"], event.body, out)
    if (this.stopped && this.counted) this.completeInto(out)
    return out
  }

  end(): ReadonlyArray<Delta> {
    const out: Array<Delta> = []
    // The stop said that the answer is whole, even if nobody counted it.
    if (this.stopped) this.completeInto(out)
    return out
  }

  private event(type: string | undefined, body: JsonObject, out: Array<Delta>): void {
    const block = numberAt(body, "contentBlockIndex") ?? 0
    switch (type) {
      case "messageStart":
        out.push({ type: "start", id: this.id(), model: this.exchange.call.model, serviceTier: undefined })
        break
      case "contentBlockStart": {
        const call = objectAt(objectAt(body, "start") ?? {}, "toolUse")
        if (call !== undefined) this.openCall(block, call, out)
        break
      }
      case "contentBlockDelta":
        this.fill(block, objectAt(body, "delta") ?? {}, out)
        break
      case "contentBlockStop":
        if (this.open.delete(block)) out.push({ type: "close", block })
        break
      case "messageStop":
        this.stopped = true
        out.push({ type: "finish", finish: decodeFinish(body["stopReason"]) ?? "end" })
        break
      case "metadata": {
        const usage = decodeUsage(body["usage"])
        if (usage === undefined) return
        this.counted = true
        out.push({ type: "usage", usage })
      }
    }
  }

  private id(): string | undefined {
    const { rules, call } = this.exchange
    if (rules.messageIds) return `msg_${call.now.toString(16)}${call.randomHex(8)}`
    return this.header?.("x-amzn-requestid") ?? call.randomHex(32)
  }

  private openCall(block: number, call: JsonObject, out: Array<Delta>): void {
    const name = stringAt(call, "name") ?? ""
    this.open.add(block)
    out.push({
      type: "openTool",
      block,
      id: stringAt(call, "toolUseId"),
      name: this.exchange.toolNames?.original(name) ?? name
    })
  }

  private ensureOpen(block: number, kind: "text" | "reasoning", out: Array<Delta>): void {
    if (this.open.has(block)) return
    this.open.add(block)
    out.push({ type: "open", block, kind })
  }

  private fill(block: number, delta: JsonObject, out: Array<Delta>): void {
    const text = stringAt(delta, "text")
    if (text) {
      this.ensureOpen(block, "text", out)
      out.push({ type: "text", block, text })
    }
    const call = objectAt(delta, "toolUse")
    const input = call && stringAt(call, "input")
    if (input && this.open.has(block)) out.push({ type: "arguments", block, text: input })
    const reasoning = objectAt(delta, "reasoningContent")
    if (reasoning !== undefined) this.reason(block, reasoning, out)
  }

  private reason(block: number, reasoning: JsonObject, out: Array<Delta>): void {
    const [text, signature] = [stringAt(reasoning, "text"), stringAt(reasoning, "signature")]
    const redacted = stringAt(reasoning, "redactedContent")
    if (redacted !== undefined) {
      if (this.open.has(block)) return
      this.open.add(block)
      out.push({ type: "redacted", block, data: redacted })
      return
    }
    if (text || signature) this.ensureOpen(block, "reasoning", out)
    if (text) out.push({ type: "reasoning", block, text })
    if (signature) out.push({ type: "signature", block, signature })
  }

  private completeInto(out: Array<Delta>): void {
    if (this.complete) return
    this.complete = true
    out.push({ type: "done" })
  }
}

export const streamDecoder = (exchange: Exchange, header: HeaderLookup | undefined): StreamDecoder =>
  new ConverseStreamDecoder(exchange, header)
