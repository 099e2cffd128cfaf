/**
 * Those who wait for a request to trace, in the order in which they came. Each request takes at most one of them, and
 * each of them exactly one request, unless it follows. Nobody waiting costs a request one comparison.
 */
import type { TraceEvent } from "../../spec/trace-events.ts"
import type { Contact } from "./contact.ts"
import type { Exchange } from "./exchange.ts"
import type { StageError } from "./stage.ts"
import { Trace, type TraceSettings } from "./trace.ts"

export interface Subscription {
  /** Which requests are meant; evaluated on the request as received. Absent: any. */
  readonly wants?: ((exchange: Exchange) => boolean) | undefined
  /** Traces request after request, at most this many events in a second; the rest is dropped. */
  readonly follow?: { readonly eventsPerSecond: number } | undefined
  /** Takes an event and must not wait. `request` numbers the traced requests of a subscription. */
  readonly emit: (event: TraceEvent, request: number) => void
  /** The one traced request is over. Never called for one that follows. */
  readonly done: () => void
}

export class Watchers {
  readonly #settings: TraceSettings
  readonly #waiting = new Set<Subscription>()
  readonly #following = new Map<Subscription, Budget>()
  #requests = 0

  constructor(settings: TraceSettings) {
    this.#settings = settings
  }

  /** Whether anybody waits. */
  get waiting(): boolean {
    return this.#waiting.size > 0 || this.#following.size > 0
  }

  /** Adds a watcher; the returned function takes it back. */
  subscribe(subscription: Subscription): () => void {
    if (subscription.follow === undefined) {
      this.#waiting.add(subscription)
      return () => this.#waiting.delete(subscription)
    }
    this.#following.set(subscription, new Budget(subscription.follow.eventsPerSecond, this.#settings.clock))
    return () => this.#following.delete(subscription)
  }

  /**
   * Gives the request to the first watcher who wants it. Those who wait for one request go before those who follow, who
   * would leave them none.
   */
  claim(x: Exchange): Trace | undefined {
    return this.#claim((wants) => wants(x))
  }

  /** Gives a connection that is passed on to who waits for any request: it is what comes next. */
  claimRelay(): Trace | undefined {
    return this.#claim(() => false)
  }

  #claim(wanted: (wants: NonNullable<Subscription["wants"]>) => boolean): Trace | undefined {
    for (const subscription of this.#waiting) {
      if (subscription.wants !== undefined && !wanted(subscription.wants)) continue
      this.#waiting.delete(subscription)
      const request = ++this.#requests
      return new Trace(this.#settings, (event) => {
        subscription.emit(event, request)
        if (event.message.type === "requestFinished") subscription.done()
      })
    }
    for (const [subscription, budget] of this.#following) {
      if (budget.left() <= 0 || (subscription.wants !== undefined && !wanted(subscription.wants))) continue
      const request = ++this.#requests
      return new Trace(this.#settings, (event) => {
        if (budget.take()) subscription.emit(event, request)
      })
    }
    return undefined
  }

  /**
   * Tells of a connection that was refused whoever waits for any request: it would have been the next one. What somebody wants of a
   * request cannot be seen of a connection.
   */
  refused(contact: Contact, error: StageError): void {
    const trace = this.#claim(() => false)
    trace?.refused(contact, error)
  }
}

/** Events in the current second. */
class Budget {
  readonly #perSecond: number
  readonly #clock: () => number
  #second = -1
  #left = 0
  constructor(perSecond: number, clock: () => number) {
    this.#perSecond = perSecond
    this.#clock = clock
  }
  left(): number {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#left = this.#perSecond
    }
    return this.#left
  }
  take(): boolean {
    return this.left() > 0 && this.#left-- > 0
  }
}
