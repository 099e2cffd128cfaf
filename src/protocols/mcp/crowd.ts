/**
 * The callers without a principal, whom nothing tells apart but the network that they come from: how many sessions each
 * network may hold at a time, so that one of them cannot take the place of all others.
 */
import { Ip } from "../../cel/network.ts"
import type { Caller } from "./session.ts"

/** An IPv6 host has a network of 64 bits to itself, and may call from any address in it. */
export const networkOf = (address: string): string => {
  const ip = address.includes(":") ? Ip.parse(address) : undefined
  return ip?.family === 6 ? `${(ip.bits >> 64n).toString(16)}::/64` : address
}

const nothing = () => {}

export class Crowd {
  readonly #limit: number
  readonly #held = new Map<string, number>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes a place, and yields how to give it back; `undefined` when there is none left. Who has a principal needs none. */
  enter({ principal, address }: Caller): (() => void) | undefined {
    if (principal !== "") return nothing
    const network = networkOf(address)
    const held = this.#held.get(network) ?? 0
    if (held >= this.#limit) return undefined
    this.#held.set(network, held + 1)
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      const left = this.#held.get(network)! - 1
      if (left === 0) this.#held.delete(network)
      else this.#held.set(network, left)
    }
  }
}
