/**
 * The attempts at the backend of one request. What is sent is a fork of the request as its route left it: what backend
 * policies and the call make of it goes with the attempt, unless that is the one which the client is answered with.
 */
import { isSource } from "../http/body.ts"
import { grpcTimeoutOf } from "../http/grpc.ts"
import { RepeatableBody } from "../http/repeatable-body.ts"
import type { Reached } from "../services/upstreams.ts"
import { requestTimedOut } from "./deadline.ts"
import { Defect, type TimedOut, type Unreadable } from "./errors.ts"
import { defaultBodyLimit, type Exchange } from "./exchange.ts"
import type { Passage } from "./passage.ts"
import type { Backend } from "./route.ts"
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
  /** Milliseconds between two of them, where it always waits as long. An endpoint that failed is left alone for them, where nobody says. */
  readonly pause?: number | undefined
  /** Another one follows only where nothing was sent: no body is kept, and what a backend says on the way is passed on. */
  readonly unsent?: boolean | undefined
  /** Told of each attempt, from 1, before its steps run. */
  readonly begins?: ((exchange: Exchange, number: number) => void) | undefined
}

/** What an attempt came to: an answer of the backend, or a failure. */
export interface EndedAttempt {
  /** From 1. */
  readonly number: number
  readonly reached: Reached
  readonly error: StageError | undefined
  /** Whether its backend was called; otherwise a policy in front of it has failed. */
  readonly called: boolean
  /** Whether its backend has an endpoint that no attempt was made at. */
  readonly others: boolean
  /** What was sent, and the answer where there is one. */
  readonly exchange: Exchange
}

const defaultKept = 65_536

const isUnsent: Plan["again"] = ({ called, others, reached }) =>
  called && others && reached === "nothing sent" ? 0 : undefined

/** Where no policy says otherwise, a connection to one of several endpoints that was not made is tried once at another one. */
export const elsewhere: Plan = { attempts: 2, unsent: true, again: isUnsent }

/** The same for backends that read the request before they call anybody: they get it again, up to what is read by default. */
export const elsewhereAnew: Plan = { attempts: 2, keeps: defaultBodyLimit, again: isUnsent }

/** That of a backend without one. */
const once: Plan = { attempts: 1, again: () => undefined }

/** Bytes of a body that are kept. */
const keptBy = ({ unsent, keeps }: Plan): number => (unsent === true ? 0 : (keeps ?? defaultKept))

/** The requests to one backend that have a plan, and how many of them are repeated. */
interface UnderWay {
  requests: number
  repeated: number
}
const underWay = new WeakMap<Backend, UnderWay>()

/** As many may be repeated at once: a backend that fails altogether must not be asked several times as much. */
export const mostRepeated = (requests: number): number => Math.max(3, Math.floor(requests / 5))

export class Attempts {
  #plan: Plan
  /** The plan holds for all backends of the route until one is chosen, and then that one's own does. */
  readonly #isRoutes: boolean
  readonly #body: RepeatableBody | undefined
  readonly #choices: ReadonlyMap<object, number | Unreadable> | undefined
  #number = 0
  /** Nothing that comes of the one under way is undone any more. */
  #settled = false
  #backend: Backend | undefined = undefined
  #underWay: UnderWay | undefined = undefined
  #repeats = false
  #tried: Set<string> | undefined = undefined
  /** Whether another attempt was wanted, and too many others of the same backend were repeated. */
  refused = false

  /** @param isRoutes no policy has made the plan. */
  constructor(plan: Plan, isRoutes: boolean, { received, choices }: Passage) {
    this.#plan = plan
    this.#isRoutes = isRoutes
    this.#choices = choices
    const { requestBody, settings } = received
    received.onFinish(() => this.#over())
    if (!isSource(requestBody)) return
    const body = new RepeatableBody(requestBody, keptBy(plan), settings.heldBytes)
    this.#body = body
    received.onFinish(() => body.giveUp())
  }

  /** Whether the one under way need not be the last one. */
  get #mayRepeat(): boolean {
    return !this.#settled && this.#number < this.#plan.attempts && this.#body?.repeatable !== false
  }

  /** Milliseconds between two attempts, where the plan has one pause for all. */
  get pause(): number | undefined {
    return this.#plan.pause
  }

  /** The backend that the request goes to: it is chosen once. */
  get backend(): Backend | undefined {
    return this.#backend
  }

  /** The endpoints that attempts were made at, by what tells them apart. */
  get tried(): ReadonlySet<string> | undefined {
    return this.#tried
  }

  /** The backend was chosen. */
  goTo(backend: Backend): void {
    if (this.#backend !== undefined) return
    this.#backend = backend
    if (this.#isRoutes) this.#follow(backend.elsewhere ?? once)
    let known = underWay.get(backend)
    if (known === undefined) {
      known = { requests: 0, repeated: 0 }
      underWay.set(backend, known)
    }
    known.requests++
    this.#underWay = known
  }

  #follow(plan: Plan): void {
    if (plan === this.#plan) return
    this.#plan = plan
    if (this.#number >= plan.attempts) this.#body?.giveUp()
    else this.#body?.keepAtMost(keptBy(plan))
  }

  #over(): void {
    if (this.#underWay === undefined) return
    this.#underWay.requests--
    if (this.#repeats) this.#underWay.repeated--
    this.#underWay = undefined
  }

  /** The next one: from here on steps run on a message of its own. */
  begin(passage: Passage): void {
    const { received } = passage
    this.#number++
    const body = this.#body?.next() ?? received.requestBody
    if (this.#number === this.#plan.attempts) this.#body?.giveUp()
    const fork = received.fork(body)
    fork.attempt = this.#number
    const { informer } = received
    // What one backend says on the way to an answer that nobody gets is not for the client; 100 only asks for the body.
    if (informer !== undefined && this.#plan.unsent !== true)
      fork.informer = {
        inform: (status, headers) => {
          if (status === 100 || this.#plan.unsent === true || !this.#mayRepeat) informer.inform(status, headers)
        }
      }
    if (passage.choice !== undefined) {
      this.#tried ??= new Set()
      this.#tried.add(passage.choice)
    }
    this.#plan.begins?.(fork, this.#number)
    passage.exchange = fork
    passage.choices = this.#choices === undefined ? undefined : new Map(this.#choices)
    passage.backend = passage.endpoint = passage.choice = passage.beside = undefined
    passage.called = passage.answered = undefined
  }

  /** Milliseconds until another one follows, if one does; or that there is no time for it. */
  again(passage: Passage, error: StageError | undefined, now: number): number | TimedOut | undefined {
    const { exchange } = passage
    if (!this.#mayRepeat || error === requestTimedOut || error instanceof Defect) return undefined
    const reached = reachedBy(passage, error)
    // Whoever leaves HTTP may have begun to speak the other protocol.
    if (exchange.response?.switched !== undefined) return undefined
    if (exchange.upgrade !== undefined && reached !== "nothing sent") return undefined
    const called = passage.called !== undefined
    const { others } = passage
    const delay = this.#plan.again({ number: this.#number, reached, error, called, others, exchange })
    if (delay === undefined) return undefined
    if (now + delay - exchange.arrived >= limitOf(passage)) return requestTimedOut
    return this.#mayRepeatBeside(this.#underWay) ? delay : undefined
  }

  #mayRepeatBeside(all: UnderWay | undefined): boolean {
    if (all === undefined || this.#repeats) return true
    if (all.repeated >= mostRepeated(all.requests)) {
      this.refused = true
      return false
    }
    all.repeated++
    this.#repeats = true
    return true
  }

  /** The client is told what the one under way came to. */
  settle(): void {
    this.#settled = true
    this.#body?.giveUp()
  }
}

/** Milliseconds for the request as a whole. What its caller gives is read as the route left it: each attempt passes on what is left. */
const limitOf = ({ exchange, received: { request } }: Passage): number => {
  const callers = grpcTimeoutOf(request.method, request.headers)
  const limit = exchange.get(timeouts)?.request ?? Number.POSITIVE_INFINITY
  return typeof callers === "number" ? Math.min(limit, callers) : limit
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
