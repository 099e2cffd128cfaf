/**
 * The connections to backends that requests name: there may be any number of them, so pools are kept to those that were called
 * last, and the others are closed after what is in flight there has ended.
 */
import type { Connections } from "./upstream-call.ts"

/** How many pools all callers together may make. */
const mostPools = 4_096

export class ChosenPools {
  /** Whoever was called last is last. */
  readonly #pools = new Map<string, Connections>()
  readonly #evicted: () => void

  /** @param evicted told that a pool was closed for another one. */
  constructor(evicted: () => void) {
    this.#evicted = evicted
  }

  at(key: string, make: () => Connections): Connections {
    let found = this.#pools.get(key)
    if (found === undefined) {
      if (this.#pools.size >= mostPools) this.#evict()
      found = make()
    } else this.#pools.delete(key)
    this.#pools.set(key, found)
    return found
  }

  /** Nobody calls those whose keys begin so any more. */
  close(prefix: string): void {
    for (const [key, { pool }] of this.#pools)
      if (key.startsWith(prefix)) {
        this.#pools.delete(key)
        pool.close()
      }
  }

  get waiting(): number {
    let waiting = 0
    for (const { pool } of this.#pools.values()) waiting += pool.waiting
    return waiting
  }

  #evict(): void {
    for (const [key, { pool }] of this.#pools) {
      this.#pools.delete(key)
      pool.close()
      this.#evicted()
      return
    }
  }
}
