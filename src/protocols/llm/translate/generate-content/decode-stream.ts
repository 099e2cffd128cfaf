/** Events of streamGenerateContent as deltas. Every event is a piece of an answer; only the first candidate is streamed, as nobody reads two. */
import { isObject, type JsonObject, numberAt, objectsAt, parseJson, stringAt } from "../../formats/json.ts"
import type { UpstreamEvent } from "../../formats/stream.ts"
import type { Exchange, StreamDecoder } from "../codec.ts"
import { decodeGoogleError } from "../google-error.ts"
import type { Delta } from "../reply.ts"
import { decodeCandidate, isBlocked } from "./candidate.ts"
import { decodeUsage } from "./usage.ts"

/** Text and reasoning have a block each for the whole answer, and calls follow: chat completions, the one client, has no blocks. */
const textBlock = 0
const reasoningBlock = 1
const firstCallBlock = 2

class GeminiStreamDecoder implements StreamDecoder {
  private readonly exchange: Exchange
  private id: string | undefined
  private calls = 0

  constructor(exchange: Exchange) {
    this.exchange = exchange
  }

  push(event: UpstreamEvent): ReadonlyArray<Delta> {
    const body = "data" in event ? parseJson(event.data) : undefined
    if (!isObject(body)) return []
    const error = decodeGoogleError(body)
    if (error !== undefined) return [{ type: "error", kind: error.kind ?? "api_error", message: error.message }]
    const out: Array<Delta> = []
    this.start(body, out)
    const candidate = objectsAt(body, "candidates").find((each) => (numberAt(each, "index") ?? 0) === 0)
    if (candidate !== undefined) this.candidate(candidate, out)
    else if (isBlocked(body)) out.push({ type: "finish", finish: "contentFilter" })
    this.count(body, out)
    return out
  }

  end(): ReadonlyArray<Delta> {
    return []
  }

  private start(body: JsonObject, out: Array<Delta>): void {
    if (this.id !== undefined) return
    const { now, model } = this.exchange.call
    this.id = stringAt(body, "responseId") ?? `vertex-gemini-${now}`
    out.push({ type: "start", id: this.id, model: stringAt(body, "modelVersion") ?? model, serviceTier: undefined })
  }

  private candidate(candidate: JsonObject, out: Array<Delta>): void {
    const { text, reasoning, calls, finish } = decodeCandidate(candidate, this.id ?? "", this.calls)
    if (reasoning) out.push({ type: "reasoning", block: reasoningBlock, text: reasoning })
    if (text) out.push({ type: "text", block: textBlock, text })
    for (const call of calls) {
      const block = firstCallBlock + this.calls++
      out.push({ type: "openTool", block, id: call.id, name: call.name })
      out.push({ type: "arguments", block, text: call.arguments })
    }
    if (finish !== undefined)
      out.push({ type: "finish", finish: finish === "end" && this.calls > 0 ? "toolUse" : finish })
  }

  /** Gemini counts with every event; what counts is said with the end, or by an event that says nothing else. */
  private count(body: JsonObject, out: Array<Delta>): void {
    const finished = out.some((delta) => delta.type === "finish")
    const silent = out.every((delta) => delta.type === "start")
    const usage = finished || silent ? decodeUsage(body["usageMetadata"]) : undefined
    if (usage !== undefined) out.push({ type: "usage", usage })
  }
}

export const streamDecoder = (exchange: Exchange): StreamDecoder => new GeminiStreamDecoder(exchange)
