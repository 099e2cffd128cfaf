/**
 * How much clients may send before somebody takes it. A window that nobody has set begins small and grows while bodies fill
 * it and are taken as fast as they come: a connection of 100 ms round trip needs 2 MiB, a thousand idle ones none. The
 * runtime counts for the connection what has come, not what was taken, and sets the windows of all streams as one; so what a
 * session may hold is bounded by how many bodies are under way at once, and a further one is refused where it could be more.
 */
import type { ServerHttp2Session } from "node:http2"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { Http2Limits } from "../../http/client-connection.ts"

/** That of the protocol: it need not be announced. */
const first = 65_535
const largest = 2 * 1024 * 1024
/** Of all bodies of a connection: what windows grow within, and what they may be in force for until a client has heard that they shrink. */
const wanted = 4 * 1024 * 1024
const most = 16 * 1024 * 1024

export class Windows {
  readonly #session: ServerHttp2Session
  readonly #fixed: boolean
  readonly #connectionFixed: boolean
  readonly #heard: () => void
  /** Bodies that are under way. */
  #bodies = 0
  #announced = first
  /** The largest that may be in force: what is announced counts from when the client has heard of it. */
  #binding = first
  #unheard = false
  #widened = false

  /** How much of a body may be on its way. */
  get largest(): number {
    return this.#binding
  }

  constructor(session: ServerHttp2Session, { window, connectionWindow }: Http2Limits, container: Container) {
    this.#session = session
    this.#fixed = window !== undefined
    if (window !== undefined) this.#binding = window
    this.#connectionFixed = connectionWindow !== undefined
    this.#heard = contained(container, () => {
      this.#unheard = false
      this.#binding = this.#announced
      this.#shrink()
    })
    if (connectionWindow !== undefined) session.setLocalWindowSize(connectionWindow)
  }

  /** Another body begins; `false`: it may not. */
  open(): boolean {
    this.#bodies++
    if (this.#fixed) return true
    this.#shrink()
    if (this.#binding === first || this.#bodies * this.#binding <= most) return true
    this.#bodies--
    return false
  }

  close(): void {
    this.#bodies--
  }

  /** So many bytes of a body have come and were taken; whether they are counted anew from here on. */
  taken(bytes: number): boolean {
    if (this.#fixed || bytes < this.#announced) return false
    const next = Math.min(largest, 8 * this.#announced)
    if (next > this.#announced && this.#bodies * next <= wanted && !this.#unheard) this.#announce(next)
    return true
  }

  #shrink(): void {
    if (!this.#unheard && this.#announced > first && this.#bodies * this.#announced > wanted)
      this.#announce(Math.max(first, Math.floor(wanted / this.#bodies)))
  }

  #announce(window: number): void {
    const session = this.#session
    if (session.destroyed) return
    if (!this.#widened && !this.#connectionFixed) {
      this.#widened = true
      session.setLocalWindowSize(wanted)
    }
    this.#announced = window
    this.#binding = Math.max(this.#binding, window)
    this.#unheard = true
    session.settings({ initialWindowSize: window }, this.#heard)
  }
}
