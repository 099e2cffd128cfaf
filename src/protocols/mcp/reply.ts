/**
 * The answer to one POST. It waits for the first message to decide its form: a failure has a status of its own, answers
 * that are there at once leave as one piece, everything else becomes an event stream.
 */
import type { McpEventMark } from "../../services/mcp-transport.ts"
import type { RequestOutlet } from "./call.ts"
import type { McpClock, McpFacts, McpResponse, McpTimeLimit } from "./contract.ts"
import { codeOf, failureAnswer, failureMessage, type McpFailure, requestLate } from "./errors.ts"
import { EventStream } from "./event-stream.ts"
import type { Beating, Pulse } from "./pulse.ts"
import { event, keepAlive } from "./sse.ts"

/** What a reply needs of its backend. */
export interface ReplyHost {
  readonly pulse: Pulse
  readonly clock: McpClock
  readonly keepAliveMillis: number
  readonly queuedChars: number
}

/** Flat raw list. */
export const eventStreamHeaders: ReadonlyArray<string> = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-cache"
]

/** Where the answer to a request goes, and everything that belongs to it. */
export interface RequestReply extends RequestOutlet {
  readonly facts: McpFacts
  /** Headers besides those of an event stream; what is there when the head leaves. */
  readonly headers: Array<string>
  /** Set while the head may not leave before the answer: it will carry the session id. */
  headWaits: boolean
  readonly answer: (text: string, mark: McpEventMark | undefined) => void
  /** `id` is JSON text. */
  readonly fail: (failure: McpFailure, id: string | undefined) => void
  /** The answer will not come on this stream. */
  readonly drop: () => void
}

/** The reply to the requests of one POST. */
export class Reply implements RequestReply, Beating {
  readonly facts: McpFacts
  readonly headers: Array<string> = []
  headWaits = false
  /** Runs when the exchange is over: everything answered, or the client gone. */
  onOver: (clientGone: boolean) => void = () => {}
  readonly #host: ReplyHost
  readonly #respond: (response: McpResponse) => void
  readonly #startedAt: number
  #due: number
  #held = ""
  #stream: EventStream | undefined
  #over = false
  #late: McpFailure | undefined
  #stopTimer: (() => void) | undefined

  /** `due` answers are expected. */
  constructor(host: ReplyHost, facts: McpFacts, due: number, respond: (response: McpResponse) => void) {
    this.#host = host
    this.facts = facts
    this.#due = due
    this.#respond = respond
    this.#startedAt = host.clock.now()
    if (host.keepAliveMillis > 0) host.pulse.add(this)
  }

  /**
   * Refuses the answer if it has not begun by then. A head that only the keep-alive has sent is no beginning: the failure
   * follows as an event. `end` runs before, and ends whatever is under way for the answer.
   */
  limit({ millis, message }: McpTimeLimit, end: () => void): void {
    this.#stopTimer = this.#host.clock.after(millis, () => {
      this.#late = requestLate(message())
      end()
      if (!this.#over) this.fail(this.#late, undefined)
    })
  }

  /** A message that accompanies a call. `false`: the source should pause. */
  message(text: string, mark: McpEventMark | undefined): boolean {
    if (this.#over) return true
    if (!this.headWaits) {
      this.#stopTimer?.()
      return this.#open().push(event(text, mark), this.#host.clock.now())
    }
    this.#held += event(text, mark)
    return true
  }

  whenDrained(resume: () => void): void {
    if (this.#stream === undefined) resume()
    else this.#stream.whenDrained(resume)
  }

  gone(): boolean {
    return this.#over
  }

  late(): McpFailure | undefined {
    return this.#late
  }

  /** Passes on one of the answers that the client waits for. */
  answer(text: string, mark: McpEventMark | undefined): void {
    if (this.#over) return
    this.#stopTimer?.()
    const frame = event(text, mark)
    if (--this.#due > 0) {
      if (this.headWaits) this.#held += frame
      else this.#open().push(frame, this.#host.clock.now())
      return
    }
    if (this.#stream === undefined) this.#whole(200, [...eventStreamHeaders, ...this.headers], this.#held + frame)
    else {
      this.#stream.push(frame, this.#host.clock.now())
      this.#stream.end()
    }
  }

  /** Answers with a failure in the place of one of the answers. `id` is JSON text. */
  fail(problem: McpFailure, id: string | undefined): void {
    if (this.#over) return
    // A call that was ended for want of time fails in some way of its own; the reason is the time.
    const failure = this.#late ?? problem
    this.facts.errorCode ??= codeOf(failure)
    this.facts.errorMessage ??= failure.message
    if (this.#stream !== undefined || this.#held !== "" || this.#due > 1) {
      this.answer(failureMessage(failure, id ?? "null"), undefined)
      return
    }
    const { status, headers, body, failure: told } = failureAnswer(failure, id)
    this.#whole(status, headers, body, told)
  }

  /** Waits for one answer less: that one will not come on this stream. */
  drop(): void {
    if (this.#over || --this.#due > 0) return
    if (this.#stream === undefined) this.#whole(200, [...eventStreamHeaders, ...this.headers], this.#held)
    else this.#stream.end()
  }

  /** The messages were taken; there is nothing to answer. */
  accepted(): void {
    if (!this.#over) this.#whole(202, this.headers, "")
  }

  /** The client went away before the head left. */
  cancel(): void {
    if (this.#stream !== undefined) this.#stream.cancel()
    else this.#end(true)
  }

  beat(now: number): void {
    if (this.#stream === undefined) {
      if (!this.headWaits && now - this.#startedAt >= this.#host.keepAliveMillis) this.#open().push(keepAlive, now)
    } else if (now - this.#stream.writtenAt >= this.#host.keepAliveMillis) this.#stream.push(keepAlive, now)
  }

  #open(): EventStream {
    if (this.#stream !== undefined) return this.#stream
    const stream = new EventStream(this.#host.clock.now(), this.#host.queuedChars, (gone) => this.#end(gone))
    this.#stream = stream
    if (this.#held !== "") stream.push(this.#held, this.#host.clock.now())
    this.#respond({ status: 200, headers: [...eventStreamHeaders, ...this.headers], body: stream, facts: this.facts })
    return stream
  }

  #whole(status: number, headers: ReadonlyArray<string>, body: string | Uint8Array, failure?: string): void {
    this.#end(false)
    this.#respond({ status, headers, body, failure, facts: this.facts })
  }

  #end(clientGone: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#stopTimer?.()
    this.#host.pulse.delete(this)
    this.onOver(clientGone)
  }
}
