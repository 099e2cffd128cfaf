/** Functions on numbers: the math extension, and `min` and `max`. */
import { compare, elementAt, lengthOf } from "../compare.ts"
import { type Frame, type Outcome, outOfWork } from "../frame.ts"
import { global, invalid, type Overload } from "../function.ts"
import { int, noOverload, uint } from "../operators.ts"
import { CelList, type CelValue, type ListValue, Uint } from "../value.ts"

const isNumber = (value: CelValue) => typeof value === "bigint" || typeof value === "number" || value instanceof Uint

/** The least (`wanted` -1) or greatest (1) of numbers; a single list stands for its elements. */
const extreme =
  (name: string, wanted: -1 | 1) =>
  (frame: Frame, ...args: ReadonlyArray<CelValue>): Outcome => {
    const [first] = args
    const list =
      args.length === 1 && first !== undefined && (Array.isArray(first) || first instanceof CelList)
        ? first
        : new CelList(args)
    return extremeOf(frame, name, wanted, list as ListValue)
  }

const extremeOf = (frame: Frame, name: string, wanted: -1 | 1, list: ListValue): Outcome => {
  const length = lengthOf(list)
  if (length === 0) return invalid(`${name}() needs at least one number`)
  if (!frame.spend(length)) return outOfWork
  let found = elementAt(list, 0)
  if (!isNumber(found)) return noOverload(name, found)
  for (let i = 1; i < length; i++) {
    const value = elementAt(list, i)
    if (!isNumber(value)) return noOverload(name, value)
    const order = compare(value, found)!
    if (wanted === -1 ? order < 0 : order > 0) found = value
  }
  return found
}

const rounding = (name: string, round: (value: number) => number) =>
  global(name, ["double"], "double", (_, value) => round(value))

/** Half away from zero, as Go rounds. */
const round = (value: number) => (Number.isFinite(value) ? Math.sign(value) * Math.floor(Math.abs(value) + 0.5) : value)

const unsigned = (value: bigint) => new Uint(BigInt.asUintN(64, value))

/** On numbers, and on bytes of one length. */
const bitwise = (
  name: string,
  operate: (a: bigint, b: bigint) => bigint,
  ofBytes: (a: number, b: number) => number
): ReadonlyArray<Overload> => [
  global(name, ["int", "int"], "int", (_, a, b) => operate(a, b)),
  global(name, ["uint", "uint"], "uint", (_, a, b) => unsigned(operate(a.value, b.value))),
  global(name, ["bytes", "bytes"], "bytes", (frame, a, b) => {
    if (a.length !== b.length) return invalid(`${name}: ${a.length} and ${b.length} bytes differ in length`)
    return frame.spend(a.length) ? a.map((byte, index) => ofBytes(byte, b[index]!)) : outOfWork
  })
]

/** Shifts move bits out at both ends; a shift to the right fills with zeros, of an int too. Beyond 63 places nothing is left. */
const shift = (name: string, operate: (bits: bigint, places: bigint) => bigint): ReadonlyArray<Overload> => {
  const shifted = (value: bigint, places: bigint) => (places > 63n ? 0n : operate(BigInt.asUintN(64, value), places))
  const negative = (places: bigint) => invalid(`${name}: the shift ${places} is negative`)
  return [
    global(name, ["int", "int"], "int", (_, value, places) =>
      places < 0n ? negative(places) : BigInt.asIntN(64, shifted(value, places))
    ),
    global(name, ["uint", "int"], "uint", (_, value, places) =>
      places < 0n ? negative(places) : unsigned(shifted(value.value, places))
    )
  ]
}

const sign = (value: number) => (Number.isNaN(value) ? value : Math.sign(value) + 0)

export const mathFunctions = [
  global("math.least", ["dyn"], "dyn", extreme("math.least", -1), { variadic: true }),
  global("math.greatest", ["dyn"], "dyn", extreme("math.greatest", 1), { variadic: true }),
  global("min", ["dyn"], "dyn", extreme("min", -1), { variadic: true }),
  global("max", ["dyn"], "dyn", extreme("max", 1), { variadic: true }),
  rounding("math.ceil", Math.ceil),
  rounding("math.floor", Math.floor),
  rounding("math.trunc", Math.trunc),
  rounding("math.round", round),
  global(
    "math.isInf",
    ["double"],
    "bool",
    (_, value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
  ),
  global("math.isNaN", ["double"], "bool", (_, value) => Number.isNaN(value)),
  global("math.isFinite", ["double"], "bool", (_, value) => Number.isFinite(value)),
  global("math.abs", ["int"], "int", (_, value) => int(value < 0n ? -value : value)),
  global("math.abs", ["uint"], "uint", (_, value) => value),
  global("math.abs", ["double"], "double", (_, value) => Math.abs(value)),
  global("math.sign", ["int"], "int", (_, value) => (value > 0n ? 1n : value < 0n ? -1n : 0n)),
  global("math.sign", ["uint"], "uint", (_, value) => uint(value.value > 0n ? 1n : 0n)),
  global("math.sign", ["double"], "double", (_, value) => sign(value)),
  global("math.sqrt", ["int"], "double", (_, value) => Math.sqrt(Number(value))),
  global("math.sqrt", ["uint"], "double", (_, value) => Math.sqrt(Number(value.value))),
  global("math.sqrt", ["double"], "double", (_, value) => Math.sqrt(value)),
  ...bitwise(
    "math.bitAnd",
    (a, b) => a & b,
    (a, b) => a & b
  ),
  ...bitwise(
    "math.bitOr",
    (a, b) => a | b,
    (a, b) => a | b
  ),
  ...bitwise(
    "math.bitXor",
    (a, b) => a ^ b,
    (a, b) => a ^ b
  ),
  global("math.bitNot", ["int"], "int", (_, value) => ~value),
  global("math.bitNot", ["uint"], "uint", (_, value) => unsigned(~value.value)),
  ...shift("math.bitShiftLeft", (bits, places) => bits << places),
  ...shift("math.bitShiftRight", (bits, places) => bits >> places)
]
