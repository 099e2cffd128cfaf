/**
 * Connects to one of the addresses of a name (RFC 8305): to the preferred family first and then to the other one in turn,
 * each a little later than the one before or when that has failed. The first connection that stands wins.
 */
import { type Known, NameUnresolved } from "../../../src/services/names.ts"
import type { Later } from "../../../src/services/timer.ts"

/** Milliseconds for which the preferred family is waited for when the other one is known (RFC 8305 3). */
const resolutionDelay = 50
/** Milliseconds between two attempts (RFC 8305 5). */
const attemptDelay = 250
/** Milliseconds for which a family is waited for when every address of the other one has failed: a server may keep silent for long. */
const lastDelay = 1_000

type Family = "v4" | "v6"

export interface RaceSettings {
  readonly preferred: Family
  readonly later: Later
  /** Begins to connect, and returns how to give up. Calls `connected` or `failed` later. */
  readonly attempt: (address: string) => () => void
  /** Nobody can be connected to. */
  readonly lost: (error: Error) => void
}

export class Race {
  readonly #settings: RaceSettings
  #known: Known = { v4: undefined, v6: undefined }
  readonly #tried = new Set<string>()
  /** How to give up those that are under way. */
  readonly #running = new Map<string, () => void>()
  /** Of the last attempt. */
  #last: Family | undefined = undefined
  #begun = false
  /** Ends the wait for a family, or for the time of the next attempt. */
  #stopWaiting: (() => void) | undefined = undefined
  /** Ends the wait for a family when all that is known has failed. */
  #stopHoping: (() => void) | undefined = undefined
  #error: Error | undefined = undefined
  #over = false

  constructor(settings: RaceSettings) {
    this.#settings = settings
  }

  /** More is known of the name, or that there is nothing to know. */
  hear(known: Known | NameUnresolved): void {
    if (this.#over) return
    if (known instanceof NameUnresolved) {
      this.#error ??= known
      this.#known = { v4: this.#known.v4 ?? [], v6: this.#known.v6 ?? [] }
    } else this.#known = known
    if (this.#begun) {
      if (this.#stopWaiting === undefined) this.#next()
      return
    }
    const { preferred, later } = this.#settings
    const first = this.#known[preferred]
    const second = this.#known[otherThan(preferred)]
    if ((first !== undefined && first.length > 0) || (first !== undefined && second !== undefined)) this.#begin()
    else if (second !== undefined && second.length > 0 && this.#stopWaiting === undefined)
      this.#stopWaiting = later(resolutionDelay, () => this.#begin())
  }

  #begin(): void {
    this.#rest()
    this.#begun = true
    this.#next()
  }

  #rest(): void {
    this.#stopWaiting?.()
    this.#stopWaiting = undefined
  }

  /** Tries the next address, of the other family if it can. */
  #next(): void {
    const { preferred, later, attempt } = this.#settings
    this.#stopHoping?.()
    this.#stopHoping = undefined
    const family = this.#last === undefined ? preferred : otherThan(this.#last)
    const [address, of] = this.#untried(family) ?? this.#untried(otherThan(family)) ?? []
    if (address === undefined) {
      if (this.#running.size > 0) return
      if (this.#known.v4 !== undefined && this.#known.v6 !== undefined) this.#lose()
      else if (this.#error !== undefined) this.#stopHoping = later(lastDelay, () => this.#lose())
      return
    }
    this.#last = of
    this.#tried.add(address)
    this.#stopWaiting = later(attemptDelay, () => {
      this.#stopWaiting = undefined
      this.#next()
    })
    this.#running.set(address, attempt(address))
  }

  #lose(): void {
    this.stop()
    this.#settings.lost(this.#error ?? new NameUnresolved({ code: "ENODATA" }))
  }

  #untried(family: Family): readonly [string, Family] | undefined {
    const address = this.#known[family]?.find((one) => !this.#tried.has(one))
    return address === undefined ? undefined : [address, family]
  }

  failed(address: string, error: Error): void {
    if (this.#over || !this.#running.delete(address)) return
    this.#error = error
    this.#rest()
    this.#next()
  }

  /** Why every address that is known has failed, while others are still looked up. */
  get failure(): Error | undefined {
    return this.#over || this.#running.size > 0 ? undefined : this.#error
  }

  /** This one wins: the others are given up. Returns whether there was still something to win. */
  connected(address: string): boolean {
    if (this.#over) return false
    this.#running.delete(address)
    this.stop()
    return true
  }

  stop(): void {
    this.#over = true
    this.#rest()
    this.#stopHoping?.()
    for (const giveUp of this.#running.values()) giveUp()
    this.#running.clear()
  }
}

const otherThan = (family: Family): Family => (family === "v4" ? "v6" : "v4")
