/**
 * What is known of names: each is looked up by one at a time for all who ask, kept for as long as its answer may be, and
 * looked up in the background while somebody follows it. Where nobody can say, what was known before still holds.
 */
import { type Families, type Hear, type Known, type Names, NameUnresolved } from "../../src/services/names.ts"
import type { Later } from "../../src/services/timer.ts"
import type { Outcome } from "./query.ts"
import { absent, type Family, type Found } from "./search.ts"

/** How long an answer is kept, whatever it says of itself, and how long a failure; in milliseconds. */
const leastKept = 1_000
const mostKept = 300_000
const failureKept = 1_000

/** Milliseconds for which somebody waits for a new answer where there is an old one (RFC 8767 5). */
const staleAfter = 1_000

/** Milliseconds for which an answer holds that nobody can confirm (RFC 8767 5): the address may be somebody else's by then. */
const mostStale = 86_400_000

/** Milliseconds for which it is remembered which addresses were answered, and how many of them. */
const remembered = 600_000
const mostRemembered = 1_024

/** How many addresses come back until it is taken for sure that each answer holds but some of them: once may be a change that was taken back. */
const rotates = 2

/** Names that are kept though nobody uses them. */
const mostNames = 4_096

export interface BookSettings {
  /** @param steadfast there are older answers. */
  readonly lookUp: (name: string, families: Families, steadfast: boolean, found: Found) => void
  /** Whether the files of the system say something else than when this was asked last. */
  readonly changed: () => boolean
  readonly now: () => number
  readonly later: Later
  /** Told what came of a lookup. */
  readonly count: (outcome: "found" | "absent" | "failed") => void
  /** Told that a name was dropped for another one. */
  readonly evicted: () => void
}

interface Asking {
  readonly hear: Hear
  readonly callOff: () => void
}

interface Entry {
  readonly name: string
  readonly families: Families
  /** The newest answer. */
  known: { readonly v4: ReadonlyArray<string>; readonly v6: ReadonlyArray<string> } | undefined
  /** When each family was last answered for. */
  readonly confirmed: { v4: number; v6: number }
  /** When each address was last in an answer. */
  readonly seen: Map<string, number>
  /** How many addresses were in an answer, then not, and then again. */
  returns: number
  failure: NameUnresolved | undefined
  /** Until when that is told without another lookup. */
  expires: number
  /** What a lookup that runs has found. */
  coming: Map<Family, Outcome> | undefined
  /** The files of the system have changed since that lookup began. */
  outdated: boolean
  readonly asking: Set<Asking>
  readonly following: Set<(addresses: ReadonlySet<string>) => void>
  callOffRefresh: (() => void) | undefined
}

const nothing = (): void => {}

export class Book {
  readonly #settings: BookSettings
  /** Whoever was asked for last is last. */
  readonly #entries = new Map<string, Entry>()
  #closed = false

  constructor(settings: BookSettings) {
    this.#settings = settings
  }

  readonly ask: Names["Service"]["ask"] = (name, families, hear) => {
    const { later, now } = this.#settings
    if (this.#closed) {
      hear(new NameUnresolved({ code: "ECANCELLED" }))
      return nothing
    }
    this.#notice()
    const entry = this.#entryOf(name, families)
    forgetOld(entry, now())
    if (entry.expires > now()) {
      tell(entry, hear)
      return nothing
    }
    const asking: Asking = {
      hear,
      callOff: hasAddresses(entry) ? later(staleAfter, () => entry.asking.delete(asking) && tell(entry, hear)) : nothing
    }
    entry.asking.add(asking)
    if (entry.coming === undefined) this.#lookUp(entry)
    else if (entry.coming.size > 0) hear(partOf(entry))
    return () => {
      entry.asking.delete(asking)
      asking.callOff()
    }
  }

  readonly follow: Names["Service"]["follow"] = (name, families, changed) => {
    const entry = this.#entryOf(name, families)
    entry.following.add(changed)
    if (entry.known !== undefined) changed(addressesOf(entry))
    this.#refreshLater(entry)
    return () => {
      entry.following.delete(changed)
      if (entry.following.size > 0) return
      entry.callOffRefresh?.()
      entry.callOffRefresh = undefined
    }
  }

  close(): void {
    this.#closed = true
    for (const entry of this.#entries.values()) {
      entry.callOffRefresh?.()
      for (const { callOff } of entry.asking) callOff()
    }
  }

  #entryOf(name: string, families: Families): Entry {
    const key = `${families} ${name.toLowerCase()}`
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      if (this.#entries.size >= mostNames) this.#evict()
      entry = {
        name: name.toLowerCase(),
        families,
        known: undefined,
        confirmed: { v4: 0, v6: 0 },
        seen: new Map(),
        returns: 0,
        failure: undefined,
        expires: 0,
        coming: undefined,
        outdated: false,
        asking: new Set(),
        following: new Set(),
        callOffRefresh: undefined
      }
    } else this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Whatever is known is asked anew when the files of the system have changed. */
  #notice(): void {
    if (!this.#settings.changed()) return
    for (const entry of this.#entries.values()) {
      entry.expires = 0
      entry.outdated = entry.coming !== undefined
      if (entry.callOffRefresh === undefined) continue
      entry.callOffRefresh()
      entry.callOffRefresh = undefined
      this.#refreshLater(entry)
    }
  }

  #evict(): void {
    for (const [key, { coming, following }] of this.#entries)
      if (coming === undefined && following.size === 0) {
        this.#entries.delete(key)
        this.#settings.evicted()
        return
      }
  }

  #lookUp(entry: Entry): void {
    if (this.#closed) return
    const coming = new Map<Family, Outcome>()
    entry.coming = coming
    this.#settings.lookUp(entry.name, entry.families, hasAddresses(entry), {
      family: (family, outcome) => {
        coming.set(family, outcome)
        if (this.#closed) return
        const part = partOf(entry)
        if (part.v4 === undefined || part.v6 === undefined)
          for (const { hear, callOff } of [...entry.asking]) {
            callOff()
            hear(part)
          }
      },
      over: (failure) => {
        if (this.#closed) return
        const before = addressesOf(entry)
        this.#conclude(entry, coming, failure)
        if (entry.outdated) entry.expires = 0
        entry.outdated = false
        entry.coming = undefined
        // First: whoever is told below may begin to follow, and knows then.
        if (entry.following.size > 0) {
          const after = addressesOf(entry)
          if (differ(before, after)) for (const changed of entry.following) changed(after)
          this.#refreshLater(entry)
        }
        for (const asking of [...entry.asking]) {
          entry.asking.delete(asking)
          asking.callOff()
          tell(entry, asking.hear)
        }
      }
    })
  }

  #conclude(entry: Entry, coming: ReadonlyMap<Family, Outcome>, failure: string | undefined): void {
    const { count, now } = this.#settings
    forgetOld(entry, now())
    const { known } = entry
    if (failure !== undefined) {
      count(failure === absent ? "absent" : "failed")
      entry.expires = now() + failureKept
      // It was somebody else's failure: what was known may well still be so.
      if (failure !== absent && hasAddresses(entry)) return
      entry.known = { v4: [], v6: [] }
      entry.seen.clear()
      entry.failure = new NameUnresolved({ code: failure })
      return
    }
    count("found")
    let kept = mostKept
    const latest = (family: Family): ReadonlyArray<string> => {
      const outcome = coming.get(family)
      if (typeof outcome !== "object" || "addresses" in outcome) entry.confirmed[family] = now()
      if (outcome === undefined || outcome === "none") return []
      if ("addresses" in outcome) {
        kept = Math.min(kept, Math.max(leastKept, outcome.ttl * 1000))
        return outcome.addresses
      }
      kept = failureKept
      return known?.[family] ?? []
    }
    entry.known = { v4: latest("v4"), v6: latest("v6") }
    remember(entry, known, now())
    entry.failure = undefined
    entry.expires = now() + kept
  }

  #refreshLater(entry: Entry): void {
    if (entry.callOffRefresh !== undefined || entry.coming !== undefined || this.#closed) return
    entry.callOffRefresh = this.#settings.later(Math.max(1, entry.expires - this.#settings.now()), () => {
      entry.callOffRefresh = undefined
      this.#notice()
      if (entry.coming === undefined) this.#lookUp(entry)
    })
  }
}

const forgetOld = (entry: Entry, now: number): void => {
  const { known, confirmed } = entry
  if (known === undefined) return
  const latest = (family: Family) => (now - confirmed[family] < mostStale ? known[family] : [])
  entry.known = { v4: latest("v4"), v6: latest("v6") }
}

const hasAddresses = ({ known }: Entry): boolean => known !== undefined && known.v4.length + known.v6.length > 0

/** The addresses that connections may have: where each answer holds but some of them, those of earlier answers, too. */
const addressesOf = ({ known, seen, returns }: Entry): ReadonlySet<string> => {
  const newest = listed(known)
  return new Set(returns < rotates ? newest : [...newest, ...seen.keys()])
}

const listed = (known: Entry["known"]): ReadonlyArray<string> => (known === undefined ? [] : [...known.v4, ...known.v6])

const remember = (entry: Entry, before: Entry["known"], now: number): void => {
  const { known, seen } = entry
  const [newest, last] = [listed(known), new Set(listed(before))]
  for (const address of newest) {
    if (seen.delete(address) && !last.has(address)) entry.returns++
    seen.set(address, now)
  }
  for (const [address, at] of seen) if (now - at >= remembered || seen.size > mostRemembered) seen.delete(address)
  // Whatever else it had has gone.
  if (seen.size === newest.length) entry.returns = 0
}

/** What a lookup that runs has found up to now. */
const partOf = ({ families, coming }: Entry): Known => {
  const part = (family: Family): ReadonlyArray<string> | undefined => {
    if (families !== "both" && families !== family) return []
    const outcome = coming?.get(family)
    if (outcome === undefined) return undefined
    return typeof outcome === "object" && "addresses" in outcome ? outcome.addresses : []
  }
  return { v4: part("v4"), v6: part("v6") }
}

const tell = ({ known, failure }: Entry, hear: Hear): void => hear(failure ?? known ?? { v4: [], v6: [] })

const differ = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size !== other.size || !one.isSubsetOf(other)
