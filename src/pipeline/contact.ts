/**
 * A connection of a client on its way through the policies of connections, and afterwards what was decided of it: a trace of a
 * request tells that of the connection over which it came.
 */
import type { StageMessage } from "../../spec/trace-events.ts"
import type { Bindings } from "../cel/bindings.ts"
import type { EffectivePolicies } from "./route.ts"
import type { StageFinished, Step, Traveller } from "./run.ts"
import { sourceOf } from "./source.ts"
import type { Environment } from "./trace.ts"
import type { ConnectionView, Peer } from "./view.ts"

/** What decides about the connections of a configuration. */
export interface Admission {
  readonly steps: ReadonlyArray<Step<Contact>>
  readonly effective: EffectivePolicies
}

/** What was told of a connection, in its order: what a node made of it, and what nodes told by themselves. */
export type ContactEvent =
  | { readonly stage: StageFinished<Contact>; readonly told?: undefined }
  | { readonly told: StageMessage; readonly stage?: undefined }

export class Contact implements ConnectionView, Traveller {
  readonly peer: Peer
  readonly now: number
  readonly arrived: number
  readonly admission: Admission
  /** Somebody waits for a request to trace: it may come over this connection. */
  readonly watched: boolean
  readonly watch = undefined
  readonly variables: Bindings
  stoppedAt = 0
  readonly events: Array<ContactEvent> = []
  /** What policies add to the log line of a connection that is refused. */
  facts: Map<string, string | number | boolean> | undefined = undefined

  constructor(
    peer: Peer,
    now: number,
    arrived: number,
    admission: Admission,
    env: Environment | undefined,
    watched: boolean
  ) {
    this.peer = peer
    this.now = now
    this.arrived = arrived
    this.admission = admission
    this.watched = watched
    this.variables = { source: sourceOf(peer), env }
  }

  get exchange(): this {
    return this
  }

  /** Nobody leaves anything for the policies of connections: whoever decides about a request comes later. */
  get(): undefined {
    return undefined
  }

  fact(key: string, value: string | number | boolean): void {
    this.facts ??= new Map()
    this.facts.set(key, value)
  }

  note(kind: string, details: unknown): void {
    this.tell({ type: "policyEvent", kind, details })
  }

  tell(message: StageMessage): void {
    if (this.watched) this.events.push({ told: message })
  }
}

/** By what a connection shares with its requests. */
const contacts = new WeakMap<Peer, Contact>()

/** What was decided of the connection of this client, if anything decides about connections. */
export const contactOf = (peer: Peer): Contact | undefined => contacts.get(peer)

/** The connection may send requests: those that are traced tell what was decided of it. */
export const remember = (contact: Contact): void => {
  contacts.set(contact.peer, contact)
}
