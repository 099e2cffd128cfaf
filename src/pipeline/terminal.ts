/** The contract of a terminal: the stage at the end of a route, which calls a backend and returns its response. */
import type { Effect, Schema, Scope } from "effect"
import type { Answer } from "../http/message.ts"
import type { Exchange } from "./exchange.ts"
import type { FailedReading } from "./fail-closed.ts"
import type { Backend } from "./route.ts"
import type { ConfigPath, ConfigProblem, Maturity, OutcomeKind, StageError, Verdict } from "./stage.ts"

/** What compiling a terminal yields. */
export type Callee = Pick<Backend, "type" | "protocol" | "target" | "keepsTime"> & {
  /**
   * Runs last in the backend phase, before the request counts as final: what the protocol makes of it. It may answer or
   * refuse like any node.
   */
  readonly prepare?: ((exchange: Exchange) => Effect.Effect<Verdict, StageError>) | undefined
  /** Runs first in the backend response phase, on a response of the backend. */
  readonly answered?: ((exchange: Exchange) => Effect.Effect<Verdict, StageError>) | undefined
  /** Calls the backend. Ends with the response head; interrupting it ends the call. */
  readonly call: (exchange: Exchange) => Effect.Effect<Answer, StageError>
}

// biome-ignore lint/suspicious/noExplicitAny: the bound must admit every encoded side.
export interface Terminal<Name extends string, S extends Schema.Codec<any, any>, R> {
  /** The key of the backend in configuration files: `host`, `mcp`, `ai` … */
  readonly name: Name
  readonly schema: S
  /** What can come of a request that reaches it: the backend's answer, an answer of its own, a failure. Its cases show each. */
  readonly outcomes: ReadonlyArray<OutcomeKind>
  readonly maturity: Maturity
  /** What decides in it and may fail to read something, and what is answered then. */
  readonly failsClosed?: ReadonlyArray<FailedReading> | undefined
  /** Policies of its backends that it applies itself, by configuration key. None of them runs as a stage there. */
  readonly applies?: ReadonlyArray<string>
  /**
   * Runs once per configuration. `at` is where the configuration stands; problems carry whole paths. `name` is what the
   * log calls the backend.
   */
  readonly compile: (
    config: S["Type"],
    at: ConfigPath,
    name: string
  ) => Effect.Effect<Callee, ReadonlyArray<ConfigProblem>, R | Scope.Scope>
}
// biome-ignore lint/suspicious/noExplicitAny: existential over every terminal.
export type AnyTerminal = Terminal<string, any, any>

/** Defines a terminal; infers every type parameter. */
// biome-ignore lint/suspicious/noExplicitAny: see Terminal.
export const terminal = <const Name extends string, S extends Schema.Codec<any, any>, R>(
  definition: Terminal<Name, S, R>
): Terminal<Name, S, R> => definition
