/** Equality and order across all types, and the keys under which equal values meet in a set. */
import { Buffer } from "node:buffer"
import { type Frame, outOfWork } from "./frame.ts"
import { fromJson } from "./json.ts"
import { isPlainObject, kindOf, typeNameOf } from "./kind.ts"
import { maxNesting } from "./limits.ts"
import { CelError } from "./problem.ts"
import type { Duration, Timestamp } from "./time.ts"
import {
  CelList,
  CelMap,
  type CelValue,
  type JsonObject,
  type ListValue,
  type MapValue,
  MapView,
  type Opaque,
  type Optional,
  SecretValue,
  type TypeValue,
  Uint
} from "./value.ts"

export const lengthOf = (list: ListValue): number => (list instanceof CelList ? list.items.length : list.length)

export const elementAt = (list: ListValue, index: number): CelValue =>
  list instanceof CelList ? list.items[index]! : fromJson(list[index])

/** Iteration that allocates nothing per element for either form of list. */
export const sizeOfMap = (map: MapValue): number =>
  map instanceof CelMap ? map.size : map instanceof MapView ? map.keys().length : Object.keys(map).length

/** The value under a key of a map, `undefined` where there is none. */
export const valueAt = (map: MapValue, key: CelValue): CelValue | undefined => {
  if (map instanceof CelMap) return map.get(key)
  if (typeof key !== "string") return undefined
  return map instanceof MapView ? map.get(key) : jsonField(map, key)
}

/** A field of a JSON object: its own only, so that `constructor` is a key like any other. */
export const jsonField = (object: JsonObject, key: string): CelValue | undefined => {
  const value = object[key]
  return value === undefined || (key in Object.prototype && !Object.hasOwn(object, key)) ? undefined : fromJson(value)
}

/**
 * Whether two values are equal. Values of different types are not, but numbers compare by what they count. `undefined` when the work
 * budget of the frame does not suffice.
 */
export const equals = (a: CelValue, b: CelValue, frame: Frame, depth = 0): boolean | undefined => {
  if (typeof a !== "object" && typeof a === typeof b)
    return typeof a === "string" && !frame.spendText(a.length) ? undefined : a === b
  if (a === null || b === null) return a === b
  // JSON has no NaN, so that the same container is equal to itself.
  if (a === b && (Array.isArray(a) || isPlainObject(a))) return true
  const kind = kindOf(a)
  const other = kindOf(b)
  if (kind !== other) {
    if (isNumber(kind) && isNumber(other)) return compareNumbers(a, b) === 0
    return (kind === "secret" && hides(a, b)) || (other === "secret" && hides(b, a))
  }
  switch (kind) {
    case "uint":
      return (a as Uint).value === (b as Uint).value
    case "bytes": {
      const [left, right] = [a as Uint8Array, b as Uint8Array]
      if (left.length !== right.length) return false
      return frame.spendText(left.length) ? compareBytes(left, right) === 0 : undefined
    }
    case "timestamp":
    case "duration":
      return (a as Timestamp | Duration).nanos === (b as Timestamp | Duration).nanos
    case "type":
      return (a as TypeValue).name === (b as TypeValue).name
    case "optional": {
      const [left, right] = [(a as Optional).value, (b as Optional).value]
      return left === undefined || right === undefined ? left === right : equals(left, right, frame, depth + 1)
    }
    case "list":
      return depth > maxNesting ? undefined : equalLists(a as ListValue, b as ListValue, frame, depth + 1)
    case "map":
      return depth > maxNesting ? undefined : equalMaps(a as MapValue, b as MapValue, frame, depth + 1)
    default:
      return (a as Opaque).equals(b as Opaque)
  }
}

/** A secret equals the text that it hides: comparing gives nothing away. */
const hides = (secret: CelValue, text: CelValue): boolean =>
  secret instanceof SecretValue && secret.unredacted() === text

const equalLists = (a: ListValue, b: ListValue, frame: Frame, depth: number): boolean | undefined => {
  const length = lengthOf(a)
  if (length !== lengthOf(b)) return false
  for (let i = 0; i < length; i++) {
    if (!frame.spend(1)) return undefined
    const equal = equals(elementAt(a, i), elementAt(b, i), frame, depth)
    if (equal !== true) return equal
  }
  return true
}

const equalMaps = (a: MapValue, b: MapValue, frame: Frame, depth: number): boolean | undefined => {
  const keys = keysOf(a)
  if (keys.length !== sizeOfMap(b)) return false
  for (const key of keys) {
    if (!frame.spend(2)) return undefined
    const [left, right] = [valueAt(a, key), valueAt(b, key)]
    if (left === undefined || right === undefined) {
      if (left !== right) return false
      continue
    }
    const equal = equals(left, right, frame, depth)
    if (equal !== true) return equal
  }
  return true
}

export const keysOf = (map: MapValue): ReadonlyArray<CelValue> =>
  map instanceof CelMap || map instanceof MapView ? map.keys() : Object.keys(map)

const isNumber = (kind: string) => kind === "int" || kind === "uint" || kind === "double"

/**
 * Order of two numbers of whatever types; NaN stands nowhere. An integer is compared with a double as the double nearest to it, as the
 * specification has it.
 */
const compareNumbers = (a: CelValue, b: CelValue): number => {
  if (typeof a === "number" || typeof b === "number") {
    const [left, right] = [Number(integral(a)), Number(integral(b))]
    return left < right ? -1 : left > right ? 1 : left === right ? 0 : Number.NaN
  }
  const [left, right] = [integral(a), integral(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

const integral = (value: CelValue) => (value instanceof Uint ? value.value : (value as bigint | number))

const compareBytes = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(a, b)

/** Order of strings by code point. UTF-16 units order the same way unless a surrogate meets a unit above the surrogates. */
const compareText = (a: string, b: string): number => {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  if (i === length) return a.length - b.length
  const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)]
  const high = left >= 0xd800 && right >= 0xd800
  return high ? order(left) - order(right) : left - right
}

const order = (unit: number) => (unit <= 0xdfff ? unit + 0x10000 : unit)

/**
 * Order of two values: negative, zero, positive, NaN for NaN; `undefined` when the types have no common order. Lists, maps, optionals and
 * types have none.
 */
export const compare = (a: CelValue, b: CelValue): number | undefined => {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b)
  const kind = kindOf(a)
  const other = kindOf(b)
  if (isNumber(kind) && isNumber(other)) return compareNumbers(a, b)
  if (kind !== other) return undefined
  switch (kind) {
    case "bool":
      return Number(a) - Number(b)
    case "bytes":
      return compareBytes(a as Uint8Array, b as Uint8Array)
    case "timestamp":
    case "duration": {
      const [left, right] = [(a as Timestamp | Duration).nanos, (b as Timestamp | Duration).nanos]
      return left < right ? -1 : left > right ? 1 : 0
    }
    default:
      return undefined
  }
}

/** The positions of the values in their order; values without a common order have none. Equal values keep their order. */
export const sortedOrder = (values: ReadonlyArray<CelValue>, frame: Frame): ReadonlyArray<number> | CelError => {
  const first = values[0]
  if (first === undefined) return []
  let length = 0
  for (const value of values) {
    if (kindOf(value) !== kindOf(first) || compare(value, value) === undefined)
      return new CelError("no_such_overload", `no such overload: sort of ${typeNameOf(first)} and ${typeNameOf(value)}`)
    if (typeof value === "string") length = Math.max(length, value.length)
  }
  if (!frame.spend(values.length * Math.ceil(Math.log2(values.length + 1)) * (2 + (length >> 4)))) return outOfWork
  const compared = (a: number, b: number) => compare(values[a]!, values[b]!) || a - b
  return values.map((_, at) => at).sort(compared)
}
