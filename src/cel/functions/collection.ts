/** Functions on lists, maps, sets and bytes. */

import { Buffer } from "node:buffer"
import { elementAt, keysOf, lengthOf, sizeOfMap, sortedOrder, valueAt } from "../compare.ts"
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { global, invalid, method } from "../function.ts"
import { toText } from "../json.ts"
import { kindOf } from "../kind.ts"
import { maxElements, maxNesting } from "../limits.ts"
import { contains } from "../operators.ts"
import { CelError } from "../problem.ts"
import { findText } from "../search.ts"
import { CelList, CelMap, type CelValue, Flattened, type ListValue, type MapValue, Optional } from "../value.ts"

/** The elements of a list as values; `undefined` when there are more than an evaluation may build. */
const itemsOf = (frame: Frame, list: ListValue): Array<CelValue> | undefined => {
  const length = lengthOf(list)
  if (length > maxElements || !frame.spend(1 + length)) return undefined
  return Array.from({ length }, (_, i) => elementAt(list, i))
}

const slice = (frame: Frame, list: ListValue, from: bigint, to: bigint): Outcome => {
  if (from < 0n || to > lengthOf(list) || from > to) return invalid(`invalid range: ${from} to ${to}`)
  const [start, end] = [Number(from), Number(to)]
  if (end - start > maxElements) return tooLarge
  if (!frame.spend(1 + end - start)) return outOfWork
  return new CelList(Array.from({ length: end - start }, (_, i) => elementAt(list, start + i)))
}

/** Nested lists laid out in place of themselves, to a depth. */
const flattenList = (frame: Frame, list: ListValue, depth: bigint): Outcome => {
  if (depth < 0n) return invalid("the depth is negative")
  const items: Array<CelValue> = []
  const visit = (value: ListValue, left: number): CelError | undefined => {
    for (let i = 0; i < lengthOf(value); i++) {
      if (!frame.spend(1)) return outOfWork
      const item = elementAt(value, i)
      if (left > 0 && kindOf(item) === "list") {
        const failed = visit(item as ListValue, left - 1)
        if (failed !== undefined) return failed
      } else if (items.push(item) > maxElements) return tooLarge
    }
    return undefined
  }
  return visit(list, Number(depth > BigInt(maxNesting) ? BigInt(maxNesting) : depth)) ?? new CelList(items)
}

const distinct = (frame: Frame, list: ListValue): Outcome => {
  const found: Array<CelValue> = []
  const texts = new Set<CelValue>()
  for (let i = 0; i < lengthOf(list); i++) {
    if (!frame.spend(1)) return outOfWork
    const item = elementAt(list, i)
    if (typeof item === "string" || typeof item === "boolean") {
      if (texts.has(item)) continue
      texts.add(item)
    } else {
      const known = contains(item, new CelList(found), frame)
      if (known instanceof CelError) return known
      if (known === true) continue
    }
    if (found.push(item) > maxElements) return tooLarge
  }
  return new CelList(found)
}

const sort = (frame: Frame, list: ListValue): Outcome => {
  const items = itemsOf(frame, list)
  if (items === undefined) return tooLarge
  const order = sortedOrder(items, frame)
  return order instanceof CelError ? order : new CelList(order.map((at) => items[at]!))
}

const range = (frame: Frame, count: bigint): Outcome => {
  if (count > BigInt(maxElements)) return tooLarge
  if (!frame.spend(1 + Number(count < 0n ? 0n : count))) return outOfWork
  const items: Array<CelValue> = []
  for (let at = 0n; at < count; at++) items.push(at)
  return new CelList(items)
}

/** Whether every element of `inner` is in `outer`. */
const containsAll = (frame: Frame, outer: ListValue, inner: ListValue): boolean | CelError => {
  for (let i = 0; i < lengthOf(inner); i++) {
    const found = contains(elementAt(inner, i), outer, frame)
    if (found !== true) return found === false ? false : (found as CelError)
  }
  return true
}

const intersects = (frame: Frame, a: ListValue, b: ListValue): boolean | CelError => {
  for (let i = 0; i < lengthOf(a); i++) {
    const found = contains(elementAt(a, i), b, frame)
    if (found !== false) return found as true | CelError
  }
  return false
}

const merge = (frame: Frame, map: MapValue, other: MapValue): Outcome => {
  const merged = new CelMap()
  for (const each of [map, other])
    for (const key of keysOf(each)) {
      if (!frame.spend(3)) return outOfWork
      const value = valueAt(each, key)
      if (value !== undefined) merged.set(key, value)
      if (merged.size > maxElements) return tooLarge
    }
  return merged
}

/** For fields of logs and spans: an entry for each element, its name joined with a dot to the names above it. */
const flatten = (frame: Frame, value: CelValue, recursive: boolean): Outcome => {
  const flat = new Flattened()
  const visit = (prefix: string, item: CelValue, depth: number): CelError | undefined => {
    const kind = kindOf(item)
    const nested = kind === "map" || kind === "list"
    if (!nested || (depth > 0 && !recursive) || depth > maxNesting) {
      flat.set(prefix, item)
      return flat.size > maxElements ? tooLarge : undefined
    }
    const keys =
      kind === "map"
        ? keysOf(item as MapValue)
        : Array.from({ length: lengthOf(item as ListValue) }, (_, i) => BigInt(i))
    for (const key of keys) {
      if (!frame.spend(5)) return outOfWork
      const child = kind === "map" ? valueAt(item as MapValue, key) : elementAt(item as ListValue, Number(key))
      if (child === undefined) continue
      const failed = visit(prefix === "" ? toText(key) : `${prefix}.${toText(key)}`, child, depth + 1)
      if (failed !== undefined) return failed
    }
    return undefined
  }
  return visit("", value, 0) ?? flat
}

const containsBytes = (frame: Frame, bytes: Uint8Array, part: Uint8Array): Outcome => {
  if (!frame.spendText(bytes.length + part.length)) return outOfWork
  const text = (octets: Uint8Array) =>
    Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength).toString("latin1")
  const at = findText(text(bytes), text(part), 0, frame)
  return at instanceof CelError ? at : at !== -1
}

const element = (list: ListValue, at: number) =>
  at >= 0 && at < lengthOf(list) ? new Optional(elementAt(list, at)) : Optional.none

export const collectionFunctions = [
  global("size", ["list"], "int", (_, list) => BigInt(lengthOf(list))),
  method("size", ["list"], "int", (_, list) => BigInt(lengthOf(list))),
  global("size", ["map"], "int", (_, map) => BigInt(sizeOfMap(map)), { cost: 12 }),
  method("size", ["map"], "int", (_, map) => BigInt(sizeOfMap(map)), { cost: 12 }),
  global("size", ["bytes"], "int", (_, bytes) => BigInt(bytes.length)),
  method("size", ["bytes"], "int", (_, bytes) => BigInt(bytes.length)),
  method("contains", ["list", "dyn"], "bool", (frame, list, item) => contains(item, list, frame)),
  method("contains", ["map", "dyn"], "bool", (frame, map, key) => contains(key, map, frame), { cost: 12 }),
  method("contains", ["bytes", "bytes"], "bool", containsBytes, { cost: 20 }),
  method("slice", ["list", "int", "int"], "list", slice, { cost: 8 }),
  method("flatten", ["list"], "list", (frame, list) => flattenList(frame, list, 1n)),
  method("flatten", ["list", "int"], "list", flattenList),
  method("distinct", ["list"], "list", distinct, { cost: 15 }),
  method("sort", ["list"], "list", sort, { cost: 40 }),
  method(
    "reverse",
    ["list"],
    "list",
    (frame, list) => {
      const items = itemsOf(frame, list)
      return items === undefined ? tooLarge : new CelList(items.reverse())
    },
    { cost: 8 }
  ),
  method("first", ["list"], "optional", (_, list) => element(list, 0)),
  method("last", ["list"], "optional", (_, list) => element(list, lengthOf(list) - 1)),
  global("lists.range", ["int"], "list", range),
  global("sets.contains", ["list", "list"], "bool", containsAll),
  global("sets.equivalent", ["list", "list"], "bool", (frame, a, b) => {
    const within = containsAll(frame, a, b)
    return within === true ? containsAll(frame, b, a) : within
  }),
  global("sets.intersects", ["list", "list"], "bool", intersects),
  method("merge", ["map", "map"], "map", merge, { cost: 25 }),
  global("flatten", ["dyn"], "map", (frame, value) => flatten(frame, value, false), { cost: 25 }),
  global("flattenRecursive", ["dyn"], "map", (frame, value) => flatten(frame, value, true), { cost: 25 }),
  global("flatten_recursive", ["dyn"], "map", (frame, value) => flatten(frame, value, true), { cost: 25 })
]
