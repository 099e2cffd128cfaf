/** The operators on values: arithmetic with its limits, order, equality and membership. */
import { compare, elementAt, equals, lengthOf, valueAt } from "./compare.ts"
import { type Frame, type Outcome, outOfWork, tooLarge } from "./frame.ts"
import { kindOf, typeNameOf } from "./kind.ts"
import { maxElements, maxTextLength } from "./limits.ts"
import { CelError } from "./problem.ts"
import { findText } from "./search.ts"
import type { BinaryOperator } from "./syntax.ts"
import { Duration, Timestamp } from "./time.ts"
import { CelList, type CelValue, type ListValue, type MapValue, SecretValue, Uint } from "./value.ts"

/** An operator on two values, neither an error. */
export type Binary = (a: CelValue, b: CelValue, frame: Frame) => Outcome

const overflow = new CelError("overflow", "the integer does not fit 64 bits")
const timeOverflow = new CelError("overflow", "the time is out of range")
const divideByZero = new CelError("divide_by_zero", "division by zero")
const moduloByZero = new CelError("divide_by_zero", "modulus by zero")

/** No operator or function of that name takes these types. */
export const noOverload = (name: string, ...values: ReadonlyArray<CelValue>): CelError =>
  new CelError("no_such_overload", `no such overload: ${name} for ${values.map(typeNameOf).join(", ")}`)

export const int = (value: bigint): bigint | CelError => (value === BigInt.asIntN(64, value) ? value : overflow)

export const uint = (value: bigint): Uint | CelError =>
  value === BigInt.asUintN(64, value) ? new Uint(value) : overflow

const timestamp = (nanos: bigint): Outcome => Timestamp.of(nanos) ?? timeOverflow
const duration = (nanos: bigint): Outcome => Duration.of(nanos) ?? timeOverflow

/** Joins two texts, bounded. */
const concatenate = (a: string, b: string, frame: Frame): string | CelError => {
  if (a.length + b.length > maxTextLength) return tooLarge
  return frame.spend((a.length + b.length) >> 5) ? a + b : outOfWork
}

/** Joins two lists, bounded. */
const concatenateLists = (a: ListValue, b: ListValue, frame: Frame): Outcome => {
  const [left, right] = [lengthOf(a), lengthOf(b)]
  if (left + right > maxElements) return tooLarge
  if (!frame.spend(1 + left + right)) return outOfWork
  const items: Array<CelValue> = []
  for (let i = 0; i < left; i++) items.push(elementAt(a, i))
  for (let i = 0; i < right; i++) items.push(elementAt(b, i))
  return new CelList(items)
}

const add: Binary = (a, b, frame) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a + b)
  if (typeof a === "number" && typeof b === "number") return a + b
  if (typeof a === "string" && typeof b === "string") return concatenate(a, b, frame)
  if (a instanceof Uint && b instanceof Uint) return uint(a.value + b.value)
  // A secret joined to text shows as what every secret shows.
  if (a instanceof SecretValue && (typeof b === "string" || b instanceof SecretValue))
    return concatenate(String(a), String(b), frame)
  if (typeof a === "string" && b instanceof SecretValue) return concatenate(a, String(b), frame)
  if (a instanceof Timestamp && b instanceof Duration) return timestamp(a.nanos + b.nanos)
  if (a instanceof Duration && b instanceof Timestamp) return timestamp(a.nanos + b.nanos)
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos + b.nanos)
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    if (a.length + b.length > maxTextLength) return tooLarge
    if (!frame.spendText(a.length + b.length)) return outOfWork
    const joined = new Uint8Array(a.length + b.length)
    joined.set(a)
    joined.set(b, a.length)
    return joined
  }
  if (kindOf(a) === "list" && kindOf(b) === "list") return concatenateLists(a as ListValue, b as ListValue, frame)
  return noOverload("+", a, b)
}

const subtract: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a - b)
  if (typeof a === "number" && typeof b === "number") return a - b
  if (a instanceof Uint && b instanceof Uint) return uint(a.value - b.value)
  if (a instanceof Timestamp && b instanceof Timestamp) return duration(a.nanos - b.nanos)
  if (a instanceof Timestamp && b instanceof Duration) return timestamp(a.nanos - b.nanos)
  if (a instanceof Duration && b instanceof Duration) return duration(a.nanos - b.nanos)
  return noOverload("-", a, b)
}

const multiply: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return int(a * b)
  if (typeof a === "number" && typeof b === "number") return a * b
  if (a instanceof Uint && b instanceof Uint) return uint(a.value * b.value)
  return noOverload("*", a, b)
}

const divide: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return b === 0n ? divideByZero : int(a / b)
  if (typeof a === "number" && typeof b === "number") return a / b
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? divideByZero : new Uint(a.value / b.value)
  return noOverload("/", a, b)
}

const modulo: Binary = (a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") return b === 0n ? moduloByZero : a % b
  if (a instanceof Uint && b instanceof Uint) return b.value === 0n ? moduloByZero : new Uint(a.value % b.value)
  return noOverload("%", a, b)
}

export const negate = (a: CelValue): Outcome => {
  if (typeof a === "bigint") return int(-a)
  if (typeof a === "number") return -a
  return noOverload("-", a)
}

const equal: Binary = (a, b, frame) => equals(a, b, frame) ?? outOfWork

const unequal: Binary = (a, b, frame) => {
  const same = equals(a, b, frame)
  return same === undefined ? outOfWork : !same
}

const ordered =
  (name: string, holds: (order: number) => boolean): Binary =>
  (a, b, frame) => {
    if (typeof a === "string" && !frame.spendText(a.length << 3)) return outOfWork
    const order = compare(a, b)
    return order === undefined ? noOverload(name, a, b) : holds(order)
  }

/** Membership: an element of a list, a key of a map, a part of a string (beyond the specification). */
export const contains: Binary = (element, container, frame) => {
  if (typeof container === "string") {
    if (typeof element !== "string") return noOverload("in", element, container)
    const at = findText(container, element, 0, frame)
    return at instanceof CelError ? at : at !== -1
  }
  switch (kindOf(container)) {
    case "list": {
      const list = container as ListValue
      if (typeof element === "string" && Array.isArray(list)) {
        return frame.spend(1 + (list.length >> 2)) ? list.includes(element) : outOfWork
      }
      const length = lengthOf(list)
      for (let i = 0; i < length; i++) {
        if (!frame.spend(2)) return outOfWork
        const same = equals(elementAt(list, i), element, frame)
        if (same !== false) return same ?? outOfWork
      }
      return false
    }
    case "map":
      return valueAt(container as MapValue, element) !== undefined
    default:
      return noOverload("in", element, container)
  }
}

export const binaryOperators: Readonly<Record<BinaryOperator, Binary>> = {
  "+": add,
  "-": subtract,
  "*": multiply,
  "/": divide,
  "%": modulo,
  "==": equal,
  "!=": unequal,
  "<": ordered("<", (order) => order < 0),
  "<=": ordered("<=", (order) => order <= 0),
  ">": ordered(">", (order) => order > 0),
  ">=": ordered(">=", (order) => order >= 0),
  in: contains
}
