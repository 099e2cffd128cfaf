/** Port: the log of the process. Lines have a level, a target (a dotted or slashed module path) and fields. */
import { Context } from "effect"

export const levels = ["off", "error", "warn", "info", "debug", "trace"] as const
export type Level = (typeof levels)[number]

export type Fields = Readonly<Record<string, FieldValue | undefined>>
export type FieldValue = string | number | boolean | null

export interface Logger {
  readonly log: (level: Exclude<Level, "off">, target: string, message: string, fields?: Fields) => void
  /** Whether a line of that level and target would be written: asked before fields are gathered. */
  readonly enabled: (level: Exclude<Level, "off">, target: string) => boolean
}

/** How lines are written. Fields are joined to one text, in their order, each by what was made once for its name. */
export interface LineForm {
  readonly field: (name: string) => (value: FieldValue) => string
  readonly line: (time: string, level: Level, target: string, message: string, fields: string) => string
}

/** For lines that are many: whoever writes them joins their fields without an object for each line. */
export interface RecordLog extends Pick<Logger, "log" | "enabled"> {
  /** The form that is in force now. */
  readonly form: () => LineForm
  /** Writes a line of level `info` without a message. The fields are in the form in force. Whoever calls it asked `enabled` before. */
  readonly record: (target: string, fields: string) => void
}

/** What decides which lines are written, changed while the process runs. */
export interface LogControl {
  /** What the configuration says, once it is known: the filter that `reset` goes back to, and the form of the lines. */
  readonly configure: (settings: {
    readonly filter?: string | undefined
    readonly format?: "text" | "json" | undefined
  }) => void
  readonly filter: () => string
  /** Adds directives to the filter, after going back to the one of the start when `reset` is given. False: not a filter. */
  readonly change: (directives: string | undefined, reset: boolean) => boolean
}

export class Log extends Context.Service<Log, RecordLog & LogControl>()("headgate/services/Log") {}
