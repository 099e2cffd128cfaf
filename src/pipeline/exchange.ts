/** One request and its answer on their way through the pipeline. Mutable, and owned by exactly one fiber. */
import { Effect } from "effect"
import type { StageMessage } from "../../spec/trace-events.ts"
import { type Body, type BodyAborted, type BodyObserver, isSource, observe, read } from "../http/body.ts"
import { HeaderList } from "../http/header-list.ts"
import { HeldBytes } from "../http/held-bytes.ts"
import type { Answer, Informer, RequestHead } from "../http/message.ts"
import { nowhere, type Place, Variables } from "./bindings.ts"
import { BodyTooLarge, type BuffersFull, buffersFull } from "./errors.ts"
import { type Hidden, nothingHidden } from "./hidden.ts"
import { bodyLimits } from "./slots.ts"
import type { AnySlot, SlotValue, StageError } from "./stage.ts"
import type { Asking } from "./sub-calls.ts"
import type { Environment } from "./trace.ts"
import type { Outcome, Peer, View } from "./view.ts"

/** The body limit where nothing else says: 2 MiB (seed). */
export const defaultBodyLimit = 2 * 1024 * 1024

/** What a configuration says of every exchange on it. The same object for all that run on the same one. */
export interface Settings {
  /** Where the process runs: the variable `env`. */
  readonly env: Environment | undefined
  /** What logs and traces do not show. */
  readonly hidden: Hidden
  readonly bodyLimit: number
  /** The budget of the process for bodies in memory. */
  readonly heldBytes: HeldBytes
}

/** Of what belongs to no configuration. */
export const defaultSettings: Settings = {
  env: undefined,
  hidden: nothingHidden,
  bodyLimit: defaultBodyLimit,
  heldBytes: new HeldBytes()
}

export class Exchange implements View<AnySlot, AnySlot> {
  readonly request: RequestHead
  /** Method, authority, path and query as the client sent them: what logs and spans name, whatever policies rewrite. */
  readonly receivedMethod: string
  readonly receivedAuthority: string
  readonly receivedPath: string
  requestBody: Body
  /** The beginning of a request body that is not whole in memory, once it was read. */
  requestBodyPrefix: Uint8Array | undefined = undefined
  /** The same of the body of the answer. */
  responseBodyPrefix: Uint8Array | undefined = undefined
  response: Answer | undefined = undefined
  readonly peer: Peer
  readonly now: number
  /** When the request arrived on the monotonic clock, in milliseconds. */
  readonly arrived: number
  /** The protocol that the client asks to change to. */
  upgrade: string | undefined = undefined
  /** Whether the request may be sent twice although its method is not idempotent. */
  repeatable = false
  /** Whether it is a copy of a request: what comes of it says nothing of how a backend does. */
  aside = false
  /** Which attempt at a backend it is, from 1; 1 before there is one. */
  attempt = 1
  /** Tells the client of 1xx responses. Absent where there is no such client. */
  informer: Informer | undefined = undefined
  readonly answerHeaders: HeaderList
  matchedPrefix: string | undefined = undefined
  /** Where expressions look for the way of the request. */
  place: Place = nowhere
  /** Why the request was refused, if it was. */
  error: StageError | undefined = undefined
  /** How a call of gRPC has ended, once it is known. */
  grpcStatus: number | undefined = undefined
  /** What protocols and policies add to the log line of this request. */
  facts: Map<string, string | number | boolean> | undefined = undefined
  /** Takes what nodes tell by themselves. Absent when nobody wants it. */
  told: ((message: StageMessage) => void) | undefined = undefined
  settings: Settings = defaultSettings
  readonly #cells: Array<unknown>
  /** Of the budget of the process. */
  #held = 0
  /** The attempt under way, or the last one. */
  #fork: Exchange | undefined = undefined
  #variables: Variables | undefined = undefined
  #finishers: Array<(outcome: Outcome) => void> | undefined = undefined
  #recorders: Array<(outcome: Outcome) => void> | undefined = undefined

  /** @param of the exchange that it is a fork of. */
  constructor(request: RequestHead, body: Body, peer: Peer, now: number, arrived: number, of?: Exchange) {
    this.request = request
    this.requestBody = body
    this.peer = peer
    this.now = now
    this.arrived = arrived
    if (of === undefined) {
      this.receivedMethod = request.method
      this.receivedAuthority = request.authority
      this.receivedPath = request.pathAndQuery
      this.answerHeaders = new HeaderList()
      this.#cells = []
      return
    }
    this.receivedMethod = of.receivedMethod
    this.receivedAuthority = of.receivedAuthority
    this.receivedPath = of.receivedPath
    this.answerHeaders = of.answerHeaders.clone()
    this.#cells = of.#cells.slice()
  }

  /**
   * The same exchange for one attempt at a backend. What is changed there, left in slots, queued for the answer or asked to
   * be told of lives as long as the attempt; the one that the client is answered with ends with this exchange.
   */
  fork(body: Body): Exchange {
    const fork = new Exchange(this.request.clone(), body, this.peer, this.now, this.arrived, this)
    fork.requestBodyPrefix = this.requestBodyPrefix
    fork.upgrade = this.upgrade
    fork.repeatable = this.repeatable
    fork.aside = this.aside
    fork.informer = this.informer
    fork.matchedPrefix = this.matchedPrefix
    fork.place = this.place
    fork.told = this.told
    fork.settings = this.settings
    if (this.facts !== undefined) fork.facts = new Map(this.facts)
    this.#fork = fork
    return fork
  }

  /** The attempt under way, or the last one; itself where nothing is sent twice. */
  get latest(): Exchange {
    return this.#fork ?? this
  }

  get<S extends AnySlot>(slot: S): SlotValue<S> | undefined {
    return this.#cells[slot.index] as SlotValue<S> | undefined
  }

  set<S extends AnySlot>(slot: S, value: SlotValue<S>): void {
    this.#cells[slot.index] = value
  }

  get variables(): Variables {
    this.#variables ??= new Variables(this)
    return this.#variables
  }

  get asking(): Asking {
    const { arrived, now, settings } = this
    return { arrived, now, settings }
  }

  get bodyLimit(): number {
    return this.settings.bodyLimit
  }

  get watched(): boolean {
    return this.told !== undefined
  }

  readRequestBody(limit?: number): Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull> {
    const most = limit ?? this.get(bodyLimits)?.request ?? this.bodyLimit
    return this.#readWhole(this.requestBody, this.request.headers, "request", most, (body) => {
      this.requestBody = body
    })
  }

  readRequestPrefix(limit?: number): Effect.Effect<Uint8Array, BodyAborted | BuffersFull> {
    const most = limit ?? this.get(bodyLimits)?.request ?? this.bodyLimit
    return this.#readPrefix(this.requestBody, most, (body, prefix) => {
      this.requestBody = body
      this.requestBodyPrefix = prefix
    })
  }

  readResponsePrefix(limit?: number): Effect.Effect<Uint8Array, BodyAborted | BuffersFull> {
    const response = this.response
    if (response === undefined) return Effect.succeed(new Uint8Array(0))
    const most = limit ?? this.get(bodyLimits)?.response ?? this.bodyLimit
    return this.#readPrefix(response.body, most, (body, prefix) => {
      response.body = body
      this.responseBodyPrefix = prefix
    })
  }

  /** @param keep takes the body that still yields all of it, and its beginning unless it is whole in memory. */
  #readPrefix(
    body: Body,
    limit: number,
    keep: (body: Body, prefix: Uint8Array | undefined) => void
  ): Effect.Effect<Uint8Array, BodyAborted | BuffersFull> {
    let full = false
    const holds = (bytes: number) => {
      full ||= !this.#holds(bytes)
      return !full
    }
    return Effect.flatMapEager(read(body, limit, holds), (found) => {
      const prefix = found.complete || full ? undefined : wholeCharacters(found.bytes)
      keep(found.body, prefix)
      if (full) return Effect.fail(buffersFull)
      return Effect.succeed(prefix ?? found.bytes)
    })
  }

  readResponseBody(limit?: number): Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull> {
    const response = this.response
    if (response === undefined) return Effect.succeed(new Uint8Array(0))
    const most = limit ?? this.get(bodyLimits)?.response ?? this.bodyLimit
    return this.#readWhole(response.body, response.headers, "response", most, (body) => {
      response.body = body
    })
  }

  #readWhole(
    body: Body,
    headers: HeaderList,
    side: "request" | "response",
    limit: number,
    keep: (body: Body) => void
  ): Effect.Effect<Uint8Array, BodyTooLarge | BodyAborted | BuffersFull> {
    // A declared length over the limit needs no reading.
    if (isSource(body) && Number(headers.get("content-length")) > limit)
      return Effect.fail(new BodyTooLarge({ side, limit }))
    let full = false
    const holds = (bytes: number) => {
      full ||= !this.#holds(bytes)
      return !full
    }
    return Effect.flatMapEager(read(body, limit, holds), (found) => {
      keep(found.body)
      if (found.complete) return Effect.succeed(found.bytes)
      return Effect.fail(full ? buffersFull : new BodyTooLarge({ side, limit }))
    })
  }

  /** Holds so many bytes more until it is over, if the process may. */
  #holds(bytes: number): boolean {
    if (!this.settings.heldBytes.take(bytes)) return false
    this.#held += bytes
    return true
  }

  observeResponseBody(observer: BodyObserver): void {
    if (this.response !== undefined) this.response.body = observe(this.response.body, observer)
  }

  onFinish(callback: (outcome: Outcome) => void): void {
    if (this.#finishers === undefined) this.#finishers = [callback]
    else this.#finishers.push(callback)
  }

  /** For those who record what happened: runs after everyone who asked with `onFinish`. */
  onFinished(callback: (outcome: Outcome) => void): void {
    if (this.#recorders === undefined) this.#recorders = [callback]
    else this.#recorders.push(callback)
  }

  /**
   * Tells everyone who asked that the exchange is over. Further calls do nothing.
   * @param defect told what one of them throws: the others are told all the same.
   */
  finish(outcome: Outcome, defect: (cause: unknown) => void): void {
    const fork = this.#fork
    const finishers = this.#finishers
    const recorders = this.#recorders
    this.#finishers = this.#recorders = undefined
    // Whoever asked before there were attempts sees what came of them.
    if (fork !== undefined) this.response = fork.response
    if (finishers !== undefined) tell(finishers, outcome, defect)
    fork?.finish(outcome, defect)
    if (recorders !== undefined) tell(recorders, outcome, defect)
    if (this.#held === 0) return
    this.settings.heldBytes.giveBack(this.#held)
    this.#held = 0
  }

  /** Adds a field to the log line of this request. */
  fact(key: string, value: string | number | boolean): void {
    this.facts ??= new Map()
    this.facts.set(key, value)
  }

  note(kind: string, details: unknown): void {
    this.told?.({ type: "policyEvent", kind, details })
  }

  tell(message: StageMessage): void {
    this.told?.(message)
  }
}

const tell = (
  callbacks: ReadonlyArray<(outcome: Outcome) => void>,
  outcome: Outcome,
  defect: (cause: unknown) => void
): void => {
  for (const callback of callbacks) {
    try {
      callback(outcome)
    } catch (cause) {
      defect(cause)
    }
  }
}

/** Without the first bytes of a character of UTF-8 that was cut at the end: what is read as text must not fail for that. */
const wholeCharacters = (bytes: Uint8Array): Uint8Array => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    // A byte that continues a character is looked past; one that begins one says how long it is.
    if (byte >> 6 === 0b10) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
