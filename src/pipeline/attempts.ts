/**
 * The attempts at the backend of one request. What is sent is a fork of the request as its route left it: what backend
 * policies and the call make of it goes with the attempt, unless that is the one which the client is answered with.
 */
import { isSource } from "../http/body.ts"
import { RepeatableBody } from "../http/repeatable-body.ts"
import type { Reached } from "../services/upstreams.ts"
import { requestTimedOut } from "./deadline.ts"
import { Defect, type Unreadable } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import type { Passage } from "./passage.ts"
import { timeouts } from "./slots.ts"
import type { StageError } from "./stage.ts"

/** Which attempts a request may take. Without one it takes one. */
export interface Plan {
  /** The most of them, the first one included. */
  readonly attempts: number
  /** Bytes of a body on its way that are kept to be sent again. A longer one is sent once. Default 64 KiB. */
  readonly keeps?: number | undefined
  /** Whether another attempt follows one that came to this: after so many milliseconds, or not at all. */
  readonly again: (ended: EndedAttempt) => number | undefined
}

/** What an attempt came to: an answer of the backend, or a failure. */
export interface EndedAttempt {
  /** From 1. */
  readonly number: number
  readonly reached: Reached
  readonly error: StageError | undefined
  /** What was sent, and the answer where there is one. */
  readonly exchange: Exchange
}

const defaultKept = 65_536

export class Attempts {
  readonly #plan: Plan
  readonly #body: RepeatableBody | undefined
  readonly #choices: ReadonlyMap<object, number | Unreadable> | undefined
  #number = 0
  /** Nothing that comes of the one under way is undone any more. */
  #settled = false

  constructor(plan: Plan, { received, choices }: Passage) {
    this.#plan = plan
    this.#choices = choices
    const { requestBody, settings } = received
    if (!isSource(requestBody)) return
    const body = new RepeatableBody(requestBody, plan.keeps ?? defaultKept, settings.heldBytes)
    this.#body = body
    received.onFinish(() => body.giveUp())
  }

  /** Whether the one under way need not be the last one. */
  get #mayRepeat(): boolean {
    return !this.#settled && this.#number < this.#plan.attempts && this.#body?.repeatable !== false
  }

  /** The next one: from here on steps run on a message of its own. */
  begin(passage: Passage): void {
    const { received } = passage
    this.#number++
    const body = this.#body?.next() ?? received.requestBody
    if (this.#number === this.#plan.attempts) this.#body?.giveUp()
    const fork = received.fork(body)
    const { inform } = received
    // What one backend says on the way to an answer that nobody gets is not for the client; 100 only asks for the body.
    if (inform !== undefined)
      fork.inform = (status, headers) => {
        if (status === 100 || !this.#mayRepeat) inform(status, headers)
      }
    passage.exchange = fork
    passage.choices = this.#choices === undefined ? undefined : new Map(this.#choices)
    passage.backend = passage.endpoint = passage.beside = undefined
    passage.called = passage.answered = undefined
  }

  /** Milliseconds until another one follows, if one does. */
  again(passage: Passage, error: StageError | undefined, now: number): number | undefined {
    const { exchange } = passage
    if (!this.#mayRepeat || error === requestTimedOut || error instanceof Defect) return undefined
    const reached = reachedBy(passage, error)
    // Whoever leaves HTTP may have begun to speak the other protocol.
    if (exchange.response?.switched !== undefined) return undefined
    if (exchange.upgrade !== undefined && reached !== "nothing sent") return undefined
    const delay = this.#plan.again({ number: this.#number, reached, error, exchange })
    const limit = exchange.get(timeouts)?.request
    return delay !== undefined && limit !== undefined && now + delay - exchange.arrived >= limit ? undefined : delay
  }

  /** The client is told what the one under way came to. */
  settle(): void {
    this.#settled = true
    this.#body?.giveUp()
  }
}

/**
 * A failure of the call speaks for itself; one that does not is taken for the worst. A policy may have failed on a call of its
 * own, which says nothing of this one.
 */
const reachedBy = ({ called, exchange, beside }: Passage, error: StageError | undefined): Reached => {
  if (called === undefined) return "nothing sent"
  if (exchange.response !== undefined) return "body begun"
  return beside?.stopped === true ? "sent" : (error?.reached ?? "sent")
}
