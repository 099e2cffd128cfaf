/** OpenAI response events as deltas: every content part and every function call is a block. Reasoning is skipped. */
import { isObject, type JsonObject, numberAt, objectAt, parseJson, stringAt } from "../../formats/json.ts"
import type { UpstreamEvent } from "../../formats/stream.ts"
import type { StreamDecoder } from "../codec.ts"
import type { Delta, Finish } from "../reply.ts"
import { decodeIncomplete } from "./status.ts"
import { decodeUsage } from "./usage.ts"

interface OpenCall {
  readonly block: number
  hasArguments: boolean
}

class ResponsesStreamDecoder implements StreamDecoder {
  private blocks = 0
  private refused = false
  private called = false
  /** Open text parts, by output and content index. */
  private readonly texts = new Map<string, number>()
  /** Open function calls, by output index. */
  private readonly calls = new Map<number, OpenCall>()

  push(event: UpstreamEvent): ReadonlyArray<Delta> {
    const data = "data" in event ? parseJson(event.data) : undefined
    const out: Array<Delta> = []
    if (isObject(data)) this.event(data, out)
    return out
  }

  end(): ReadonlyArray<Delta> {
    return []
  }

  private event(data: JsonObject, out: Array<Delta>): void {
    const output = numberAt(data, "output_index") ?? 0
    const part = `${output}:${numberAt(data, "content_index") ?? 0}`
    switch (data["type"]) {
      case "response.created":
        this.start(objectAt(data, "response") ?? {}, out)
        break
      case "response.output_item.added":
        this.openItem(output, objectAt(data, "item") ?? {}, out)
        break
      case "response.content_part.added": {
        const type = objectAt(data, "part")?.["type"]
        if (type === "output_text" || type === "refusal") this.openText(part, out)
        break
      }
      case "response.refusal.delta":
        this.refused = true
        this.addText(part, stringAt(data, "delta"), out)
        break
      case "response.output_text.delta":
        this.addText(part, stringAt(data, "delta"), out)
        break
      case "response.function_call_arguments.delta":
        this.addArguments(output, stringAt(data, "delta"), out)
        break
      case "response.function_call_arguments.done":
        if (this.calls.get(output)?.hasArguments === false) this.addArguments(output, stringAt(data, "arguments"), out)
        break
      case "response.content_part.done":
        this.closeText(part, out)
        break
      case "response.output_item.done":
        this.closeItem(output, objectAt(data, "item") ?? {}, out)
        break
      case "response.completed":
      case "response.incomplete":
        this.complete(data["type"], objectAt(data, "response") ?? {}, out)
        break
      case "response.failed":
        out.push({ type: "error", kind: "api_error", message: "responses stream failed" })
        break
      case "error": {
        const error = objectAt(data, "error") ?? data
        const message = stringAt(error, "message") ?? "upstream error"
        out.push({ type: "error", kind: stringAt(error, "code") ?? "api_error", message })
      }
    }
  }

  private start(response: JsonObject, out: Array<Delta>): void {
    const [id, model] = [stringAt(response, "id"), stringAt(response, "model")]
    out.push({ type: "start", id, model, serviceTier: undefined })
  }

  private openItem(output: number, item: JsonObject, out: Array<Delta>): void {
    if (item["type"] !== "function_call" || this.calls.has(output)) return
    this.called = true
    const block = this.blocks++
    this.calls.set(output, { block, hasArguments: false })
    const id = stringAt(item, "call_id") ?? stringAt(item, "id")
    out.push({ type: "openTool", block, id, name: stringAt(item, "name") ?? "" })
  }

  private openText(part: string, out: Array<Delta>): number {
    let block = this.texts.get(part)
    if (block === undefined) {
      block = this.blocks++
      this.texts.set(part, block)
      out.push({ type: "open", block, kind: "text" })
    }
    return block
  }

  private addText(part: string, text: string | undefined, out: Array<Delta>): void {
    if (text) out.push({ type: "text", block: this.openText(part, out), text })
  }

  private addArguments(output: number, text: string | undefined, out: Array<Delta>): void {
    const call = this.calls.get(output)
    if (call === undefined || !text) return
    call.hasArguments = true
    out.push({ type: "arguments", block: call.block, text })
  }

  private closeText(part: string, out: Array<Delta>): void {
    const block = this.texts.get(part)
    if (block === undefined) return
    this.texts.delete(part)
    out.push({ type: "close", block })
  }

  private closeItem(output: number, item: JsonObject, out: Array<Delta>): void {
    const prefix = `${output}:`
    for (const part of this.texts.keys()) if (part.startsWith(prefix)) this.closeText(part, out)
    const call = this.calls.get(output)
    if (call === undefined) return
    if (!call.hasArguments) this.addArguments(output, stringAt(item, "arguments"), out)
    this.calls.delete(output)
    out.push({ type: "close", block: call.block })
  }

  /** Not every server names the event after the status. */
  private complete(event: string, response: JsonObject, out: Array<Delta>): void {
    const whole = event === "response.completed" && response["status"] !== "incomplete"
    const ended: Finish = this.called ? "toolUse" : this.refused ? "refusal" : "end"
    out.push({ type: "finish", finish: whole ? ended : decodeIncomplete(response) })
    const usage = decodeUsage(response["usage"])
    if (usage !== undefined) out.push({ type: "usage", usage })
    out.push({ type: "done" })
  }
}

export const streamDecoder = (): StreamDecoder => new ResponsesStreamDecoder()
