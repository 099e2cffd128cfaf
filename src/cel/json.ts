/** Between JSON and the language: numbers become integers where they are integral, and every value has one form as JSON and one as text. */
import { Buffer } from "node:buffer"
import { type Frame, tooLarge } from "./frame.ts"
import { maxNesting, maxTextLength } from "./limits.ts"
import type { CelError } from "./problem.ts"
import { Duration, durationText, Timestamp, timestampText } from "./time.ts"
import { CelList, CelMap, type CelValue, type JsonObject, MapView, Opaque, Optional, TypeValue, Uint } from "./value.ts"

const minInt = -(2n ** 63n)
const maxInt = 2n ** 63n - 1n
const maxUint = 2n ** 64n - 1n

/** A number of JSON: integral within 64 bits is an int (a uint above that), everything else a double. */
export const fromJsonNumber = (number: number): bigint | Uint | number => {
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
export const entriesOf = function* (map: CelMap | MapView | JsonObject): Generator<readonly [CelValue, CelValue]> {
  if (map instanceof CelMap) for (const key of map.keys()) yield [key, map.get(key)!]
  else if (map instanceof MapView) {
    for (const key of map.keys()) {
      const value = map.get(key)
      if (value !== undefined) yield [key, value]
    }
  } else for (const key of Object.keys(map)) yield [key, fromJson(map[key])]
}

/** Where a conversion to text stands: what it wrote, and what it may still write. */
class Writer {
  text = ""
  readonly #frame: Frame | undefined
  constructor(frame: Frame | undefined) {
    this.#frame = frame
  }
  write(part: string): boolean {
    this.text += part
    return this.text.length <= maxTextLength && (this.#frame?.spend(1 + (part.length >> 5)) ?? true)
  }
}

/**
 * The compact JSON text of a value: bytes as base64, timestamps as RFC 3339, durations as `1.5s`, NaN and the infinities as strings, types
 * and addresses by name, secrets as `<redacted>`. Maps need keys that are strings, numbers or booleans. With a frame, the work counts
 * against its budget.
 */
export const toJson = (value: CelValue, frame?: Frame): string | CelError => {
  const writer = new Writer(frame)
  return writeJson(value, writer, 0) ? writer.text : tooLarge
}

const writeJson = (value: CelValue, writer: Writer, depth: number): boolean => {
  if (depth > maxNesting) return false
  switch (typeof value) {
    case "string":
      return writer.write(JSON.stringify(value))
    case "number":
      return writer.write(Number.isFinite(value) ? String(value) : JSON.stringify(String(value)))
    case "boolean":
    case "bigint":
      return writer.write(String(value))
  }
  if (value === null) return writer.write("null")
  if (value instanceof Optional) return writeJson(value.value ?? null, writer, depth + 1)
  const items = Array.isArray(value) ? value : value instanceof CelList ? value.items : undefined
  if (items !== undefined) {
    const convert = items === value
    if (!writer.write("[")) return false
    for (let i = 0; i < items.length; i++) {
      if (i > 0) writer.text += ","
      if (!writeJson(convert ? fromJson(items[i]) : items[i], writer, depth + 1)) return false
    }
    return writer.write("]")
  }
  const scalar = scalarText(value)
  if (scalar !== undefined) return writer.write(value instanceof Uint ? scalar : JSON.stringify(scalar))
  if (!writer.write("{")) return false
  let first = true
  for (const [key, entry] of entriesOf(value as CelMap | MapView | JsonObject)) {
    if (!writer.write(`${first ? "" : ","}${JSON.stringify(toText(key))}:`)) return false
    first = false
    if (!writeJson(entry, writer, depth + 1)) return false
  }
  return writer.write("}")
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
