/**
 * Points in time and spans of time, exact to the nanosecond. A timestamp is an instant: its text is RFC 3339 in UTC, whatever offset it was
 * written with, and its parts are those of the time zone that is asked for.
 */

const perMilli = 1_000_000n
const perSecond = 1_000_000_000n
const perMinute = 60n * perSecond
const perHour = 60n * perMinute

/** 0001-01-01T00:00:00Z */
const minTimestamp = -62_135_596_800n * perSecond
/** 9999-12-31T23:59:59.999999999Z */
const maxTimestamp = 253_402_300_800n * perSecond - 1n
/** Durations are counted in 64 bits, as in Go: some 292 years either way. */
const maxDuration = 2n ** 63n - 1n

/** A point in time: nanoseconds since 1970-01-01T00:00Z. */
export class Timestamp {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
  /** `undefined` outside the years 1 to 9999. */
  static of(nanos: bigint): Timestamp | undefined {
    return nanos < minTimestamp || nanos > maxTimestamp ? undefined : new Timestamp(nanos)
  }
  /** From milliseconds since 1970, as clocks of the host count; fractions are kept to the microsecond. */
  static fromMillis(millis: number): Timestamp {
    return new Timestamp(BigInt(Math.round(millis * 1000)) * 1000n)
  }
  get millis(): number {
    return Number(floorDivide(this.nanos, perMilli))
  }
}

/** A span of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
  /** `undefined` beyond 64 bits. */
  static of(nanos: bigint): Duration | undefined {
    return nanos > maxDuration || nanos < -maxDuration - 1n ? undefined : new Duration(nanos)
  }
  /** From milliseconds; fractions are kept to the microsecond. */
  static fromMillis(millis: number): Duration {
    return new Duration(BigInt(Math.round(millis * 1000)) * 1000n)
  }
}

/** The units a duration can be read in: each gives the whole span, truncated. */
export const durationUnits = { hours: perHour, minutes: perMinute, seconds: perSecond, milliseconds: perMilli } as const

const floorDivide = (a: bigint, b: bigint): bigint => {
  const quotient = a / b
  return a % b < 0n ? quotient - 1n : quotient
}

const fraction = (nanos: bigint): string => {
  if (nanos === 0n) return ""
  return `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`
}

/** RFC 3339 in UTC, with as many digits of a second as there are. */
export const timestampText = (timestamp: Timestamp): string => {
  const seconds = floorDivide(timestamp.nanos, perSecond)
  const text = new Date(Number(seconds) * 1000).toISOString()
  return `${text.slice(0, -5)}${fraction(timestamp.nanos - seconds * perSecond)}Z`
}

/** Seconds with a fraction: `90s`, `1.5s`. */
export const durationText = (duration: Duration): string => {
  const nanos = duration.nanos < 0n ? -duration.nanos : duration.nanos
  return `${duration.nanos < 0n ? "-" : ""}${nanos / perSecond}${fraction(nanos % perSecond)}s`
}

const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d{0,9})?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

/** Reads RFC 3339; `undefined` for anything else and outside the years 1 to 9999. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  if (hour > 23 || minute > 59 || second > 59 || Number(match[10] ?? 0) > 59 || Number(match[9] ?? 0) > 23)
    return undefined
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * (match[8] === "-" ? -1 : 1)
  const seconds = date.getTime() / 1000 + hour * 3600 + (minute - offset) * 60 + second
  return Timestamp.of(BigInt(seconds) * perSecond + BigInt((match[7] ?? "").padEnd(9, "0")))
}

const unitNanos: Readonly<Record<string, bigint>> = {
  h: perHour,
  m: perMinute,
  s: perSecond,
  ms: perMilli,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ns: 1n
}

const durationForm = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|µs|μs|ns))+|0)$/

/** Reads a duration as Go writes it: `1h30m`, `-1.5s`, `250ms`; `undefined` for anything else and beyond 64 bits of nanoseconds. */
export const parseDuration = (text: string): Duration | undefined => {
  const match = text.length > 128 ? null : durationForm.exec(text)
  if (match === null) return undefined
  let nanos = 0n
  for (const [, whole, digits, unit] of match[2]!.matchAll(/(\d*)\.?(\d*)(h|ms|m|s|us|µs|μs|ns)/g)) {
    const scale = unitNanos[unit!]!
    nanos += BigInt(whole!) * scale
    if (digits !== "") nanos += (BigInt(digits!.slice(0, 18)) * scale) / 10n ** BigInt(Math.min(digits!.length, 18))
  }
  return Duration.of(match[1] === "-" ? -nanos : nanos)
}

/** The parts of a timestamp in a time zone, months, days of the week and days of the year counted from 0. */
export interface CalendarParts {
  readonly year: number
  readonly month: number
  readonly dayOfMonth: number
  readonly dayOfWeek: number
  readonly dayOfYear: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly milliseconds: number
}

/** The calendar in a zone: `UTC`, an offset such as `+05:30`, or an IANA name. `undefined` when there is no such zone. */
export const calendarIn = (timestamp: Timestamp, zone: string): CalendarParts | undefined => {
  const minutes = zoneOffset(timestamp, zone)
  if (minutes === undefined) return undefined
  const local = new Date(timestamp.millis + minutes * 60_000)
  const newYear = new Date(0)
  newYear.setUTCFullYear(local.getUTCFullYear(), 0, 1)
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth(),
    dayOfMonth: local.getUTCDate() - 1,
    dayOfWeek: local.getUTCDay(),
    dayOfYear: Math.floor((local.getTime() - newYear.getTime()) / 86_400_000),
    hours: local.getUTCHours(),
    minutes: local.getUTCMinutes(),
    seconds: local.getUTCSeconds(),
    milliseconds: local.getUTCMilliseconds()
  }
}

const fixedOffset = /^([+-]?)(\d{1,2}):(\d{2})$/

/** Minutes east of UTC at that instant. */
const zoneOffset = (timestamp: Timestamp, zone: string): number | undefined => {
  if (zone === "UTC" || zone === "") return 0
  const fixed = fixedOffset.exec(zone)
  if (fixed !== null) {
    const [hours, minutes] = [Number(fixed[2]), Number(fixed[3])]
    return hours > 23 || minutes > 59 ? undefined : (hours * 60 + minutes) * (fixed[1] === "-" ? -1 : 1)
  }
  const format = zoneFormat(zone)
  if (format === undefined) return undefined
  // No zone had a standard time before 1800, and years before the first would need an era.
  const instant = Math.max(Math.floor(timestamp.millis / 1000) * 1000, Date.UTC(1800))
  const parts: Record<string, number> = {}
  for (const part of format.formatToParts(instant)) parts[part.type] = Number(part.value)
  const { year, month, day, hour, minute, second } = parts
  return Math.round((Date.UTC(year!, month! - 1, day, hour, minute, second) - instant) / 60_000)
}

/** Whether a zone costs no more than arithmetic, or a formatter that is already made. */
export const isZoneReady = (zone: string): boolean =>
  zone === "UTC" || zone === "" || fixedOffset.test(zone) || formats.has(zone.toLowerCase())

/** A formatter costs some 50 µs to make, and there are a few hundred zones; names that are none are not kept. */
const formats = new Map<string, Intl.DateTimeFormat>()

const zoneFormat = (zone: string): Intl.DateTimeFormat | undefined => {
  const known = formats.get(zone.toLowerCase())
  if (known !== undefined) return known
  if (zone.length > 64) return undefined
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric"
    })
    formats.set(zone.toLowerCase(), format)
    return format
  } catch {
    return undefined
  }
}
