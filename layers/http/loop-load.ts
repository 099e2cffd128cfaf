/**
 * Whether the event loop can begin more. What it measures is its turns: in one that takes long everybody waits, and most of
 * all whoever came while it ran. Where several in a row take too long, new requests are turned away, those above all that
 * have waited in this one longest; who is let in is as many as leave the next turns short.
 */
import type { Container } from "../../src/services/contained.ts"
import { containing } from "../../src/services/contained.ts"

export interface LoopLoadOptions {
  /** Milliseconds that a turn may take; 0: nobody is turned away. */
  readonly most: number
  /** Milliseconds, from a clock that never goes back. */
  readonly clock: () => number
  /** Milliseconds for which the loop has waited for something to happen, since the process began. */
  readonly idle: () => number
  /** Calls back at the end of the turn. */
  readonly atEndOfTurn: (ended: (load: LoopLoad) => void, load: LoopLoad) => void
  readonly defect: (cause: unknown) => void
}

/** So many of a turn are no crowd, whatever they cost. */
const few = 8
/** Milliseconds for which turns have to be late: a pause, for a collection or one costly request, turns nobody away. */
const sustained = 200
/** Milliseconds after which the rate is looked at. */
const window = 25
/** A share of the time: whoever sleeps longer is not overloaded. */
const asleep = 0.02
/** How a rate changes with each window: when turns are late, much too late, in time, and when the loop sleeps. */
const factors = { late: 0.9, veryLate: 0.75, inTime: 1.04, asleep: 1.15 }
/** Requests a millisecond: the least that is let in, and what nobody has to bound any more. */
const lowest = 0.01
const plenty = 0.1

export class LoopLoad implements Container {
  readonly #options: LoopLoadOptions
  /** What turns should take. */
  readonly #target: number
  /** When the first request of this turn was begun; `undefined` before. */
  #turn: number | undefined = undefined
  /** How many have asked in this turn. */
  #asked = 0
  #lastTurn = 0
  /** Turns in a row that were late, and when the first of them began. */
  #late = 0
  #lateSince = 0
  /** Requests a millisecond that are let in, and how many may be at once. */
  #rate = Number.POSITIVE_INFINITY
  #tokens = 0
  #filled = 0
  /** Of the window that is under way: when it began, the longest turn, how many were let in, how long the loop slept before. */
  #window = 0
  #longest = 0
  #admitted = 0
  #slept = 0

  constructor(options: LoopLoadOptions) {
    this.#options = options
    this.#target = options.most / 2
  }

  /** The turn that ended last, in milliseconds. */
  get lateness(): number {
    return this.#lastTurn
  }

  /** Whether another request may begin. */
  admits(): boolean {
    const { most, clock, atEndOfTurn } = this.#options
    if (most === 0) return true
    const now = clock()
    if (this.#turn === undefined) {
      this.#turn = now
      this.#asked = 0
      atEndOfTurn(endTurn, this)
    }
    if (++this.#asked > few && !this.#hasRoom(now, now - this.#turn)) return false
    this.#admitted++
    return true
  }

  #hasRoom(now: number, age: number): boolean {
    const { most } = this.#options
    if (this.#rate === Number.POSITIVE_INFINITY)
      return age <= most || this.#late === 0 || now - this.#lateSince < sustained
    // What was let in before is not done yet.
    if (age > most || this.#lastTurn > 0.75 * most) return false
    this.#tokens = Math.min(this.#rate * this.#target, this.#tokens + (now - this.#filled) * this.#rate)
    this.#filled = now
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  endOfTurn(): void {
    const now = this.#options.clock()
    const began = this.#turn ?? now
    this.#turn = undefined
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
      if (!sleeps && this.#late > 1 && now - this.#lateSince >= sustained)
        this.#bound(now, (0.5 * this.#admitted) / elapsed)
    } else if (!sleeps && this.#longest > target)
      this.#rate = Math.max(lowest, this.#rate * (this.#longest > 2 * target ? factors.veryLate : factors.late))
    else {
      this.#rate *= sleeps ? factors.asleep ** Math.min(40, elapsed / window) : factors.inTime
      // What is let in is far from what comes.
      if (sleeps && this.#rate > Math.max(plenty, (4 * this.#admitted) / elapsed)) this.#rate = Number.POSITIVE_INFINITY
    }
    this.#window = now
    this.#slept = idle
    this.#longest = 0
    this.#admitted = 0
  }

  #bound(now: number, rate: number): void {
    this.#rate = Math.max(lowest, rate)
    this.#tokens = 0
    this.#filled = now
  }

  contain(cause: unknown): void {
    this.#turn = undefined
    this.#options.defect(cause)
  }
}

// Called with what it is for, so that it is not made anew for each turn.
const endTurn = containing((load: LoopLoad) => load.endOfTurn())
