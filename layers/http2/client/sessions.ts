/**
 * The sessions with one backend that speaks HTTP/2: calls share them, another one is opened before the streams of all are used up,
 * and calls wait in turn where there may be no more.
 */
import type { Container } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import type { Carriers, Waiter } from "../../http/client/carrier.ts"
import type { Opened } from "../../http/client/dial.ts"
import { ConnectionClosed, ConnectTimedOut, PoolClosed, PoolExhausted } from "../../http/client/failures.ts"
import { mostWaiting, oldest } from "../../http/client/pool.ts"
import { mostStreams, Session, type SessionHome } from "./session.ts"

/** Milliseconds between two looks at who has waited for too long, at least. */
const soon = 20

export interface SessionsSettings {
  /** Opens a connection; `undefined`: it speaks something else, and others have it. */
  readonly dial: (done: (made: Opened | Error | undefined) => void) => void
  readonly follow: (changed: (addresses: ReadonlySet<string>) => void) => () => void
  readonly scheme: "http" | "https"
  /** Whether there may be one more connection to the backend. Where not, others may give one up. */
  readonly hasRoom: () => boolean
  /** There may be one more. */
  readonly freed: () => void
  /** Milliseconds that a session without streams is kept. */
  readonly idleTimeout: number
  /** Milliseconds that a call waits while all sessions are full, and that a peer may take to tell its settings. */
  readonly acquireTimeout: number
  readonly now: () => number
  /** For what need not keep the process alive. */
  readonly later: Later
  readonly defect: (cause: unknown) => void
  /** Told which limit refused a call. */
  readonly refused: (limit: PoolExhausted["limit"]) => void
}

export class Sessions implements Carriers, SessionHome, Container {
  readonly #settings: SessionsSettings
  /** Those that stand, and those that wait for their peer's settings. */
  readonly #sessions = new Set<Session>()
  /** In the order in which they came, with the time at which they give up. */
  readonly #waiting = new Map<Waiter, number>()
  #addresses: ReadonlySet<string> | undefined = undefined
  #stopFollowing: (() => void) | undefined = undefined
  /** Connections that are being made, or whose peers have not told their settings. */
  #pending = 0
  /** How many streams a session takes, as the last peer said. */
  #usual = mostStreams
  #sweeping = false
  #expiring = false
  #closed = false

  constructor(settings: SessionsSettings) {
    this.#settings = settings
  }

  acquire(waiter: Waiter): void {
    if (this.#closed) {
      waiter.refused(new PoolClosed())
      return
    }
    const session = this.#best()
    if (session !== undefined) {
      this.#give(session, waiter)
      return
    }
    const { now, acquireTimeout } = this.#settings
    const mayGrow = this.#wantsMore(1) && this.#settings.hasRoom()
    if (!mayGrow && this.waiting >= mostWaiting) {
      this.#refuse(waiter, "queue")
      return
    }
    this.#waiting.set(waiter, now() + acquireTimeout)
    this.grow()
    this.#armExpiry()
  }

  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  /** Refuses new calls. Those that were accepted end as they would. */
  close(): void {
    this.#closed = true
    for (const session of [...this.#sessions]) if (session.stands) session.leave()
  }

  /** Connections, made or being made. */
  get count(): number {
    return this.#sessions.size + this.#pending - this.#unsettled
  }

  /** How many calls wait while all sessions are full. */
  get waiting(): number {
    return Math.max(0, this.#waiting.size - this.#pending * this.#usual)
  }

  /** Gives those up who wait, for others to serve. */
  takeWaiters(): ReadonlyArray<Waiter> {
    const waiters = [...this.#waiting.keys()]
    this.#waiting.clear()
    return waiters
  }

  /** Lets go of a session that carries nothing, for another connection. Returns whether there was one. */
  spare(): boolean {
    for (const session of this.#sessions)
      if (session.stands && session.open === 0) {
        session.leave()
        return true
      }
    return false
  }

  /** A connection that somebody else has opened. */
  adopt(opened: Opened): void {
    this.#pending++
    this.#begin(opened)
  }

  /** Opens connections for everybody who waits and has none under way. */
  grow(): void {
    while (this.#wantsMore(this.#waiting.size) && this.#settings.hasRoom()) this.#dial()
  }

  #wantsMore(waiting: number): boolean {
    return waiting > this.#pending * Math.max(1, this.#usual) && !this.#isPutOff
  }

  /** The backend takes no streams for now, and will say when it does: asking it once more, and again, would say the same. */
  get #isPutOff(): boolean {
    for (const session of this.#sessions) if (session.isUsable && session.most === 0) return true
    return false
  }

  #dial(): void {
    this.#pending++
    this.#settings.dial((made) => {
      if (made === undefined) this.#pending--
      else if (made instanceof Error) this.#failed(made)
      else this.#begin(made)
    })
  }

  /** Sessions of `#sessions` that `#pending` counts as well. */
  get #unsettled(): number {
    let unsettled = 0
    for (const session of this.#sessions) if (!session.stands) unsettled++
    return unsettled
  }

  #begin({ socket, address }: Opened): void {
    const { follow, later, acquireTimeout } = this.#settings
    let session: Session
    try {
      session = new Session(this, socket, address, this.#settings.scheme)
    } catch (cause) {
      socket.destroy()
      this.#failed(cause instanceof Error ? cause : new ConnectionClosed())
      return
    }
    this.#sessions.add(session)
    this.#stopFollowing ??= follow((addresses) => this.#keepTo(addresses))
    later(acquireTimeout, () => {
      if (!session.stands && this.#sessions.has(session)) session.destroy(new ConnectTimedOut())
    })
  }

  /** There is no connection: whoever waits for it is told why. */
  #failed(error: Error): void {
    this.#pending--
    const covered = this.#pending * this.#usual
    for (const waiter of [...this.#waiting.keys()].slice(0, Math.max(0, this.#waiting.size - covered))) {
      this.#waiting.delete(waiter)
      waiter.refused(error)
    }
    this.grow()
  }

  /** The one with the fewest streams. */
  #best(): Session | undefined {
    let best: Session | undefined
    for (const session of this.#sessions)
      if (session.hasRoom && (best === undefined || session.open < best.open)) best = session
    return best
  }

  #give(session: Session, waiter: Waiter): void {
    const stream = session.stream()
    this.#openAhead()
    waiter.connected(stream)
  }

  /** Opens another session before the streams of all are used up. */
  #openAhead(): void {
    if (this.#pending > 0) return
    for (const session of this.#sessions) {
      if (!session.isUsable) continue
      if (session.most < 4 || session.open < session.most * 0.75) return
    }
    if (this.#settings.hasRoom()) this.#dial()
  }

  #serve(): void {
    for (const waiter of this.#waiting.keys()) {
      const session = this.#best()
      if (session === undefined) break
      this.#waiting.delete(waiter)
      this.#give(session, waiter)
    }
    this.grow()
  }

  #refuse(waiter: Waiter, limit: PoolExhausted["limit"]): void {
    this.#settings.refused(limit)
    waiter.refused(new PoolExhausted({ limit }))
  }

  /** Sessions with other addresses than these take no more calls. */
  #keepTo(addresses: ReadonlySet<string>): void {
    this.#addresses = addresses
    for (const session of [...this.#sessions])
      if (session.stands && !addresses.has(session.address)) {
        session.retires = 0
        session.leave()
      }
  }

  #sweepIn(milliseconds: number): void {
    this.#sweeping = true
    this.#settings.later(Math.max(1, Math.ceil(milliseconds)), () => {
      this.#sweeping = false
      this.#sweep()
    })
  }

  /** Ends sessions that have carried nothing for long enough, and those that are old. */
  #sweep(): void {
    const now = this.#settings.now()
    let next = Number.POSITIVE_INFINITY
    for (const session of [...this.#sessions]) {
      if (!session.stands || session.open > 0) continue
      const ends = Math.min(session.rests + this.#settings.idleTimeout, session.retires)
      if (ends <= now) session.leave()
      else next = Math.min(next, ends)
    }
    if (next < Number.POSITIVE_INFINITY) this.#sweepIn(next - now)
  }

  #armExpiry(): void {
    if (this.#expiring) return
    const next = this.#waiting.values().next().value
    if (next === undefined) return
    this.#expiring = true
    // Those that are waited for with a connection that is being made may be older: that has a time of its own.
    this.#settings.later(Math.max(soon, Math.ceil(next - this.#settings.now())), () => {
      this.#expiring = false
      this.#expire()
    })
  }

  /** Refuses those who have waited for too long while all sessions were full. */
  #expire(): void {
    const now = this.#settings.now()
    let covered = this.#pending * this.#usual
    for (const [waiter, deadline] of this.#waiting) {
      if (covered-- > 0) continue
      if (deadline > now) break
      this.#waiting.delete(waiter)
      this.#refuse(waiter, "time")
    }
    this.#armExpiry()
  }

  #rests(session: Session): void {
    session.rests = this.#settings.now()
    if (this.#closed) session.leave()
    else if (!this.#sweeping) this.#sweepIn(Math.min(this.#settings.idleTimeout, session.retires - session.rests))
  }

  // What sessions ask for and tell.

  get later(): Later {
    return this.#settings.later
  }

  get now(): () => number {
    return this.#settings.now
  }

  ready(session: Session): void {
    this.#usual = session.most
    if (session.retires === Number.POSITIVE_INFINITY) {
      this.#pending--
      session.retires = this.#settings.now() + oldest
    }
    this.#serve()
    // Its address may have gone while it was opened: then whoever waited for it is its only caller.
    if (this.#addresses?.has(session.address) === false) session.retires = 0
    if (this.#closed || session.retires === 0) session.leave()
    else if (session.open === 0) this.#rests(session)
  }

  released(session: Session): void {
    this.#serve()
    if (session.open === 0 && this.#sessions.has(session)) this.#rests(session)
  }

  leaving(): void {
    this.grow()
  }

  lost(session: Session): void {
    if (!this.#sessions.delete(session)) return
    if (this.#sessions.size === 0) {
      this.#stopFollowing?.()
      this.#stopFollowing = undefined
      this.#addresses = undefined
    }
    if (session.stands) this.grow()
    else this.#failed(session.failure ?? new ConnectionClosed())
    this.#settings.freed()
  }

  defect(cause: unknown): void {
    this.#settings.defect(cause)
  }

  contain(cause: unknown): void {
    this.defect(cause)
  }
}
