/** The GET stream of a session: messages of all targets that belong to no request, and streams that are resumed. */
import type { McpEventMark, TargetFailure } from "../../services/mcp-transport.ts"
import type { ListenOutlet } from "./call.ts"
import type { CallRecord, Ledger } from "./call-record.ts"
import type { McpFacts, McpResponse } from "./contract.ts"
import { codeOf, failureAnswer, type McpFailure, refusal } from "./errors.ts"
import { EventStream } from "./event-stream.ts"
import { prefixedEventId } from "./exchange.ts"
import type { Beating } from "./pulse.ts"
import { eventStreamHeaders } from "./reply.ts"
import type { Backend, ListeningStream, Session } from "./session.ts"
import { event, keepAlive } from "./sse.ts"
import type { TargetLink } from "./target-link.ts"

const retryMillis = 1000
const maxRetryMillis = 30_000

/** A GET, checked. `lastEventId` as the client sent it. */
export interface ListenRequest {
  readonly backend: Backend
  readonly session: Session
  readonly headers: ReadonlyArray<string>
  readonly lastEventId: string | undefined
  readonly ledger: Ledger
  readonly facts: McpFacts
  readonly respond: (response: McpResponse) => void
}

/** One target's part of the stream. */
interface Part {
  readonly link: TargetLink
  readonly record: CallRecord
  state: "asked" | "open" | "waiting" | "over"
  failure: TargetFailure | undefined
  lastId: string | undefined
  retry: number | undefined
  attempts: number
  stop: () => void
}

/** One GET stream: opened at the targets, answered when they have, kept together until the client leaves. */
export class Listening implements ListeningStream, Beating {
  readonly #request: ListenRequest
  readonly #parts: ReadonlyArray<Part>
  readonly #stream: EventStream
  /** The stream of a request that the client resumes; unrelated messages belong to another stream. */
  readonly #resumed: boolean
  #answered = false
  #closed = false

  constructor(request: ListenRequest) {
    this.#request = request
    const { backend, session } = request
    const resumed = request.lastEventId === undefined ? undefined : splitEventId(session, request.lastEventId)
    this.#resumed = resumed !== undefined
    const links = resumed === undefined ? session.links() : [resumed.link]
    this.#stream = new EventStream(backend.clock.now(), backend.config.limits.queuedChars, () => this.close())
    this.#parts = links.map((link) => ({
      link,
      record: request.ledger.begin(link.target.name, "GET", undefined),
      state: "asked",
      failure: undefined,
      lastId: resumed?.id,
      retry: undefined,
      attempts: 0,
      stop: () => {}
    }))
    for (const part of this.#parts) this.#ask(part)
    this.#decide()
  }

  message(text: string, mark: McpEventMark | undefined): boolean {
    return this.#stream.push(event(text, mark), this.#request.backend.clock.now())
  }

  whenDrained(resume: () => void) {
    this.#stream.whenDrained(resume)
  }

  gone() {
    return this.#closed
  }

  beat(now: number) {
    const { keepAliveMillis } = this.#request.backend.config
    if (now - this.#stream.writtenAt >= keepAliveMillis) this.#stream.push(keepAlive, now)
  }

  /** Ends everything: the client is gone, or the session is. */
  close() {
    if (this.#closed) return
    this.#closed = true
    const { backend, session } = this.#request
    session.detach(this)
    backend.pulse.delete(this)
    for (const part of this.#parts) {
      part.state = "over"
      part.stop()
      part.record.end(part.failure)
    }
    this.#stream.end()
  }

  #ask(part: Part) {
    const { session, headers } = this.#request
    part.state = "asked"
    const out: ListenOutlet = {
      message: (text, mark) => {
        if (mark?.id !== undefined) part.lastId = mark.id
        if (mark?.retry !== undefined) part.retry = mark.retry
        const own =
          mark?.id === undefined || !session.naming.multiplexing
            ? mark
            : { id: prefixedEventId(part.link.target.name, mark.id), retry: mark.retry }
        return this.message(text, own)
      },
      whenDrained: (resume) => this.whenDrained(resume),
      gone: () => this.#closed,
      opened: () => {
        if (part.state !== "asked") return
        part.state = "open"
        part.attempts = 0
        this.#decide()
      },
      ended: (failure) => this.#ended(part, failure)
    }
    const stop = part.link.listen(headers, part.lastId, out)
    // The answer may have come while `listen` ran.
    if (!this.#isOver(part)) part.stop = stop
  }

  #isOver(part: Part): boolean {
    return part.state === "over" || part.state === "waiting"
  }

  #ended(part: Part, failure: TargetFailure | undefined) {
    if (this.#closed || part.state === "over") return
    const { session } = this.#request
    part.failure = failure
    part.stop = () => {}
    const refused = failure?._tag === "TargetStatus" || part.link.dead !== undefined
    // Among several targets the stream goes on: the client cannot know that a part of it has to be asked for again.
    if (this.#answered && session.naming.multiplexing && !this.#resumed && !refused) {
      part.state = "waiting"
      const wait = Math.min((part.retry ?? retryMillis) * 2 ** part.attempts++, maxRetryMillis)
      part.stop = session.after(wait, () => this.#ask(part))
      return
    }
    part.state = "over"
    part.record.end(failure)
    if (!this.#answered) this.#decide()
    else if (this.#parts.every((part) => part.state === "over")) this.close()
  }

  /** Answers the client as soon as the targets' reactions allow it. */
  #decide() {
    if (this.#answered || this.#closed) return
    const { backend, session } = this.#request
    const failOpen = backend.config.failureMode === "failOpen"
    const real = this.#parts.find(({ failure }) => failure !== undefined && !isUnsupported(failure))?.failure
    if (real !== undefined && !failOpen) return this.#refuse(real)
    if (this.#parts.some((part) => part.state === "asked")) return
    if (this.#parts.some((part) => part.state === "open") || (this.#parts.length === 0 && failOpen))
      return this.#begin()
    if (real !== undefined) return this.#refuse(real)
    const [only] = this.#parts
    if (session.naming.multiplexing || only === undefined) return this.#refuse(refusal.noEventStream)
    // A single target without such a stream: say so, or keep the client content with a silent one.
    if (failOpen) this.#begin()
    else this.#refuse(only.failure ?? refusal.noEventStream)
  }

  #begin() {
    this.#answered = true
    const { backend, session, facts, respond } = this.#request
    if (backend.config.keepAliveMillis > 0) backend.pulse.add(this)
    session.attach(this)
    if (!this.#resumed) session.listen(this)
    respond({ status: 200, headers: eventStreamHeaders, body: this.#stream, facts })
  }

  #refuse(failure: McpFailure) {
    this.#answered = true
    const { facts, respond } = this.#request
    facts.errorCode = codeOf(failure)
    facts.errorMessage = failure.message
    this.close()
    respond({ ...failureAnswer(failure, undefined), facts })
  }
}

const isUnsupported = (failure: TargetFailure) => failure._tag === "TargetStatus" && failure.status === 405

/** The target whose event it was; `undefined` for an id that the relay never gave. */
const splitEventId = (session: Session, id: string): { readonly link: TargetLink; readonly id: string } | undefined => {
  if (!session.naming.multiplexing) {
    const link = session.links()[0]
    return link && { link, id }
  }
  const at = id.indexOf(":")
  const link = at <= 0 ? undefined : session.link(id.slice(0, at))
  return link && { link, id: id.slice(at + 1) }
}
