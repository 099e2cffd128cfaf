/**
 * The outer side of a tunnel that ends in the proxy itself. What is in it is a connection of another listener, which serves it;
 * this one keeps hold of the socket, so that whatever ends connections of the outer listener ends it too.
 */
import type { Socket } from "node:net"
import type { Effect } from "effect"
import type { Peer } from "../../src/pipeline/view.ts"
import type { Secured } from "../tls/secured.ts"
import {
  type BegunConnection,
  type Carrier,
  type ClientConnection,
  endUnlessAdmitted,
  type Limits,
  type Serving
} from "./client-connection.ts"
import { reset } from "./refusal.ts"

export class TunnelledConnection implements ClientConnection, Carrier {
  readonly socket: Socket
  readonly peer: Peer
  readonly secured: Secured | undefined
  readonly #opened: number
  readonly #serving: Serving
  /** Absent as long as the handshake in it is under way. */
  #inner: ClientConnection | undefined = undefined

  constructor(serving: Serving, { socket, peer, secured, opened }: BegunConnection) {
    this.#serving = serving
    this.socket = socket
    this.peer = peer
    this.secured = secured
    this.#opened = opened
  }

  carries(inner: ClientConnection): void {
    this.#inner = inner
  }

  get run(): Serving["run"] {
    return this.#serving.run
  }

  contain(cause: unknown): void {
    this.cut()
    this.#serving.defect(cause)
  }

  readmitted(decision: Effect.Effect<boolean>, failure: string): void {
    endUnlessAdmitted(this, decision, failure)
  }

  retire(): void {
    this.#inner?.retire()
  }

  finish(): void {
    if (this.#inner === undefined) this.cut()
    else this.#inner.finish()
  }

  /** Its requests are those of the inner listener, which cuts them. */
  cutRequests(): number {
    return 0
  }

  end(failure: string): void {
    if (this.#inner === undefined) this.cut()
    else this.#inner.end(failure)
  }

  cut(): void {
    if (this.#inner === undefined) reset(this.socket)
    else this.#inner.cut()
  }

  /** It ends between two requests when it is too old, or when nobody may open one like it any more. */
  sweep(now: number, { maxConnectionDuration, connects }: Limits): void {
    const isOld = maxConnectionDuration !== undefined && now - this.#opened >= maxConnectionDuration
    if (isOld || connects === "deny" || connects === "route") this.#inner?.finish()
  }
}
