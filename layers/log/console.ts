/** The log as lines, each made as text or JSON as soon as it is told, and handed to whoever writes it. */
import { Layer } from "effect"
import { type Fields, type Level, type LineForm, Log, levels } from "../../src/services/log.ts"
import { type Filter, parseFilter } from "./filter.ts"
import { forms } from "./form.ts"
import { stamp } from "./stamp.ts"

export interface ConsoleOptions {
  /** The filter at the start; a malformed one counts as `info`. */
  readonly filter: string
  readonly format: keyof typeof forms
  readonly write: (line: string) => void
  /** Takes the lines of requests, which are many. Default: `write`. */
  readonly record?: ((line: string) => void) | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const severity = Object.fromEntries(levels.map((level, index) => [level, index])) as Readonly<Record<Level, number>>

const joined = (form: LineForm, fields: Fields): string => {
  let out = ""
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) out += form.field(name)(value)
  return out
}

export const make = ({ write, record = write, now, ...start }: ConsoleOptions): Log["Service"] => {
  let form: LineForm = forms[start.format]
  let initial = parseFilter(start.filter) ?? parseFilter("info")!
  let filter: Filter = initial
  const time = stamp(now)
  const enabled: Log["Service"]["enabled"] = (level, target) => severity[level] <= severity[filter.levelOf(target)]
  return {
    enabled,
    log: (level, target, message, fields = {}) => {
      if (enabled(level, target)) write(form.line(time(), level, target, message, joined(form, fields)))
    },
    form: () => form,
    record: (target, fields) => record(form.line(time(), "info", target, "", fields)),
    configure: (settings) => {
      if (settings.format !== undefined) form = forms[settings.format]
      initial = (settings.filter === undefined ? undefined : parseFilter(settings.filter)) ?? initial
      filter = initial
    },
    filter: () => filter.text,
    change: (directives, reset) => {
      const base = reset ? initial : filter
      const changed = directives === undefined ? base : parseFilter(`${base.text},${directives}`)
      if (changed === undefined) return false
      filter = changed
      return true
    }
  }
}

export const layer = (options: ConsoleOptions): Layer.Layer<Log> => Layer.sync(Log, () => make(options))
