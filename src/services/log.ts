/** Port: the log of the process. Lines have a level, a target (a dotted or slashed module path) and fields. */
import { Context } from "effect"

export const levels = ["off", "error", "warn", "info", "debug", "trace"] as const
export type Level = (typeof levels)[number]

export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Logger {
  readonly log: (level: Exclude<Level, "off">, target: string, message: string, fields?: Fields) => void
  /** Whether a line of that level and target would be written: asked before fields are gathered. */
  readonly enabled: (level: Exclude<Level, "off">, target: string) => boolean
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

export class Log extends Context.Service<Log, Logger & LogControl>()("headgate/services/Log") {}
