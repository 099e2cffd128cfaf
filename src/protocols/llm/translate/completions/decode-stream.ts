/**
 * Chat completions chunks as deltas. The format has no blocks, so they are made here: text closes the tool calls before it, a tool call
 * closes the text before it, and tool calls may be interleaved. The finish reason is held until the usage chunk or `[DONE]` has come.
 */
import { isObject, type JsonObject, numberAt, objectAt, objectsAt, parseJson, stringAt } from "../../formats/json.ts"
import type { UpstreamEvent } from "../../formats/stream.ts"
import type { StreamDecoder } from "../codec.ts"
import type { Delta, Finish } from "../reply.ts"
import { decodeError } from "./error.ts"
import { decodeFinish } from "./finish.ts"
import { decodeUsage } from "./usage.ts"

interface OpenCall {
  /** `undefined` until the name is known. */
  block: number | undefined
  open: boolean
  id: string | undefined
  held: string
}

class CompletionsStreamDecoder implements StreamDecoder {
  private started = false
  private complete = false
  private refused = false
  private finish: Finish | undefined
  private hasUsage = false
  private blocks = 0
  private textBlock: number | undefined
  private readonly calls = new Map<number, OpenCall>()

  push(event: UpstreamEvent): ReadonlyArray<Delta> {
    if (!("data" in event)) return []
    const out: Array<Delta> = []
    if (event.data === "[DONE]") {
      this.finish ??= "end"
      this.completeInto(out)
      return out
    }
    const chunk = parseJson(event.data)
    if (!isObject(chunk)) return out
    if (isObject(chunk["error"]) || typeof chunk["error"] === "string") {
      const error = decodeError(chunk)
      out.push({ type: "error", kind: error?.kind ?? "api_error", message: error?.message ?? "upstream error" })
      return out
    }
    this.chunk(chunk, out)
    return out
  }

  end(): ReadonlyArray<Delta> {
    // Without a usage chunk and `[DONE]` the answer was cut off, and nothing says otherwise.
    return []
  }

  private chunk(chunk: JsonObject, out: Array<Delta>): void {
    if (!this.started) {
      this.started = true
      const [id, model] = [stringAt(chunk, "id"), stringAt(chunk, "model")]
      out.push({ type: "start", id, model, serviceTier: stringAt(chunk, "service_tier") })
    }
    const choice = objectsAt(chunk, "choices").find((candidate) => (numberAt(candidate, "index") ?? 0) === 0)
    if (choice !== undefined && !this.complete) {
      const delta = objectAt(choice, "delta")
      if (delta !== undefined) this.delta(delta, out)
      const finish = decodeFinish(choice["finish_reason"])
      if (finish !== undefined) this.finish = finish === "end" && this.refused ? "refusal" : finish
    }
    const usage = decodeUsage(chunk["usage"])
    if (usage !== undefined) {
      this.hasUsage = true
      out.push({ type: "usage", usage })
    }
    if (this.finish !== undefined && this.hasUsage) this.completeInto(out)
  }

  private delta(delta: JsonObject, out: Array<Delta>): void {
    const { content, refusal } = delta
    if (typeof content === "string") this.text(content, out)
    else if (Array.isArray(content)) {
      for (const part of content)
        if (isObject(part) && part["type"] === "text") this.text(stringAt(part, "text") ?? "", out)
    }
    if (typeof refusal === "string" && refusal !== "") {
      this.refused = true
      this.text(refusal, out)
    }
    const calls = objectsAt(delta, "tool_calls")
    for (let i = 0; i < calls.length; i++) this.toolCall(calls[i]!, i, out)
  }

  private text(text: string, out: Array<Delta>): void {
    if (text === "") return
    if (this.textBlock === undefined) {
      this.closeCalls(out)
      this.textBlock = this.blocks++
      out.push({ type: "open", block: this.textBlock, kind: "text" })
    }
    out.push({ type: "text", block: this.textBlock, text })
  }

  private toolCall(change: JsonObject, position: number, out: Array<Delta>): void {
    const index = numberAt(change, "index") ?? position
    const called = objectAt(change, "function") ?? {}
    let call = this.calls.get(index)
    if (call === undefined) {
      call = { block: undefined, open: false, id: undefined, held: "" }
      this.calls.set(index, call)
    }
    call.id ??= stringAt(change, "id") || undefined
    const text = stringAt(called, "arguments") ?? ""
    if (call.block !== undefined) {
      if (text !== "") out.push({ type: "arguments", block: call.block, text })
      return
    }
    call.held += text
    const name = stringAt(called, "name")
    if (name === undefined || name === "") return
    this.closeText(out)
    call.block = this.blocks++
    call.open = true
    out.push({ type: "openTool", block: call.block, id: call.id ?? `tool_call_${index}`, name })
    if (call.held !== "") out.push({ type: "arguments", block: call.block, text: call.held })
  }

  private closeText(out: Array<Delta>): void {
    if (this.textBlock === undefined) return
    out.push({ type: "close", block: this.textBlock })
    this.textBlock = undefined
  }

  private closeCalls(out: Array<Delta>): void {
    for (const index of [...this.calls.keys()].sort((a, b) => a - b)) {
      const call = this.calls.get(index)
      if (call?.block === undefined || !call.open) continue
      call.open = false
      out.push({ type: "close", block: call.block })
    }
  }

  private completeInto(out: Array<Delta>): void {
    if (this.complete) return
    this.complete = true
    this.closeText(out)
    this.closeCalls(out)
    out.push({ type: "finish", finish: this.finish ?? "end" }, { type: "done" })
  }
}

export const streamDecoder = (): StreamDecoder => new CompletionsStreamDecoder()
