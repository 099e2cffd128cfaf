/** Port: failures of the proxy itself, told by whoever caught one. Each is counted; the log hears of them now and then. */
import { Context } from "effect"
import type { Container } from "./contained.ts"

/** Where one was caught: the values of a label, so there are few. */
export type DefectPlace =
  /** The stages of a request. */
  | "engine"
  /** A client's connection, or a listener. */
  | "connection"
  /** A connection to a backend. */
  | "backend"
  /** A connection to an MCP server. */
  | "mcp"
  /** A child process. */
  | "child"
  /** The thread that counts tokens. */
  | "tokenizer"
  /** The thread that checks passwords. */
  | "passwords"
  /** A file that is watched. */
  | "file"
  /** A management server. */
  | "management"
  /** A timer. */
  | "timer"
  /** Nobody caught it but the process. */
  | "process"

export type TellDefect = (place: DefectPlace, cause: unknown) => void

/** Where nobody listens, node says it on standard error. */
export const Defects = Context.Reference<TellDefect>("headgate/services/Defects", {
  defaultValue: () => (_, cause) => process.emitWarning(cause instanceof Error ? cause : String(cause))
})

/** Told of what callbacks of that place throw; `end` ends what they belong to. */
export const containerOf = (tell: TellDefect, place: DefectPlace, end: () => void = () => {}): Container => ({
  contain: (cause) => {
    tell(place, cause)
    end()
  }
})
