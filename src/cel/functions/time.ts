/** The parts of timestamps and durations. */
import { type Frame, type Outcome, outOfWork } from "../frame.ts"
import { invalid, method, type Overload } from "../function.ts"
import { type CalendarParts, calendarIn, durationUnits, isZoneReady, Timestamp } from "../time.ts"

/** The first formatter loads the time zones, some 30 ms: that is done when an expression with a zone is compiled. */
const prepare: Overload["prepare"] = ([, zone]) => {
  const known = calendarIn(Timestamp.fromMillis(0), typeof zone === "string" ? zone.slice(0, 64) : "Europe/Paris")
  return known === undefined ? invalid("there is no such time zone") : undefined
}

const part = (name: string, read: (parts: CalendarParts) => number): ReadonlyArray<Overload> => {
  const of = (frame: Frame, time: Timestamp, zone: string): Outcome => {
    if (zone.length > 64) return invalid("there is no such time zone")
    if (!frame.spend(zone === "UTC" ? 15 : isZoneReady(zone) ? 100 : 2_000)) return outOfWork
    const parts = calendarIn(time, zone)
    return parts === undefined ? invalid("there is no such time zone") : BigInt(read(parts))
  }
  return [
    method(name, ["timestamp"], "int", (frame, time) => of(frame, time, "UTC")),
    method(name, ["timestamp", "string"], "int", of, { prepare })
  ]
}

/** A duration in one unit, truncated: the whole of it, not the part that a clock would show. */
const whole = (name: string, unit: bigint) => method(name, ["duration"], "int", (_, span) => span.nanos / unit)

export const timeFunctions = [
  ...part("getFullYear", (parts) => parts.year),
  ...part("getMonth", (parts) => parts.month),
  ...part("getDayOfMonth", (parts) => parts.dayOfMonth),
  ...part("getDate", (parts) => parts.dayOfMonth + 1),
  ...part("getDayOfWeek", (parts) => parts.dayOfWeek),
  ...part("getDayOfYear", (parts) => parts.dayOfYear),
  ...part("getHours", (parts) => parts.hours),
  ...part("getMinutes", (parts) => parts.minutes),
  ...part("getSeconds", (parts) => parts.seconds),
  ...part("getMilliseconds", (parts) => parts.milliseconds),
  whole("getHours", durationUnits.hours),
  whole("getMinutes", durationUnits.minutes),
  whole("getSeconds", durationUnits.seconds),
  whole("getMilliseconds", durationUnits.milliseconds)
]
