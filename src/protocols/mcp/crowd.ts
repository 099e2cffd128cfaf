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

/** Who has a place, and may be asked to leave it when nobody has needed it for long. */
export interface Guest {
  readonly busy: boolean
  readonly lastUsed: number
  readonly end: (farewell: undefined) => void
}

/** Many clients never end what they began: after this many idle milliseconds a session makes room for a new one of its network. */
const idleMillis = 60_000

const nothing = () => {}

export class Crowd {
  readonly #limit: number
  readonly #guests = new Map<string, Set<Guest>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes a place, and yields how to give it back; `undefined` when there is none left. Who has a principal needs none. */
  enter({ principal, address }: Caller, guest: Guest, now: number): (() => void) | undefined {
    if (principal !== "") return nothing
    const network = networkOf(address)
    const held = this.#guests.get(network)
    if (held !== undefined && held.size >= this.#limit) longestIdle(held, now)?.end(undefined)
    // Whoever was ended has left, and an address that nobody holds a place for is forgotten: so it is looked up anew.
    const guests = this.#guests.get(network) ?? new Set()
    if (guests.size >= this.#limit) return undefined
    this.#guests.set(network, guests.add(guest))
    return () => {
      guests.delete(guest)
      if (guests.size === 0 && this.#guests.get(network) === guests) this.#guests.delete(network)
    }
  }
}

const longestIdle = (guests: ReadonlySet<Guest>, now: number): Guest | undefined => {
  let longest: Guest | undefined
  for (const guest of guests)
    if (!guest.busy && now - guest.lastUsed >= idleMillis && guest.lastUsed < (longest?.lastUsed ?? now))
      longest = guest
  return longest
}
