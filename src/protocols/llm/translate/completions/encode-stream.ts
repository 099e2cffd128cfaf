/** Deltas as chat completions chunks: what came together leaves in one chunk, the role rides on the first, `[DONE]` ends. */
import type {
  CompletionsChunk,
  CompletionsDelta,
  CompletionsToolCallDelta,
  CompletionsUsage
} from "../../formats/completions.ts"
import type { SseEvent } from "../../formats/stream.ts"
import type { Exchange, StreamEncoder } from "../codec.ts"
import type { Delta, Finish } from "../reply.ts"
import { encodeFinish } from "./finish.ts"
import { encodeUsage } from "./usage.ts"

const done: SseEvent = { data: "[DONE]" }

/** What one upstream event has brought, while it is being joined into a chunk. */
interface Gathered {
  role: boolean
  content: string | undefined
  reasoning: string | undefined
  signature: string | undefined
  calls: Array<ToolCallChange> | undefined
  finish: Finish | undefined
  usage: CompletionsUsage | undefined
  error: SseEvent | undefined
}
interface ToolCallChange {
  readonly index: number
  opened: { readonly id: string; readonly name: string } | undefined
  text: string | undefined
}

const toolCallDelta = ({ index, opened, text }: ToolCallChange): CompletionsToolCallDelta =>
  opened === undefined
    ? { index, function: { arguments: text ?? "" } }
    : {
        index,
        id: opened.id,
        type: "function",
        function: text === undefined ? { name: opened.name } : { name: opened.name, arguments: text }
      }

class CompletionsStreamEncoder implements StreamEncoder {
  private readonly exchange: Exchange
  private readonly created: number
  private id = ""
  private model = ""
  private serviceTier: string | undefined
  private roleSent = false
  private failed = false
  private finished = false
  /** Tool blocks in the order of their opening. */
  private readonly calls = new Map<number, { readonly index: number; hasArguments: boolean }>()

  constructor(exchange: Exchange) {
    this.exchange = exchange
    this.model = exchange.call.model
    this.created = Math.floor(exchange.call.now / 1000)
  }

  push(deltas: ReadonlyArray<Delta>): ReadonlyArray<SseEvent> {
    if (this.failed || deltas.length === 0) return []
    const gathered: Gathered = {
      role: false,
      content: undefined,
      reasoning: undefined,
      signature: undefined,
      calls: undefined,
      finish: undefined,
      usage: undefined,
      error: undefined
    }
    for (const delta of deltas) this.gather(delta, gathered)
    const events: Array<SseEvent> = []
    const chunk = this.chunk(gathered)
    if (chunk !== undefined) events.push({ data: JSON.stringify(chunk) })
    if (gathered.error !== undefined) {
      this.failed = true
      events.push(gathered.error)
    }
    return events
  }

  end(): ReadonlyArray<SseEvent> {
    // An answer that was cut off must not look whole.
    return this.failed || !this.finished ? [] : [done]
  }

  private gather(delta: Delta, into: Gathered): void {
    switch (delta.type) {
      case "start":
        this.id = delta.id ?? this.id
        this.model = delta.model ?? this.model
        this.serviceTier = delta.serviceTier
        into.role = this.exchange.rules.announceRole
        break
      case "text":
        into.content = (into.content ?? "") + delta.text
        break
      case "reasoning":
        into.reasoning = (into.reasoning ?? "") + delta.text
        break
      case "redacted":
        into.reasoning = `${into.reasoning ?? ""}[REDACTED]`
        break
      case "signature":
        if (this.exchange.rules.reasoningSignature) into.signature = (into.signature ?? "") + delta.signature
        break
      case "openTool": {
        const index = this.calls.size
        this.calls.set(delta.block, { index, hasArguments: false })
        this.change(into, index).opened = { id: delta.id ?? `tool_call_${index}`, name: delta.name }
        break
      }
      case "arguments":
        if (delta.text !== "") this.addArguments(delta.block, delta.text, into)
        break
      case "close":
        // Clients parse the arguments, and nothing is no JSON.
        if (this.calls.get(delta.block)?.hasArguments === false) this.addArguments(delta.block, "{}", into)
        break
      case "finish":
        into.finish = delta.finish
        this.finished = true
        break
      case "usage":
        into.usage = encodeUsage(delta.usage)
        break
      case "error":
        into.error = { data: JSON.stringify({ error: { type: delta.kind, message: delta.message } }) }
    }
  }

  private addArguments(block: number, text: string, into: Gathered): void {
    const call = this.calls.get(block)
    if (call === undefined) return
    call.hasArguments = true
    const change = this.change(into, call.index)
    change.text = (change.text ?? "") + text
  }

  private change(into: Gathered, index: number): ToolCallChange {
    into.calls ??= []
    let change = into.calls.find((call) => call.index === index)
    if (change === undefined) {
      change = { index, opened: undefined, text: undefined }
      into.calls.push(change)
    }
    return change
  }

  private chunk(gathered: Gathered): CompletionsChunk | undefined {
    const delta: { -readonly [K in keyof CompletionsDelta]: CompletionsDelta[K] } = {}
    if (gathered.content !== undefined) delta.content = gathered.content
    if (gathered.reasoning !== undefined) delta.reasoning_content = gathered.reasoning
    if (gathered.signature !== undefined) delta.reasoning_signature = gathered.signature
    if (gathered.calls !== undefined) delta.tool_calls = gathered.calls.map(toolCallDelta)
    const speaks =
      gathered.role ||
      gathered.finish !== undefined ||
      gathered.calls !== undefined ||
      gathered.content !== undefined ||
      gathered.reasoning !== undefined ||
      gathered.signature !== undefined
    if (!speaks && gathered.usage === undefined) return undefined
    const choice = {
      index: 0 as const,
      delta: this.roleSent ? delta : { role: "assistant" as const, ...delta },
      finish_reason: gathered.finish === undefined ? null : encodeFinish(gathered.finish)
    }
    if (speaks) this.roleSent = true
    return {
      id: this.id,
      object: "chat.completion.chunk",
      created: this.created,
      model: this.model,
      ...(this.serviceTier !== undefined && { service_tier: this.serviceTier }),
      choices: speaks ? [choice] : [],
      ...(gathered.usage !== undefined && { usage: gathered.usage })
    }
  }
}

export const streamEncoder = (exchange: Exchange): StreamEncoder => new CompletionsStreamEncoder(exchange)
