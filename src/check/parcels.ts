/**
 * A value in parcels that are opened one at a time: what a thread hands over whole arrives in one go, and for a large
 * configuration that takes longer than a thread that serves may be away.
 */
import { Redacted } from "effect"

type Key = string | number
type Holder = Record<Key, unknown>

/** Some of the objects of a value, as plain data. */
export interface Parcel {
  /** Objects to which this or a later parcel links, numbered through all parcels. The last one holds the value. */
  readonly objects: ReadonlyArray<object>
  /** Where an object of its own belongs: what holds it, under which key, and its number. */
  readonly links: ReadonlyArray<readonly [holder: Holder, key: Key, number: number]>
  /** Where a credential belongs. */
  readonly secrets: ReadonlyArray<readonly [holder: Holder, key: Key, secret: string]>
  /** Records without a prototype: names from outside are looked up in them. */
  readonly bare: ReadonlyArray<object>
  /** The next entries of an object that has too many for one parcel. */
  readonly entries: ReadonlyArray<
    readonly [number: number, keys: ReadonlyArray<string>, values: ReadonlyArray<unknown>]
  >
}

type Filling = { -readonly [K in Exclude<keyof Parcel, "objects">]: Array<Parcel[K][number]> } & { weight: number }

const fill = (): Filling => ({ links: [], secrets: [], bare: [], entries: [], weight: 0 })

const moveInto = (to: Filling, from: Filling) => {
  for (const link of from.links) to.links.push(link)
  for (const secret of from.secrets) to.secrets.push(secret)
  for (const record of from.bare) to.bare.push(record)
  to.weight += from.weight
}

/** Objects of one parcel, more or less, and the most entries of one object: a millisecond's work for whoever opens it. */
const defaultWeight = 1000

/** Packs a value without circles. What was one object stays one, however often it occurs. */
export const pack = (value: unknown, send: (parcel: Parcel) => void, weight = defaultWeight): void => {
  const packing = new Packing(value, send, weight)
  packing.whole([value])
  packing.flush()
}

class Packing {
  readonly #send: (parcel: Parcel) => void
  readonly #weight: number
  readonly #shared: ReadonlySet<object>
  readonly #numbers = new Map<object, number>()
  #objects: Array<object> = []
  #filling = fill()
  #count = 0

  constructor(value: unknown, send: (parcel: Parcel) => void, weight: number) {
    this.#send = send
    this.#weight = weight
    this.#shared = sharedIn(value)
  }

  flush(): void {
    this.#send({ objects: this.#objects, ...this.#filling })
    this.#objects = []
    this.#filling = fill()
  }

  /** Packs an object by itself, and yields its number. */
  whole(source: object): number {
    const own = fill()
    const target = this.#empty(source, own)
    if (target === source) return this.#add(target, own)
    const entries = Object.entries(source)
    if (entries.length <= this.#weight) {
      for (const [key, inner] of entries) this.#place(target as Holder, key, inner, own)
      return this.#add(target, own)
    }
    const number = this.#add(target, own)
    for (let from = 0; from < entries.length; from += this.#weight) {
      const part = fill()
      const some = entries.slice(from, from + this.#weight)
      const values: Array<unknown> = []
      for (const [index, [, inner]] of some.entries()) this.#place(values as unknown as Holder, index, inner, part)
      part.weight += some.length
      this.#filling.entries.push([number, some.map(([key]) => key), values])
      this.#take(part)
    }
    return number
  }

  #add(object: object, part: Filling): number {
    this.#objects.push(object)
    this.#take(part)
    return this.#count++
  }

  #take(part: Filling): void {
    moveInto(this.#filling, part)
    if (this.#filling.weight >= this.#weight) this.flush()
  }

  /** The counterpart of an object, without its entries; or the object itself where a message carries it as it is. */
  #empty(source: object, part: Filling): object {
    part.weight++
    if (isWhole(source)) return source
    if (Array.isArray(source)) return []
    const target = {}
    const prototype = Object.getPrototypeOf(source)
    if (prototype === null) part.bare.push(target)
    else if (prototype !== Object.prototype) throw new TypeError(`a ${prototype.constructor?.name} cannot be packed`)
    return target
  }

  #place(holder: Holder, key: Key, inner: unknown, part: Filling): void {
    if (typeof inner !== "object" || inner === null) {
      put(holder, key, inner)
      return
    }
    // What is put in later keeps its place among the keys.
    put(holder, key, null)
    if (Redacted.isRedacted(inner)) part.secrets.push([holder, key, String(Redacted.value(inner))])
    else if (this.#shared.has(inner)) {
      const number = this.#numbers.get(inner) ?? this.whole(inner)
      this.#numbers.set(inner, number)
      part.links.push([holder, key, number])
    } else if (isWhole(inner) || Object.keys(inner).length > this.#weight)
      part.links.push([holder, key, this.whole(inner)])
    else {
      const own = fill()
      const target = this.#empty(inner, own)
      for (const [name, value] of Object.entries(inner)) this.#place(target as Holder, name, value, own)
      if (part.weight + own.weight > this.#weight) part.links.push([holder, key, this.#add(target, own)])
      else {
        put(holder, key, target)
        moveInto(part, own)
      }
    }
  }
}

/** Puts a value together again, parcel by parcel. */
export class Unpacking {
  readonly #objects: Array<object> = []

  open({ objects, links, secrets, bare, entries }: Parcel): void {
    for (const object of objects) this.#objects.push(object)
    for (const record of bare) Object.setPrototypeOf(record, null)
    for (const [holder, key, number] of links) put(holder, key, this.#objects[number])
    for (const [holder, key, secret] of secrets) put(holder, key, Redacted.make(secret))
    for (const [number, keys, values] of entries) {
      const holder = this.#objects[number] as Holder
      for (const [index, key] of keys.entries()) put(holder, key, values[index])
    }
  }

  /** The value, once all parcels are open. */
  get value(): unknown {
    const holder = this.#objects.at(-1)
    return Array.isArray(holder) ? holder[0] : undefined
  }
}

/** Sets an entry of any name: assigned, `__proto__` would not become one. */
const put = (holder: Holder, key: Key, value: unknown): void => {
  if (key === "__proto__")
    Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
  else holder[key] = value
}

/** What a message carries as it is: numbers, and sets and maps of text. */
const isWhole = (value: object): boolean => ArrayBuffer.isView(value) || value instanceof Set || value instanceof Map

/** The objects that occur more than once. */
const sharedIn = (value: unknown): ReadonlySet<object> => {
  const seen = new Set<object>()
  const shared = new Set<object>()
  const visit = (object: object) => {
    if (seen.has(object)) {
      shared.add(object)
      return
    }
    seen.add(object)
    if (Redacted.isRedacted(object) || isWhole(object)) return
    for (const inner of Object.values(object)) if (typeof inner === "object" && inner !== null) visit(inner)
  }
  if (typeof value === "object" && value !== null) visit(value)
  return shared
}
