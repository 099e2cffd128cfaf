/** The log on standard output: one line for each entry, as text or JSON, written without waiting. */
import { Layer } from "effect"
import { type Fields, type Level, Log, levels } from "../../src/services/log.ts"
import { type Filter, parseFilter } from "./filter.ts"

export interface ConsoleOptions {
  /** The filter at the start; a malformed one counts as `info`. */
  readonly filter: string
  readonly format: "text" | "json"
  readonly write: (line: string) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const severity = (level: Level) => levels.indexOf(level)

// A log line is one line: what a client sends must not forge another.
const oneLine = (text: string) => text.replace(/[\r\n]+/g, "\\n")

const textFields = (fields: Fields) => {
  let out = ""
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue
    out += ` ${key}=${key === "error" || key === "mcp.error.message" ? JSON.stringify(value) : oneLine(String(value))}`
  }
  return out
}

export const make = ({ write, now, ...start }: ConsoleOptions): Log["Service"] => {
  let { format } = start
  let initial = parseFilter(start.filter) ?? parseFilter("info")!
  let filter: Filter = initial
  const enabled: Log["Service"]["enabled"] = (level, target) => severity(level) <= severity(filter.levelOf(target))
  return {
    enabled,
    log: (level, target, message, fields = {}) => {
      if (!enabled(level, target)) return
      const time = new Date(now()).toISOString()
      if (format === "json") {
        const line = { level, time, scope: target, ...(message === "" ? {} : { message }), ...fields }
        write(`${JSON.stringify(line)}\n`)
      } else if (message === "") write(`${time}\t${level}\t${target}${textFields(fields)}\n`)
      else write(`${time}\t${level}\t${target}\t${oneLine(message)}${textFields(fields)}\n`)
    },
    configure: (settings) => {
      format = settings.format ?? format
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
