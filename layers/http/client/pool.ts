/**
 * The connections to one backend: idle ones are kept and watched, calls wait for one in turn, and no connection serves two
 * calls at once.
 */
import type { Container } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import { Connection, type Home } from "./connection.ts"
import type { Dial } from "./dial.ts"
import { PoolClosed, PoolExhausted } from "./failures.ts"

export interface Waiter {
  /** It must not have served before: another one broke under this call, or it is to leave HTTP. */
  readonly fresh: boolean
  readonly connected: (connection: Connection) => void
  readonly refused: (error: Error) => void
}

export interface PoolSettings {
  readonly dial: Dial
  /** The most connections; `undefined`: any number. */
  readonly most: number | undefined
  /** Milliseconds that an idle connection is kept. */
  readonly idleTimeout: number
  /** Milliseconds that a call waits while all connections are busy. */
  readonly patience: number
  readonly now: () => number
  /** For what need not keep the process alive. */
  readonly later: Later
  readonly defect: (cause: unknown) => void
}

/** How many calls may wait while all connections are busy. */
const mostWaiting = 1024

export class Pool implements Home, Container {
  readonly #settings: PoolSettings
  /** The last one was used last. */
  readonly #idle: Array<Connection> = []
  /** In the order in which they came, with the time at which they give up. */
  readonly #waiting = new Map<Waiter, number>()
  /** Those that wait for a connection of their own. */
  readonly #waitingFresh = new Map<Waiter, number>()
  /** Connections that stand. */
  #standing = 0
  /** Connections that are being made. */
  #pending = 0
  #sweeping = false
  #expiring = false
  #closed = false

  constructor(settings: PoolSettings) {
    this.#settings = settings
  }

  /** Finds a connection, at once when one is idle. */
  acquire(waiter: Waiter): void {
    if (this.#closed) {
      waiter.refused(new PoolClosed())
      return
    }
    if (!waiter.fresh && this.#idle.length > 0) {
      const connection = this.#takeIdle()
      if (connection !== undefined) {
        waiter.connected(connection)
        return
      }
    }
    if (!this.#hasRoom() && waiter.fresh) this.#idle[0]?.destroy()
    if (!this.#hasRoom() && this.#waiters - this.#pending >= mostWaiting) {
      waiter.refused(new PoolExhausted({ limit: "queue" }))
      return
    }
    const queue = waiter.fresh ? this.#waitingFresh : this.#waiting
    queue.set(waiter, this.#settings.now() + this.#settings.patience)
    if (this.#hasRoom()) this.#grow()
    else this.#armExpiry()
  }

  /** Whoever waits no longer. */
  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
    this.#waitingFresh.delete(waiter)
  }

  /** Refuses new calls. Those that were accepted end as they would. */
  close(): void {
    this.#closed = true
    while (this.#idle.length > 0) this.#idle[0]!.destroy()
  }

  get #waiters(): number {
    return this.#waiting.size + this.#waitingFresh.size
  }

  #hasRoom(): boolean {
    const { most } = this.#settings
    return most === undefined || this.#standing + this.#pending < most
  }

  #takeIdle(): Connection | undefined {
    const now = this.#settings.now()
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.expires > now) {
        connection.wake()
        return connection
      }
      connection.destroy()
    }
    return undefined
  }

  /** Makes a connection for everybody who waits and has none under way. */
  #grow(): void {
    while (this.#pending < this.#waiters && this.#hasRoom()) {
      this.#pending++
      this.#settings.dial(this, (made) => {
        this.#pending--
        if (made instanceof Connection) {
          this.#standing++
          this.#give(made, true)
        } else {
          // It was made for somebody; the others wait for theirs.
          if (this.#waiters > this.#pending) this.#first(true)?.refused(made)
          this.#grow()
        }
      })
    }
  }

  #first(fresh: boolean): Waiter | undefined {
    for (const queue of fresh ? [this.#waitingFresh, this.#waiting] : [this.#waiting]) {
      for (const waiter of queue.keys()) {
        queue.delete(waiter)
        return waiter
      }
    }
    return undefined
  }

  #give(connection: Connection, fresh: boolean): void {
    const waiter = this.#waiters === 0 ? undefined : this.#first(fresh)
    if (waiter !== undefined) waiter.connected(connection)
    else this.#keep(connection)
  }

  #keep(connection: Connection): void {
    const { idleTimeout, now } = this.#settings
    const { keepAlive } = connection
    // The peer closes a second later than we stop to use it, for a request may be under way that long.
    const kept = keepAlive === undefined ? idleTimeout : Math.min(idleTimeout, (keepAlive - 1) * 1000)
    if (this.#closed || kept <= 0) {
      connection.destroy()
      return
    }
    connection.expires = now() + kept
    // From here on its peer may have closed it when a request is on its way.
    connection.used = true
    this.#idle.push(connection)
    connection.rest()
    if (!this.#sweeping) this.#sweepIn(kept)
  }

  #sweepIn(milliseconds: number): void {
    this.#sweeping = true
    this.#settings.later(Math.max(1, Math.ceil(milliseconds)), () => {
      this.#sweeping = false
      this.#sweep()
    })
  }

  /** Closes what has been idle for long enough. */
  #sweep(): void {
    const now = this.#settings.now()
    let next = Number.POSITIVE_INFINITY
    for (const connection of this.#idle.slice()) {
      if (connection.expires <= now) connection.destroy()
      else next = Math.min(next, connection.expires)
    }
    if (this.#idle.length > 0) this.#sweepIn(next - now)
  }

  #armExpiry(): void {
    if (this.#expiring || this.#waiters === 0) return
    this.#expiring = true
    let next = Number.POSITIVE_INFINITY
    for (const queue of [this.#waiting, this.#waitingFresh])
      for (const deadline of queue.values()) {
        next = Math.min(next, deadline)
        break
      }
    this.#settings.later(Math.max(1, Math.ceil(next - this.#settings.now())), () => {
      this.#expiring = false
      this.#expire()
    })
  }

  /** Refuses those who have waited for too long while all connections were busy. */
  #expire(): void {
    const now = this.#settings.now()
    for (const queue of [this.#waiting, this.#waitingFresh])
      for (const [waiter, deadline] of queue) {
        if (deadline > now) break
        queue.delete(waiter)
        waiter.refused(new PoolExhausted({ limit: "time" }))
      }
    this.#armExpiry()
  }

  // What connections ask for and tell.

  get later(): Later {
    return this.#settings.later
  }

  release(connection: Connection): void {
    // It stands in the place of the connection that somebody waits for.
    if (this.#waitingFresh.size > this.#pending && !this.#hasRoom()) connection.destroy()
    else this.#give(connection, false)
  }

  lost(connection: Connection): void {
    this.#standing--
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    this.#grow()
  }

  defect(cause: unknown): void {
    this.#settings.defect(cause)
  }

  contain(cause: unknown): void {
    this.defect(cause)
  }
}
