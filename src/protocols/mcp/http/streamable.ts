/** Streamable HTTP, the client's side: a POST for each message, an event stream or a JSON body for its answer. */
import { type Container, containing } from "../../../services/contained.ts"
import type { TellDefect } from "../../../services/defects.ts"
import type {
  McpEventMark,
  McpOutgoing,
  McpTransport,
  McpTransportEvents,
  TargetFailure
} from "../../../services/mcp-transport.ts"
import type { McpUpstreamRequest } from "./contract.ts"
import { type EventSource, eventSource } from "./event-source.ts"
import { type BodyReader, type ResponseHandler, type ResponseHead, TargetCall, type Upstream } from "./target-call.ts"

const broken = (message: string): TargetFailure => ({ _tag: "TargetBroken", status: 500, message })
const tooLarge = broken("upstream sent a message over the limit")
const unexpected = broken("unexpected content type")

/** Sending these twice does no harm. */
const repeatable = new Set([
  "initialize",
  "server/discover",
  "ping",
  "logging/setLevel",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "tasks/get"
])

/** An answered stream may stay open this long before it is dropped, at most twice as long. */
const graceMillis = 5_000

/** Drops answered streams that do not end by themselves. It waits only while there are any. */
class Grace implements Container {
  readonly #tell: TellDefect
  readonly #drop: (stream: number) => void
  /** Streams whose answer has come: before the last sweep (dropped by the next one), and since. */
  #due = new Set<number>()
  #fresh = new Set<number>()
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(tell: TellDefect, drop: (stream: number) => void) {
    this.#tell = tell
    this.#drop = drop
  }

  add(stream: number): void {
    this.#fresh.add(stream)
    if (this.#timer === undefined) this.#wait()
  }

  delete(stream: number): void {
    if (!this.#due.delete(stream)) this.#fresh.delete(stream)
    if (this.#due.size > 0 || this.#fresh.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #wait(): void {
    this.#timer = setTimeout(sweep, graceMillis, this).unref()
  }

  sweep(): void {
    const due = this.#due
    this.#due = this.#fresh
    this.#fresh = new Set()
    this.#timer = undefined
    if (this.#due.size > 0) this.#wait()
    for (const stream of due) this.#drop(stream)
  }

  contain(cause: unknown): void {
    this.#tell("mcp", cause)
  }
}

const sweep = containing((grace: Grace) => grace.sweep())

/** What the method of a request says of its answer: a listening takes nothing but events. */
type Purpose = "listen" | "initialize" | "other"

export class StreamableTransport implements McpTransport {
  readonly shared = false
  readonly #upstream: Upstream
  readonly #path: string
  readonly #events: McpTransportEvents
  readonly #open = new Map<number, Stream>()
  #sessionId: string | undefined
  #closed = false
  #grace: Grace | undefined = undefined

  /** @param session the target's id of a session that was begun before. */
  constructor(upstream: Upstream, path: string, session: string | undefined, events: McpTransportEvents) {
    this.#upstream = upstream
    this.#path = path
    this.#sessionId = session
    this.#events = events
  }

  sessionId(): string | undefined {
    return this.#sessionId
  }

  send({ stream, message, method, headers }: McpOutgoing): void {
    if (this.#closed) return
    const sent = this.#withSession(headers)
    sent.push("content-type", "application/json", "accept", "text/event-stream, application/json")
    const request = { method: "POST", path: this.#path, headers: sent, body: message }
    const purpose = method === "initialize" ? method : "other"
    this.#start(stream, purpose, request, method !== undefined && repeatable.has(method))
  }

  listen(stream: number, headers: ReadonlyArray<string>, lastEventId: string | undefined): void {
    if (this.#closed) return
    const sent = this.#withSession(headers)
    sent.push("accept", "text/event-stream")
    if (lastEventId !== undefined) sent.push("last-event-id", lastEventId)
    this.#start(stream, "listen", { method: "GET", path: this.#path, headers: sent, body: undefined }, true)
  }

  #withSession(headers: ReadonlyArray<string>): Array<string> {
    const all = headers.slice()
    if (this.#sessionId !== undefined) all.push("mcp-session-id", this.#sessionId)
    return all
  }

  #start(number: number, purpose: Purpose, request: McpUpstreamRequest, repeatable: boolean): void {
    const stream = new Stream(this, number, purpose, this.#upstream.limits.messageChars)
    this.#open.set(number, stream)
    stream.call = new TargetCall(this.#upstream, request, repeatable, stream)
    // The caller may have given it up meanwhile, when there was no call to abort yet.
    if (this.#open.get(number) !== stream) stream.call.abort()
  }

  pause(stream: number): void {
    this.#open.get(stream)?.call?.pause()
  }

  resume(stream: number): void {
    this.#open.get(stream)?.call?.resume()
  }

  release(number: number): void {
    const stream = this.#open.get(number)
    if (stream === undefined || stream.released) return
    stream.released = true
    if (stream.whole) return
    stream.call?.resume()
    this.#grace ??= new Grace(this.#upstream.tell, (due) => this.abandon(due))
    this.#grace.add(number)
  }

  abandon(number: number): void {
    const stream = this.#open.get(number)
    this.#open.delete(number)
    this.#grace?.delete(number)
    stream?.call?.abort()
  }

  close(farewell: ReadonlyArray<string> | undefined): void {
    if (this.#closed) return
    this.#closed = true
    for (const [number, { released }] of this.#open) if (!released) this.abandon(number)
    if (farewell === undefined || this.#sessionId === undefined) return
    const headers = this.#withSession(farewell)
    new TargetCall(this.#upstream, { method: "DELETE", path: this.#path, headers, body: undefined }, true, {
      onHead: () => undefined,
      onFailure: () => {}
    })
  }

  // What streams tell.

  begun(id: string | undefined): void {
    this.#sessionId = id ?? this.#sessionId
  }

  opened(stream: Stream): void {
    this.#events.onOpen(stream.number)
  }

  said(stream: Stream, text: string, mark: McpEventMark | undefined): void {
    if (this.#open.get(stream.number) === stream) this.#events.onMessage(text, stream.number, mark)
  }

  ended(stream: Stream, failure: TargetFailure | undefined): void {
    const { number } = stream
    if (this.#open.get(number) !== stream) return
    this.#open.delete(number)
    this.#grace?.delete(number)
    if (!stream.released && !this.#closed) this.#events.onEnd(number, failure)
  }
}

/** One request and what comes back for it: events, or a message that is the whole body. */
class Stream implements ResponseHandler, BodyReader {
  readonly #transport: StreamableTransport
  readonly #purpose: Purpose
  readonly #limit: number
  readonly #chunks: Array<Uint8Array> = []
  #bytes = 0
  readonly number: number
  call: TargetCall | undefined = undefined
  /** Nothing of it counts any more. */
  released = false
  /** All of it has come. */
  whole = false

  constructor(transport: StreamableTransport, number: number, purpose: Purpose, limit: number) {
    this.#transport = transport
    this.number = number
    this.#purpose = purpose
    this.#limit = limit
  }

  onHead({ status, headers }: ResponseHead): BodyReader | undefined {
    if (this.#purpose === "initialize") this.#transport.begun(headers.get("mcp-session-id"))
    const type = headers.get("content-type")?.trim().toLowerCase() ?? ""
    if (type.startsWith("text/event-stream")) return this.#events()
    if (this.#purpose !== "listen") {
      if (status === 202 || status === 204) {
        this.#ended(undefined)
        return undefined
      }
      if (type.startsWith("application/json") || type === "") return this
    }
    this.#ended(unexpected)
    return undefined
  }

  onFailure(failure: TargetFailure): void {
    this.#ended(failure)
  }

  #ended(failure: TargetFailure | undefined): void {
    this.#transport.ended(this, failure)
  }

  #events(): BodyReader {
    const source: EventSource = eventSource(this.#limit, (type, data, mark) => {
      if ((type === undefined || type === "message") && (data !== "" || mark !== undefined))
        this.#transport.said(this, data, mark)
    })
    this.#transport.opened(this)
    return {
      onData: (chunk) => {
        if (source.push(chunk)) return true
        this.#ended(tooLarge)
        return false
      },
      onEnd: () => {
        source.end()
        this.#ended(undefined)
      }
    }
  }

  // As the reader of a message that is the whole body.

  onData(chunk: Uint8Array): boolean {
    this.#bytes += chunk.length
    this.#chunks.push(chunk)
    if (this.#bytes <= this.#limit) return true
    this.#ended(tooLarge)
    return false
  }

  onEnd(): void {
    this.whole = true
    const text = utf8(this.#chunks).trim()
    if (text !== "" && text !== "null") this.#transport.said(this, text, undefined)
    this.#ended(undefined)
  }
}

const utf8 = (chunks: ReadonlyArray<Uint8Array>): string => {
  const [first] = chunks
  return (chunks.length === 1 && Buffer.isBuffer(first) ? first : Buffer.concat(chunks)).toString("utf8")
}
