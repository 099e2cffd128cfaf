/**
 * Which of several endpoints requests of one kind go to: weighted rendezvous hashing. Every process comes to the same one, no
 * table is kept, and an endpoint that comes or goes moves its own share of the kinds alone.
 */

/** Two hashes of a text at once, of 32 bits each (FNV-1a). */
const hash = (text: string): readonly [high: number, low: number] => {
  let high = 0x811c9dc5
  let low = 0x01000193
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x85ebca6b)
  }
  return [mixed(high), mixed(low)]
}

/** Every bit of the result depends on every bit of the number (the finaliser of MurmurHash3). */
const mixed = (number: number): number => {
  let bits = Math.imul(number ^ (number >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

/** Hashes of what endpoints are told apart by: there are few, and they are asked for all the time. */
const endpoints = new WeakMap<object, readonly [high: number, low: number]>()

/** The one that has the most to do with `affinity`. */
export const best = <C extends { readonly key: string }>(
  candidates: ReadonlyArray<C>,
  affinity: string,
  weight: (candidate: C) => number
): C | undefined => {
  const [high, low] = hash(affinity)
  let found: C | undefined
  let most = Number.NEGATIVE_INFINITY
  for (const candidate of candidates) {
    let own = endpoints.get(candidate)
    if (own === undefined) {
      own = hash(candidate.key)
      endpoints.set(candidate, own)
    }
    const upper = mixed(high ^ own[0])
    const lower = mixed(low ^ own[1] ^ upper)
    // Between 0 and 1, both excluded.
    const uniform = (upper * 2 ** 21 + (lower >>> 11) + 0.5) / 2 ** 53
    const value = weight(candidate) / -Math.log(uniform)
    if (value <= most) continue
    found = candidate
    most = value
  }
  return found
}
