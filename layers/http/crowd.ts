/** How many connections clients have, all together and each of them; what would be too many is not taken. */

export interface CrowdLimits {
  /** Of all clients. */
  readonly most: number
  /** Of one address; of IPv6, of the network that one client has. */
  readonly mostOfAddress: number
}

export class Crowd {
  readonly #limits: CrowdLimits
  readonly #byClient = new Map<string, number>()
  #size = 0

  constructor(limits: CrowdLimits) {
    this.#limits = limits
  }

  /** Open connections. */
  get size(): number {
    return this.#size
  }

  /**
   * Counts one that has come, unless there are too many.
   * @param address empty for a Unix socket, which has one client: whoever is in front.
   */
  enter(address: string): "TooManyConnections" | "TooManyOfAddress" | undefined {
    if (this.#size >= this.#limits.most) return "TooManyConnections"
    if (address !== "") {
      const client = clientOf(address)
      const count = this.#byClient.get(client) ?? 0
      if (count >= this.#limits.mostOfAddress) return "TooManyOfAddress"
      this.#byClient.set(client, count + 1)
    }
    this.#size++
    return undefined
  }

  /** One that was counted is closed. */
  leave(address: string): void {
    this.#size--
    if (address === "") return
    const client = clientOf(address)
    const count = this.#byClient.get(client) ?? 0
    if (count > 1) this.#byClient.set(client, count - 1)
    else this.#byClient.delete(client)
  }
}

/** Whoever has one address of IPv6 has all of its network of 64 bits. */
export const clientOf = (address: string): string => {
  if (!address.includes(":") || address.includes(".")) return address
  const [head = "", tail] = address.split("%")[0]!.split("::")
  const groups = head === "" ? [] : head.split(":")
  if (tail !== undefined) {
    const behind = tail === "" ? 0 : tail.split(":").length
    while (groups.length + behind < 8) groups.push("0")
    if (groups.length < 4 && tail !== "") groups.push(...tail.split(":"))
  }
  return groups.slice(0, 4).join(":")
}
