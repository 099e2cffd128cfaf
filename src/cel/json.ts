/** Between JSON and the language: numbers become integers where they are integral, and every value has one form as JSON and one as text. */
import { Buffer } from "node:buffer"
import { type Frame, tooLarge } from "./frame.ts"
import { maxNesting, maxTextLength } from "./limits.ts"
import type { CelError } from "./problem.ts"
import { Duration, durationText, Timestamp, timestampText } from "./time.ts"
import {
  CelList,
  CelMap,
  type CelValue,
  type JsonObject,
  type MapValue,
  MapView,
  Opaque,
  Optional,
  TypeValue,
  Uint
} from "./value.ts"

const minInt = -(2n ** 63n)
const maxInt = 2n ** 63n - 1n
const maxUint = 2n ** 64n - 1n

/** A number of JSON: integral within 64 bits is an int (a uint above that), everything else a double. */
const fromJsonNumber = (number: number): bigint | Uint | number => {
  if (!Number.isInteger(number) || number >= 2 ** 64 || number < -(2 ** 63)) return number
  const integer = BigInt(number)
  return integer <= maxInt ? integer : new Uint(integer)
}

const fromJsonInteger = (integer: bigint): bigint | Uint | number =>
  integer >= minInt && integer <= maxInt
    ? integer
    : integer > 0n && integer <= maxUint
      ? new Uint(integer)
      : Number(integer)

/**
 * The value of anything that `JSON.parse` gives. Containers are not copied: their elements are converted when an expression reads them.
 * What JSON has no form for (functions, symbols, `undefined`) is null.
 */
export const fromJson = (json: unknown): CelValue => {
  switch (typeof json) {
    case "string":
    case "boolean":
      return json
    case "number":
      return fromJsonNumber(json)
    case "bigint":
      return fromJsonInteger(json)
    case "object":
      return json as JsonObject | null
    default:
      return null
  }
}

/** Entries of a map as pairs, JSON converted. */
export const entriesOf = function* (map: MapValue): Generator<readonly [CelValue, CelValue]> {
  if (map instanceof CelMap) for (const key of map.keys()) yield [key, map.get(key)!]
  else if (map instanceof MapView) {
    for (const key of map.keys()) {
      const value = map.get(key)
      if (value !== undefined) yield [key, value]
    }
  } else for (const key of Object.keys(map)) yield [key, fromJson(map[key])]
}

/** Characters of a string that are written at once. */
const piece = 8_192

/** Keys that need no escapes, by far the most. */
const plainKey = /^[\w.-]*$/

/** Writes JSON in parts, and stops when the result or the work grows too large. */
class JsonWriter {
  readonly parts: Array<string> = []
  readonly #frame: Frame | undefined
  readonly #most: number
  #length = 0

  constructor(frame: Frame | undefined, most = maxTextLength) {
    this.#frame = frame
    this.#most = most
  }

  value(value: CelValue, depth: number): boolean {
    if (depth > maxNesting) return false
    switch (typeof value) {
      case "string":
        return this.#string(value)
      case "number":
        return this.#write(Number.isFinite(value) ? String(value) : `"${value}"`, 4)
      case "boolean":
      case "bigint":
        return this.#write(String(value), 3)
    }
    if (value === null) return this.#write("null", 1)
    if (value instanceof Optional) return this.value(value.value ?? null, depth + 1)
    if (Array.isArray(value)) return this.#list(value, true, depth)
    if (value instanceof CelList) return this.#list(value.items, false, depth)
    const scalar = scalarText(value instanceof Uint8Array ? value.subarray(0, this.#most) : value)
    if (scalar === undefined) return this.#map(value as MapValue, depth)
    return this.#write(value instanceof Uint ? scalar : JSON.stringify(scalar), 4 + (scalar.length >> 4))
  }

  #write(part: string, steps: number): boolean {
    this.parts.push(part)
    this.#length += part.length
    return this.#length <= this.#most && (this.#frame?.spend(steps) ?? true)
  }

  /** Escapes are slow, and only the result tells how many there were, so long strings are written in pieces. */
  #string(text: string): boolean {
    if (text.length <= piece) return this.#write(JSON.stringify(text), 5 + (text.length >> 5))
    if (!this.#write('"', 1)) return false
    for (let from = 0; from < text.length; ) {
      const end = Math.min(from + piece, text.length)
      const to = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end + 1 : end
      const written = JSON.stringify(text.slice(from, to)).slice(1, -1)
      if (!this.#write(written, ((to - from) >> 6) + ((written.length - (to - from)) >> 1))) return false
      from = to
    }
    return this.#write('"', 1)
  }

  #list(items: ReadonlyArray<unknown>, json: boolean, depth: number): boolean {
    if (!this.#write("[", 1)) return false
    for (let i = 0; i < items.length; i++) {
      if (i > 0) this.parts.push(",")
      if (!this.value(json ? fromJson(items[i]) : (items[i] as CelValue), depth + 1)) return false
    }
    return this.#write("]", 1)
  }

  #map(map: MapValue, depth: number): boolean {
    if (!this.#write("{", 1)) return false
    let first = true
    for (const [key, value] of entriesOf(map)) {
      const name = toText(key)
      const written = plainKey.test(name) ? `"${name}":` : `${JSON.stringify(name)}:`
      if (!this.#write(first ? written : `,${written}`, 12 + (name.length >> 4))) return false
      first = false
      if (!this.value(value, depth + 1)) return false
    }
    return this.#write("}", 1)
  }
}

/**
 * The compact JSON text of a value: bytes as base64, timestamps as RFC 3339, durations as `1.5s`, NaN and the infinities as strings, types
 * and addresses by name, secrets as `<redacted>`; keys of maps as their text. With a frame, the work counts against its budget.
 */
export const toJson = (value: CelValue, frame?: Frame): string | CelError => {
  const writer = new JsonWriter(frame)
  return writer.value(value, 0) ? writer.parts.join("") : tooLarge
}

/** The same text for people, cut after so many characters. */
export const toShownJson = (value: CelValue, most: number): string => {
  const writer = new JsonWriter(undefined, most)
  const whole = writer.value(value, 0)
  const text = writer.parts.join("")
  return whole ? text : `${text.slice(0, most)}…`
}

/** The text of objects that are scalars; `undefined` for containers. */
const scalarText = (value: CelValue): string | undefined => {
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeValue) return value.name
  if (value instanceof Opaque) return value.toString()
  return undefined
}

/**
 * The text of a value for a header, a key or a log field: strings as they are, bytes as UTF-8, containers as JSON, everything else as in JSON
 * but without quotes.
 */
export const toText = (value: CelValue): string => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
    case "boolean":
    case "bigint":
      return String(value)
  }
  if (value === null) return "null"
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  const scalar = scalarText(value)
  if (scalar !== undefined) return scalar
  const json = toJson(value)
  return typeof json === "string" ? json : ""
}
