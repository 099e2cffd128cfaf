/** Conversions between types, and `type` itself. */
import { type Frame, outOfWork, tooLarge } from "../frame.ts"
import { global, unreadable } from "../function.ts"
import { toText } from "../json.ts"
import { typeNameOf } from "../kind.ts"
import { maxTextLength } from "../limits.ts"
import { int, uint } from "../operators.ts"
import type { CelError } from "../problem.ts"
import { durationText, parseDuration, parseTimestamp, Timestamp, timestampText } from "../time.ts"
import { TypeValue, type Uint } from "../value.ts"

const outOfRange = (type: string) => unreadable(`the value is out of the range of ${type}`)

const integral = (type: string, value: number, convert: (value: bigint) => bigint | Uint | CelError) =>
  Number.isFinite(value) ? convert(BigInt(Math.trunc(value))) : outOfRange(type)

/** Doubles at or beyond the limits are refused: there they no longer tell neighbours apart. */
const intOfDouble = (value: number) =>
  value <= -(2 ** 63) || value >= 2 ** 63 ? outOfRange("int") : integral("int", value, int)

/** Errors never quote what they are about: it may be a credential, and errors are logged. */
const noSuch = (type: string) => unreadable(`the text is no ${type}`)

const parseInteger = (text: string, type: "int" | "uint") => {
  const form = type === "int" ? /^[+-]?\d{1,32}$/ : /^\d{1,32}$/
  if (!form.test(text)) return noSuch(type)
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text)
  return type === "int" ? int(value) : uint(value)
}

const doubleForm = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)$/i

const parseDouble = (text: string) => {
  if (text.length > 512 || !doubleForm.test(text)) return noSuch("double")
  if (/nan$/i.test(text)) return Number.NaN
  if (/^[+-]?inf/i.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(text)
}

const truths: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  true: true,
  TRUE: true,
  True: true,
  "0": false,
  f: false,
  false: false,
  FALSE: false,
  False: false
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** Bytes as text. What is not UTF-8 is an error: a rule that cannot read a body must fail, not look at something else. */
export const decodeText = (frame: Frame, bytes: Uint8Array): string | CelError => {
  if (bytes.length > maxTextLength) return tooLarge
  if (!frame.spend(1 + (bytes.length >> 7))) return outOfWork
  try {
    return decoder.decode(bytes)
  } catch {
    return unreadable("the bytes are not UTF-8")
  }
}

export const conversionFunctions = [
  global("int", ["int"], "int", (_, value) => value),
  global("int", ["uint"], "int", (_, value) => int(value.value)),
  global("int", ["double"], "int", (_, value) => intOfDouble(value)),
  global("int", ["string"], "int", (_, text) => parseInteger(text, "int"), { cost: 8 }),
  global("int", ["timestamp"], "int", (_, time) => BigInt(Math.floor(time.millis / 1000))),
  global("uint", ["uint"], "uint", (_, value) => value),
  global("uint", ["int"], "uint", (_, value) => uint(value)),
  global("uint", ["double"], "uint", (_, value) =>
    value < 0 || value >= 2 ** 64 ? outOfRange("uint") : integral("uint", value, uint)
  ),
  global("uint", ["string"], "uint", (_, text) => parseInteger(text, "uint"), { cost: 8 }),
  global("double", ["double"], "double", (_, value) => value),
  global("double", ["int"], "double", (_, value) => Number(value)),
  global("double", ["uint"], "double", (_, value) => Number(value.value)),
  global("double", ["string"], "double", (_, text) => parseDouble(text), { cost: 8 }),
  global("bool", ["bool"], "bool", (_, value) => value),
  global("bool", ["string"], "bool", (_, text) => (Object.hasOwn(truths, text) ? truths[text]! : noSuch("bool"))),
  global("string", ["string"], "string", (_, text) => text),
  global("string", ["bool"], "string", (_, value) => String(value)),
  global("string", ["int"], "string", (_, value) => String(value)),
  global("string", ["uint"], "string", (_, value) => String(value.value)),
  global("string", ["double"], "string", (_, value) => String(value), { cost: 4 }),
  global("string", ["bytes"], "string", decodeText, { cost: 8 }),
  global("string", ["timestamp"], "string", (_, time) => timestampText(time), { cost: 20 }),
  global("string", ["duration"], "string", (_, span) => durationText(span), { cost: 8 }),
  global("string", ["secret"], "string", (_, secret) => secret.toString()),
  global("string", ["ip"], "string", (_, ip) => toText(ip), { cost: 50 }),
  global("string", ["cidr"], "string", (_, cidr) => toText(cidr), { cost: 50 }),
  global("bytes", ["bytes"], "bytes", (_, bytes) => bytes),
  global(
    "bytes",
    ["string"],
    "bytes",
    (frame, text) => (frame.spendText(text.length) ? encoder.encode(text) : outOfWork),
    { cost: 8 }
  ),
  global("timestamp", ["timestamp"], "timestamp", (_, time) => time),
  global("timestamp", ["string"], "timestamp", (_, text) => parseTimestamp(text) ?? noSuch("timestamp"), { cost: 35 }),
  global(
    "timestamp",
    ["int"],
    "timestamp",
    (_, seconds) => Timestamp.of(seconds * 1_000_000_000n) ?? outOfRange("timestamp")
  ),
  global("duration", ["duration"], "duration", (_, span) => span),
  global("duration", ["string"], "duration", (_, text) => parseDuration(text) ?? noSuch("duration"), { cost: 40 }),
  global("dyn", ["dyn"], "dyn", (_, value) => value),
  global("type", ["dyn"], "type", (_, value) => new TypeValue(typeNameOf(value)))
]
