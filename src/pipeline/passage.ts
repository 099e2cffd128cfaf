/**
 * The way of one request through the engine: where it has come to, when, and who watches. Steps see the message alone;
 * the engine, and the terminals at the end of a route, know the way as well.
 */
import { Effect } from "effect"
import type { HostVariable } from "../cel/phases.ts"
import type { Attempts } from "./attempts.ts"
import type { Beside } from "./beside.ts"
import type { Place } from "./bindings.ts"
import type { Unreadable } from "./errors.ts"
import type { Exchange } from "./exchange.ts"
import type { Backend, Listener, Route } from "./route.ts"
import type { StageError } from "./stage.ts"
import { both, type Watch } from "./watch.ts"

const noneAfterwards: Effect.Effect<never> = Effect.die(new Error("no node of this backend runs afterwards"))

export class Passage implements Place {
  /** The exchange with the client. */
  readonly received: Exchange
  /** The message that steps run on: the same, unless an attempt at a backend has one of its own. */
  exchange: Exchange
  /** Where more than one attempt may be made. */
  attempts: Attempts | undefined = undefined
  listener: Listener | undefined = undefined
  route: Route | undefined = undefined
  backend: Backend | undefined = undefined
  /** What runs beside the call under way, where anything does. */
  beside: Beside | undefined = undefined
  /** The address that is called, where a backend has several. */
  endpoint: string | undefined = undefined
  /** What tells the one that was chosen from the others, where a backend has several. */
  choice: string | undefined = undefined
  /** Whether there are others among them that no attempt was made at. */
  others = false
  /** When the backend was called and when it answered, on the monotonic clock. */
  called: number | undefined = undefined
  answered: number | undefined = undefined
  /** The index of the step at which a loop last stopped with an answer or a failure. */
  stoppedAt = 0
  /** Runs once more those nodes of the backend that do so when the phases are over. Ends with why the rest must not pass, if it must not. */
  afterwards: Effect.Effect<StageError | undefined> = noneAfterwards
  /** Which entry of a conditional policy was chosen on the way in. */
  choices: Map<object, number | Unreadable> | undefined = undefined
  watch: Watch | undefined = undefined
  #proxy: ProxyVariable | undefined = undefined

  constructor(exchange: Exchange) {
    this.received = this.exchange = exchange
    exchange.place = this
  }

  /** From here on that one is told everything, too. */
  watchedBy(watch: Watch): void {
    const all = this.watch === undefined ? watch : both(this.watch, watch)
    this.watch = all
    if (all.notes) this.exchange.told = (message) => all.told(message)
  }

  /** Where the attempt goes: one of the endpoints of its backend, or the backend. */
  get target(): string | undefined {
    return this.endpoint ?? this.backend?.target
  }

  get proxy(): HostVariable<"proxy"> {
    this.#proxy ??= new ProxyVariable(this)
    return this.#proxy
  }
}

class ProxyVariable implements HostVariable<"proxy"> {
  readonly #passage: Passage
  constructor(passage: Passage) {
    this.#passage = passage
  }
  get bind() {
    return this.#passage.listener?.bind
  }
  get gateway() {
    const gateway = this.#passage.listener?.gateway
    if (gateway === undefined) return undefined
    const slash = gateway.indexOf("/")
    return { namespace: gateway.slice(0, slash), name: gateway.slice(slash + 1) }
  }
  get listener() {
    return this.#passage.listener
  }
  get route() {
    return this.#passage.route
  }
  get requestProcessingDuration() {
    const { called, exchange } = this.#passage
    return called === undefined ? undefined : called - exchange.arrived
  }
  get upstreamDuration() {
    const { called, answered } = this.#passage
    return called === undefined || answered === undefined ? undefined : answered - called
  }
}
