/**
 * When what clients ask for begins. A turn of the event loop begins requests for a few milliseconds; the others wait in a row
 * for the next turns, so that turns stay short: the loop accepts one connection a turn, and everybody waits for turns. Where
 * the row stays too long for too long, whoever has waited longest is turned away.
 */
import { type Container, containing } from "../../src/services/contained.ts"

/** What waits to begin. */
export interface Beginning extends Container {
  /** Its turn has come. @param admitted whether it may begin; else it is to be turned away, cheaply. */
  readonly begins: (admitted: boolean) => void
}

export interface BeginningsOptions {
  /** Milliseconds that somebody may wait; 0: any time. */
  readonly most: number
  /** Milliseconds, from a clock that never goes back. */
  readonly clock: () => number
  /** Milliseconds for which the loop has waited for something to happen, since the process began. */
  readonly idle: () => number
  /** Calls back at the end of the turn. */
  readonly atEndOfTurn: (ended: (beginnings: Beginnings) => void, beginnings: Beginnings) => void
  readonly defect: (cause: unknown) => void
}

/** Milliseconds of a turn in which requests begin. */
const slice = 4
/** Turns in which nothing that waits begins, because a connection was accepted in each: there may be more behind it. */
const mostPostponed = 16
/** So many that wait are no crowd, whatever they cost. */
const few = 4
/** Milliseconds for which it takes too long before anybody is turned away: what comes at once is done soon, and a pause is over. */
const sustained = 300
/** Milliseconds after which the rate is looked at. */
const window = 25
/** A share of the time: whoever sleeps longer is not overloaded. */
const asleep = 0.02
/** How a rate changes with each window: when turns are late, much too late, in time, and when the loop sleeps. */
const factors = { late: 0.9, veryLate: 0.75, inTime: 1.04, asleep: 1.15 }
/** Requests a millisecond: the least that begins, and what nobody has to bound any more. */
const lowest = 0.01
const plenty = 0.1

interface Waiting {
  readonly beginning: Beginning
  readonly since: number
}

export class Beginnings implements Container {
  readonly #options: BeginningsOptions
  /** What turns should take: requests whose work comes later, when backends answer, make them long. */
  readonly #target: number
  /** Those that wait, the first one at `#first`. */
  #row: Array<Waiting> = []
  #first = 0
  /** When the first of this turn began; `undefined` before. */
  #turn: number | undefined = undefined
  #accepted = false
  #postponed = 0
  #lastTurn = 0
  /** Since when everybody who began had waited too long. */
  #tooLongSince: number | undefined = undefined
  /** When somebody who began had waited too long, last. */
  #lastTooLong = 0
  /** Turns in a row that were late, and when the first of them began. */
  #late = 0
  #lateSince = 0
  /** Requests a millisecond that may begin, and how many may at once. */
  #rate = Number.POSITIVE_INFINITY
  #tokens = 0
  #filled = 0
  /** Of the window that is under way: when it began, the longest turn, how many began, how long the loop slept before. */
  #window = 0
  #longest = 0
  #began = 0
  #slept = 0

  constructor(options: BeginningsOptions) {
    this.#options = options
    this.#target = options.most / 2
  }

  /** How many wait. */
  get waiting(): number {
    return this.#row.length - this.#first
  }

  /** Milliseconds that the first of them has waited, or that the last turn took. */
  get lateness(): number {
    const first = this.#row[this.#first]
    return Math.max(this.#lastTurn, first === undefined ? 0 : this.#options.clock() - first.since)
  }

  /** A connection was accepted: it is the only one of this turn, whoever waits behind it. */
  accepted(): void {
    if (this.waiting > 0) this.#accepted = true
  }

  /** Whether something may begin at once that cannot wait, a handshake or a stream. */
  admits(): boolean {
    const now = this.#mark()
    if (this.#isTooLong(now) || !this.#takesToken(now)) return false
    this.#began++
    return true
  }

  /** Whether something may begin at once. Otherwise it is told later. */
  begin(beginning: Beginning): boolean {
    const now = this.#mark()
    if (this.waiting === 0 && now - this.#turn! <= slice && this.#takesToken(now)) {
      this.#tooLongSince = undefined
      this.#began++
      return true
    }
    this.#row.push({ beginning, since: now })
    return false
  }

  /** What waits already, for the next turn. */
  enqueue(beginning: Beginning): void {
    this.#row.push({ beginning, since: this.#mark() })
  }

  /** Notes that something happens in this turn. */
  #mark(): number {
    const now = this.#options.clock()
    if (this.#turn === undefined) this.#arm(now)
    return now
  }

  #arm(now: number): void {
    this.#turn = now
    this.#options.atEndOfTurn(endTurn, this)
  }

  #isTooLong(now: number): boolean {
    const { most } = this.#options
    if (most === 0 || this.#tooLongSince === undefined) return false
    // Nobody waits any more, and perhaps nobody can who does not begin first.
    if (this.waiting === 0 && now - this.#lastTooLong >= sustained) this.#tooLongSince = undefined
    return this.#tooLongSince !== undefined && now - this.#tooLongSince >= sustained
  }

  #takesToken(now: number): boolean {
    if (this.#rate === Number.POSITIVE_INFINITY) return true
    this.#tokens = Math.min(Math.max(1, this.#rate * this.#target), this.#tokens + (now - this.#filled) * this.#rate)
    this.#filled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  endOfTurn(): void {
    const { clock } = this.#options
    let now = clock()
    if (this.#accepted && this.#postponed < mostPostponed) this.#postponed++
    else {
      this.#postponed = 0
      now = this.#serve(now)
    }
    this.#accepted = false
    const began = this.#turn ?? now
    this.#turn = undefined
    if (this.#options.most > 0) this.#measure(began, now)
    if (this.waiting > 0) this.#arm(now)
  }

  /** Begins what waits, for a while. */
  #serve(start: number): number {
    const { most, clock } = this.#options
    let now = start
    while (this.#first < this.#row.length && now - start <= slice) {
      const { beginning, since } = this.#row[this.#first]!
      const waited = now - since
      if (most > 0 && waited > most) {
        this.#tooLongSince ??= now
        this.#lastTooLong = now
      } else if (waited <= most / 4) this.#tooLongSince = undefined
      if (waited > most && this.waiting > few && this.#isTooLong(now)) {
        this.#shift()
        tell(beginning, false)
      } else {
        if (!this.#takesToken(now)) break
        this.#shift()
        this.#began++
        tell(beginning, true)
      }
      now = clock()
    }
    if (this.waiting === 0) this.#tooLongSince = undefined
    return now
  }

  #shift(): void {
    this.#first++
    if (this.#first === this.#row.length) {
      this.#row = []
      this.#first = 0
    } else if (this.#first === 1024) {
      this.#row = this.#row.slice(1024)
      this.#first = 0
    }
  }

  #measure(began: number, now: number): void {
    this.#lastTurn = now - began
    this.#longest = Math.max(this.#longest, this.#lastTurn)
    if (this.#lastTurn <= this.#target) this.#late = 0
    else if (this.#late++ === 0) this.#lateSince = began
    const elapsed = now - this.#window
    if (elapsed >= window) this.#adjust(now, elapsed)
  }

  #adjust(now: number, elapsed: number): void {
    const target = this.#target
    const idle = this.#options.idle()
    const sleeps = idle - this.#slept > elapsed * asleep
    if (this.#rate === Number.POSITIVE_INFINITY) {
      if (!sleeps && this.#late > 1 && now - this.#lateSince >= sustained / 2) {
        this.#rate = Math.max(lowest, (0.5 * this.#began) / elapsed)
        this.#tokens = 0
        this.#filled = now
      }
    } else if (!sleeps && this.#longest > target)
      this.#rate = Math.max(lowest, this.#rate * (this.#longest > 2 * target ? factors.veryLate : factors.late))
    else {
      this.#rate *= sleeps ? factors.asleep ** Math.min(40, elapsed / window) : factors.inTime
      // What begins is far from what may.
      if (sleeps && this.#rate > Math.max(plenty, (4 * this.#began) / elapsed)) this.#rate = Number.POSITIVE_INFINITY
    }
    this.#window = now
    this.#slept = idle
    this.#longest = 0
    this.#began = 0
  }

  contain(cause: unknown): void {
    this.#turn = undefined
    this.#options.defect(cause)
  }
}

// Called with what they are for, so that they are not made anew for each.
const endTurn = containing((beginnings: Beginnings) => beginnings.endOfTurn())
const tell = containing((beginning: Beginning, admitted: boolean) => beginning.begins(admitted))
