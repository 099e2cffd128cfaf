/**
 * The connections to one backend: idle ones are kept and watched, calls wait for one in turn, and no connection serves two
 * calls at once.
 */
import type { Container } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import type { Carriers, Waiter } from "./carrier.ts"
import { Connection, type Home } from "./connection.ts"
import type { Dialler } from "./dial.ts"
import { PoolClosed, PoolExhausted } from "./failures.ts"

/** Other connections to the same backend, that count as well. */
export interface Elsewhere {
  readonly count: () => number
  /** Lets go of one that carries nothing. Returns whether there was one. */
  readonly spare: () => boolean
  /** There may be one more. */
  readonly freed: () => void
}

export interface PoolSettings {
  /** Makes a connection; `undefined`: it speaks something else, and others have it. */
  readonly dial: (home: Pool, done: (made: Connection | Error | undefined) => void) => void
  readonly follow: Dialler["follow"]
  /** The most connections; `undefined`: any number. */
  readonly most: number | undefined
  readonly elsewhere?: Elsewhere
  /** Milliseconds that an idle connection is kept. */
  readonly idleTimeout: number
  /** Milliseconds that a call waits while all connections are busy. */
  readonly acquireTimeout: number
  readonly now: () => number
  /** For what need not keep the process alive. */
  readonly later: Later
  readonly defect: (cause: unknown) => void
  /** Told which limit refused a call. */
  readonly refused: (limit: PoolExhausted["limit"]) => void
}

/** How many calls may wait while all connections are busy. */
export const mostWaiting = 1024

/**
 * Milliseconds for which a connection may have been idle that takes what cannot be repeated, unless others were seen to live
 * twice as long as it has: its peer may close it while the request is under way, and of that we may hear late.
 */
const surely = 1_000

/** Milliseconds after which a connection takes no more calls: whoever balances them behind the address may then move it. */
export const oldest = 600_000

export class Pool implements Carriers, Home, Container {
  readonly #settings: PoolSettings
  /** The last one was used last. */
  readonly #idle: Array<Connection> = []
  /** In the order in which they came, with the time at which they give up. */
  readonly #waiting = new Map<Waiter, number>()
  /** Those that wait for a connection of their own. */
  readonly #waitingFresh = new Map<Waiter, number>()
  /** Connections that stand. */
  readonly #standing = new Set<Connection>()
  /** The addresses of the backend, as long as there are connections to them. */
  #addresses: ReadonlySet<string> | undefined = undefined
  #stopFollowing: (() => void) | undefined = undefined
  /** Connections that are being made. */
  #pending = 0
  /** For how many milliseconds connections are known to live when they are idle, where their peer says nothing of it. */
  #lives = 0
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
      const connection = this.#takeIdle(waiter.repeatable)
      if (connection !== undefined) {
        waiter.connected(connection)
        return
      }
    }
    // Those that are idle are of no use to it.
    if (!this.#hasRoom() && !this.spare()) this.#settings.elsewhere?.spare()
    if (!this.#hasRoom() && this.waiting >= mostWaiting) {
      this.#refuse(waiter, "queue")
      return
    }
    const queue = waiter.fresh ? this.#waitingFresh : this.#waiting
    queue.set(waiter, this.#settings.now() + this.#settings.acquireTimeout)
    if (this.#hasRoom()) this.grow()
    else this.#armExpiry()
  }

  /** A connection that somebody else has opened. */
  adopt(connection: Connection): void {
    this.#stand(connection)
    this.#give(connection, true)
  }

  /** Whoever waits no longer. */
  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter)
    this.#waitingFresh.delete(waiter)
  }

  /** Refuses new calls. Those that were accepted end as they would. */
  close(): void {
    this.#closed = true
    while (this.#idle.length > 0) this.#discard(this.#idle[0]!)
  }

  /** Connections, made or being made. */
  get count(): number {
    return this.#standing.size + this.#pending
  }

  /** Lets go of an idle connection, for another one. Returns whether there was one. */
  spare(): boolean {
    const first = this.#idle[0]
    if (first === undefined) return false
    this.#discard(first)
    return true
  }

  /** Gives those up who wait, for others to serve. */
  takeWaiters(): ReadonlyArray<Waiter> {
    const waiters = [...this.#waitingFresh.keys(), ...this.#waiting.keys()]
    this.#waitingFresh.clear()
    this.#waiting.clear()
    return waiters
  }

  /** How many calls wait while all connections are busy. */
  get waiting(): number {
    return Math.max(0, this.#waiters - this.#pending)
  }

  #refuse(waiter: Waiter, limit: PoolExhausted["limit"]): void {
    this.#settings.refused(limit)
    waiter.refused(new PoolExhausted({ limit }))
  }

  get #waiters(): number {
    return this.#waiting.size + this.#waitingFresh.size
  }

  #hasRoom(): boolean {
    const { most, elsewhere } = this.#settings
    return most === undefined || this.count + (elsewhere?.count() ?? 0) < most
  }

  /** @param repeatable whoever takes it can try another one when its peer has closed it. */
  #takeIdle(repeatable: boolean): Connection | undefined {
    const now = this.#settings.now()
    for (let connection = this.#idle.at(-1); connection !== undefined; connection = this.#idle.at(-1)) {
      if (connection.expires > now) {
        // It goes on to be idle, and by that shows how long others may be.
        if (!repeatable && !this.#isSure(connection, now)) return undefined
        this.#idle.pop()
        connection.wake()
        return connection
      }
      this.#discard(connection)
    }
    return undefined
  }

  /** Whether its peer does not close it while a request is on its way. */
  #isSure(connection: Connection, now: number): boolean {
    const idle = now - connection.rests
    if (idle <= surely || connection.keepAlive !== undefined) return true
    // Before its first request a peer may be more patient, or less.
    if (!connection.served) return false
    // The first of them has been idle for longest.
    for (const other of this.#idle)
      if (other.served) {
        this.#lives = Math.max(this.#lives, now - other.rests)
        break
      }
    return 2 * idle <= this.#lives
  }

  /** Makes a connection for everybody who waits and has none under way. */
  grow(): void {
    while (this.#pending < this.#waiters && this.#hasRoom()) {
      this.#pending++
      this.#settings.dial(this, (made) => {
        this.#pending--
        if (made instanceof Connection) {
          this.#stand(made)
          this.#give(made, true)
        } else if (made !== undefined) {
          // It was made for somebody; the others wait for theirs.
          if (this.#waiters > this.#pending) this.#first(true)?.refused(made)
          this.grow()
        }
      })
    }
  }

  #stand(connection: Connection): void {
    const { follow, now } = this.#settings
    this.#standing.add(connection)
    this.#stopFollowing ??= follow((addresses) => this.#keepTo(addresses))
    // Its address may have gone while it was made: then whoever waits for it is its only caller.
    connection.retires = this.#addresses?.has(connection.address) === false ? 0 : now() + oldest
  }

  /** Connections to other addresses than these take no more calls. */
  #keepTo(addresses: ReadonlySet<string>): void {
    this.#addresses = addresses
    for (const connection of this.#standing) if (!addresses.has(connection.address)) connection.retires = 0
    for (const connection of this.#idle.slice()) if (connection.retires === 0) this.#discard(connection)
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
    const time = now()
    // The peer closes a second later than we stop to use it, for a request may be under way that long.
    const idle = keepAlive === undefined ? idleTimeout : Math.min(idleTimeout, (keepAlive - 1) * 1000)
    const kept = Math.min(idle, connection.retires - time)
    if (this.#closed || kept <= 0) {
      connection.destroy()
      return
    }
    connection.expires = time + kept
    connection.rests = time
    // From here on its peer may have closed it when a request is on its way.
    connection.used = true
    this.#idle.push(connection)
    connection.rest()
    if (!this.#sweeping) this.#sweepIn(kept)
  }

  #dropIdle(connection: Connection): boolean {
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    return place >= 0
  }

  #discard(connection: Connection): void {
    this.#dropIdle(connection)
    connection.destroy()
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
      if (connection.expires <= now) {
        if (connection.served) this.#lives = Math.max(this.#lives, now - connection.rests)
        this.#discard(connection)
      } else next = Math.min(next, connection.expires)
    }
    if (this.#idle.length > 0) this.#sweepIn(next - now)
  }

  #armExpiry(): void {
    if (this.#expiring) return
    const next = this.#nextDeadline()
    if (next === undefined) return
    this.#expiring = true
    this.#settings.later(Math.max(1, Math.ceil(next - this.#settings.now())), () => {
      this.#expiring = false
      this.#expire()
    })
  }

  /** Of those who wait while all connections are busy. What becomes of the first ones is told by the connections that are being made. */
  #nextDeadline(): number | undefined {
    let making = this.#pending
    let next: number | undefined
    for (const queue of [this.#waitingFresh, this.#waiting])
      for (const deadline of queue.values()) {
        if (making-- > 0) continue
        if (next === undefined || deadline < next) next = deadline
        break
      }
    return next
  }

  /** Refuses those who have waited for too long while all connections were busy. */
  #expire(): void {
    const now = this.#settings.now()
    let making = this.#pending
    for (const queue of [this.#waitingFresh, this.#waiting])
      for (const [waiter, deadline] of queue) {
        if (making-- > 0) continue
        if (deadline > now) break
        queue.delete(waiter)
        this.#refuse(waiter, "time")
      }
    this.#armExpiry()
  }

  /** Whether somebody waits for a new connection, and there is no room for it. */
  #wantsFresh(): boolean {
    return this.#waitingFresh.size > this.#pending && !this.#hasRoom()
  }

  // What connections ask for and tell.

  get later(): Later {
    return this.#settings.later
  }

  release(connection: Connection): void {
    // It stands in the place of the connection that somebody waits for, or of one that may take calls.
    if (this.#waiters > 0 && (connection.retires <= this.#settings.now() || this.#wantsFresh())) connection.destroy()
    else this.#give(connection, false)
  }

  lost(connection: Connection): void {
    this.#standing.delete(connection)
    if (this.#standing.size === 0) {
      this.#stopFollowing?.()
      this.#stopFollowing = undefined
      this.#addresses = undefined
    }
    // We let go of those that are idle by `#discard`: its peer has closed it.
    if (this.#dropIdle(connection) && connection.served) this.#lives = this.#settings.now() - connection.rests
    this.grow()
    this.#settings.elsewhere?.freed()
  }

  defect(cause: unknown): void {
    this.#settings.defect(cause)
  }

  contain(cause: unknown): void {
    this.defect(cause)
  }
}
