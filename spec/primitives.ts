/** The strings and numbers of the configuration language, with their exact bounds. Those that stand for something else decode to it. */
import { Schema, SchemaGetter, SchemaTransformation } from "effect"

const text = (name: string, minimum: number, maximum: number) =>
  Schema.String.check(
    Schema.isMinCodePoints(minimum, { expected: `at least ${minimum} ${minimum === 1 ? "character" : "characters"}` }),
    Schema.isMaxCodePoints(maximum, { expected: `at most ${maximum} characters` })
  ).annotate({ identifier: name, description: `Text of ${minimum} to ${maximum} characters.` })

/** 1 to 64 characters. */
export const TinyString = text("TinyString", 1, 64)
/** 1 to 256 characters. */
export const ShortString = text("ShortString", 1, 256)
/** 1 to 1024 characters. */
export const LongString = text("LongString", 1, 1024)

/** A part of a host name, of which others are made. */
export const HostLabel = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/u, {
    expected: "letters, digits and hyphens, as in a part of a host name"
  })
).annotate({
  identifier: "HostLabel",
  description: "A part of a host name: 1 to 63 letters, digits and hyphens, with a letter or a digit at both ends."
})

/** Source text of an expression, 1 to 16384 characters. It is compiled when the configuration is. */
export const CelExpression = Schema.String.check(
  Schema.isMinCodePoints(1, { expected: "an expression" }),
  Schema.isMaxCodePoints(16_384, { expected: "an expression of at most 16384 characters" })
).annotate({
  identifier: "CelExpression",
  description: "An expression in CEL, the Common Expression Language.",
  format: "cel"
})

/** A TCP port, 1 to 65535. */
export const PortNumber = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: 65_535 }, { expected: "a port between 1 and 65535" })
).annotate({ identifier: "PortNumber", description: "A TCP port." })

/** A whole number that is not negative. */
export const Count = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, { expected: "a whole number of 0 or more" })
).annotate({ identifier: "Count", description: "A whole number, 0 or more." })

/** A whole number of one or more. */
export const PositiveCount = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { expected: "a whole number of 1 or more" })
).annotate({ identifier: "PositiveCount", description: "A whole number, 1 or more." })

/** A status that a final answer may have. */
export const StatusCode = Schema.Int.check(
  Schema.isBetween({ minimum: 200, maximum: 599 }, { expected: "a status between 200 and 599" })
).annotate({ identifier: "StatusCode", description: "An HTTP status." })

/** 0 to 1. */
export const Fraction = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 1 }, { expected: "a number between 0 and 1" })
).annotate({ identifier: "Fraction", description: "A share, from 0 to 1." })

const milliseconds: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000_001
}

/** The milliseconds of a Go-style duration that matches the pattern of `Duration`. */
const durationMillis = (duration: string): number => {
  let total = 0
  for (const [, amount, unit] of duration.matchAll(/([\d.]+)([a-zµ]+)/gu))
    total += Number(amount) * milliseconds[unit!]!
  return Math.round(total * 1e6) / 1e6
}

/** Prints milliseconds the way Go prints a duration, rounded to three decimals: `1h2m3.5s`, `250ms`, `0s`. */
export const formatDuration = (millis: number): string => {
  const number = (value: number) => String(Math.round(value * 1000) / 1000)
  if (millis < 1000) return millis === 0 ? "0s" : `${number(millis)}ms`
  const hours = Math.floor(millis / 3_600_000)
  const minutes = Math.floor((millis % 3_600_000) / 60_000)
  const seconds = number((millis % 60_000) / 1000)
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`
}

const durationPattern = (units: string, more = "") =>
  new RegExp(`^${more}(?:0|(?:(?:[0-9]{1,10}(?:\\.[0-9]{0,9})?|\\.[0-9]{1,9})(?:${units})){1,8})$`, "u")

const durationText = (units: string, expected: string, more = "") =>
  Schema.String.check(Schema.isPattern(durationPattern(units, more), { expected }))

const toMillis = SchemaTransformation.transform({ decode: durationMillis, encode: formatDuration })

const anyUnit = "ms|us|µs|ns|h|m|s"
const aDuration = "a duration such as 10s, 1h30m or 250ms"

/** A Go-style duration, not negative: `1h30m`, `2.5s`, `250ms`, `0`. Decodes to milliseconds. */
export const Duration = durationText(anyUnit, aDuration)
  .annotate({ identifier: "Duration", description: "A duration such as `10s`, `1h30m` or `250ms`." })
  .pipe(Schema.decodeTo(Schema.Finite, toMillis))

const duration = durationPattern(anyUnit)
const limit = durationPattern(anyUnit, "(?=.*[1-9])")

/** A limit in time: one of 0 would fail whatever it is for. Decodes to milliseconds, one at least. */
export const TimeLimit = Schema.String.check(
  Schema.makeFilter(
    (text: string) => (limit.test(text) || !duration.test(text) ? undefined : "expected a time limit of more than 0"),
    { toJsonSchema: () => ({ pattern: limit.source }) }
  ),
  Schema.isPattern(duration, { expected: aDuration })
)
  .annotate({
    identifier: "TimeLimit",
    description: "A duration of more than 0, such as `10s`, `1h30m` or `250ms`. Less than a millisecond is one."
  })
  .pipe(
    Schema.decodeTo(
      Schema.Finite,
      SchemaTransformation.transform({
        decode: (text: string) => Math.max(1, durationMillis(text)),
        encode: formatDuration
      })
    )
  )

/** The pace of a refill: seconds, minutes and hours only, more than none. Decodes to milliseconds. */
export const RefillInterval = durationText(
  "h|m|s",
  "an interval in seconds, minutes or hours, such as 1s or 1h",
  "(?=.*[1-9])"
)
  .annotate({
    identifier: "RefillInterval",
    description: "A duration in seconds, minutes or hours, such as `1s` or `1h`."
  })
  .pipe(Schema.decodeTo(Schema.Finite, toMillis))

const byteUnits: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40
}

/** A number of bytes, plain or as a quantity: `2097152`, `2Mi`, `500k`. Decodes to bytes. */
export const ByteSize = Schema.Union([
  Count,
  Schema.String.check(
    Schema.isPattern(/^[0-9]{1,9}(?:[kMGT]|[KMGT]i)?$/u, { expected: "a size such as 2097152, 2Mi or 500k" })
  )
])
  .annotate({ identifier: "ByteSize", description: "A size in bytes, or a quantity such as `2Mi`." })
  .pipe(
    Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform((size: number | string): number => {
        if (typeof size === "number") return size
        const [, amount, unit] = /^(\d+)(\D*)$/.exec(size)!
        return Number(amount) * byteUnits[unit!]!
      }),
      encode: SchemaGetter.transform((bytes: number): number | string => bytes)
    })
  )

/** An absolute http or https address without user information. */
export const HttpUrl = Schema.String.check(
  Schema.isPattern(/^https?:\/\/[^\s/?#@\\]+(?:[/?#][^\s]*)?$/u, { expected: "an http or https URL" }),
  Schema.isMaxCodePoints(2048, { expected: "at most 2048 characters" })
).annotate({ identifier: "HttpUrl", description: "An absolute `http` or `https` URL." })

/** Text, or a list of bytes. Text stays text; a list decodes to a `Uint8Array`. */
export const Bytes = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }, { expected: "a byte, 0 to 255" }))).pipe(
    Schema.decodeTo(Schema.Uint8Array, {
      decode: SchemaGetter.transform((bytes: ReadonlyArray<number>) => Uint8Array.from(bytes)),
      encode: SchemaGetter.transform((bytes: Uint8Array): ReadonlyArray<number> => [...bytes])
    })
  )
]).annotate({ identifier: "Bytes", description: "Text, or a list of bytes." })
