/**
 * The values of the language. What arrives as JSON stays as it is: a plain array or object is a list or map whose elements are converted
 * when they are read, so a claim set of fifty entries costs nothing until an expression asks for one of them.
 */
import type { Duration, Timestamp } from "./time.ts"

/**
 * A CEL value as JavaScript holds it.
 *
 * | CEL | JavaScript |
 * |---|---|
 * | null, bool, string | the primitive |
 * | int | `bigint` within 64 bits |
 * | uint | {@link Uint} |
 * | double | `number` |
 * | bytes | `Uint8Array` |
 * | list | {@link CelList}, or a plain array of JSON |
 * | map | {@link CelMap}, a {@link MapView}, or a plain object of JSON |
 * | timestamp, duration, type, optional | the classes of those names |
 * | ip, cidr, secret | subclasses of {@link Opaque} |
 */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | ListValue
  | MapValue
  | Opaque

/** An array as `JSON.parse` gives it; a `bigint` in it stands for an integer beyond the exact range of a double. */
export type JsonArray = ReadonlyArray<unknown>

/** An object as `JSON.parse` gives it. */
export interface JsonObject {
  readonly [key: string]: unknown
}

export type ListValue = CelList | JsonArray
export type MapValue = CelMap | MapView | JsonObject

/** An unsigned 64-bit integer. */
export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** A list that an expression or the host built: its elements are CEL values already. */
export class CelList {
  readonly items: ReadonlyArray<CelValue>
  constructor(items: ReadonlyArray<CelValue>) {
    this.items = items
  }
}

/** A map that an expression or the host built. Numerically equal keys are one key, whatever their types. */
export class CelMap {
  readonly #entries = new Map<string | boolean | bigint, CelValue>()
  #uints: Set<bigint> | undefined

  get size(): number {
    return this.#entries.size
  }

  /** The value of a key, `undefined` where there is none. A key of a type that no map has is no key. */
  get(key: CelValue): CelValue | undefined {
    const canonical = canonicalKey(key)
    return canonical === undefined ? undefined : this.#entries.get(canonical)
  }

  /** Sets a key; false when a value of this type cannot be a key. A later entry wins over an earlier one. */
  set(key: CelValue, value: CelValue): boolean {
    if (typeof key === "number") return false
    const canonical = canonicalKey(key)
    if (canonical === undefined) return false
    this.#entries.set(canonical, value)
    if (key instanceof Uint) {
      this.#uints ??= new Set()
      this.#uints.add(key.value)
    } else if (typeof key === "bigint") this.#uints?.delete(key)
    return true
  }

  /** The keys in order of insertion, of the types they were given in. */
  keys(): Array<CelValue> {
    const keys: Array<CelValue> = []
    for (const key of this.#entries.keys())
      keys.push(typeof key === "bigint" && this.#uints?.has(key) ? new Uint(key) : key)
    return keys
  }

  static of(entries: Iterable<readonly [CelValue, CelValue]>): CelMap {
    const map = new CelMap()
    for (const [key, value] of entries) map.set(key, value)
    return map
  }
}

/** What `flatten` gives: a map from dotted names, which a log or a span shows as fields of their own. */
export class Flattened extends CelMap {}

const canonicalKey = (key: CelValue): string | boolean | bigint | undefined => {
  switch (typeof key) {
    case "string":
    case "boolean":
    case "bigint":
      return key
    case "number":
      return Number.isInteger(key) ? BigInt(key) : undefined
    default:
      return key instanceof Uint ? key.value : undefined
  }
}

/** A map with string keys whose entries are made when they are read: a root of the context, or headers. */
export abstract class MapView {
  abstract get(key: string): CelValue | undefined
  abstract keys(): Array<string>
}

/** A value with methods of its own that is neither scalar nor container. */
export abstract class Opaque {
  abstract readonly typeName: string
  abstract equals(other: Opaque): boolean
  /** What logs, JSON and `string()` show. */
  abstract toString(): string
}

/** The text that stands for every secret. */
export const redacted = "<redacted>"

/**
 * Text that must not reach logs, headers or bodies by accident. It compares by what it hides and shows itself as {@link redacted};
 * only `unredacted()` gives the text.
 */
export class SecretValue extends Opaque {
  readonly typeName = "secret"
  readonly #text: string
  constructor(text: string) {
    super()
    this.#text = text
  }
  unredacted(): string {
    return this.#text
  }
  equals(other: Opaque): boolean {
    return other instanceof SecretValue && other.#text === this.#text
  }
  toString(): string {
    return redacted
  }
  toJSON(): string {
    return redacted
  }
}

/** A type as a value: what `type(x)` gives and what names such as `int` denote. */
export class TypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: CelValue | undefined
  constructor(value: CelValue | undefined) {
    this.value = value
  }
  static readonly none = new Optional(undefined)
}
