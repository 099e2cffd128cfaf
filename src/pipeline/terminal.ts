/** The contract of a terminal: the stage at the end of a route, which calls a backend and returns its response. */
import type { Effect, Redacted, Schema, Scope } from "effect"
import type { Answer } from "../http/message.ts"
import type { UpstreamOptions } from "../services/upstreams.ts"
import type { Exchange } from "./exchange.ts"
import type { FailedReading } from "./fail-closed.ts"
import type { Passage } from "./passage.ts"
import type { CompiledStreams } from "./relay.ts"
import type { Backend } from "./route.ts"
import type { AnySlot, ConfigPath, ConfigProblem, Maturity, Node, OutcomeKind, StageError, Verdict } from "./stage.ts"
import type { View } from "./view.ts"

/** What a terminal sees of the exchange: everything, but of the slots those alone that it declares. */
export type Call<Slots extends AnySlot> = Omit<Exchange, "get" | "set"> & Pick<View<Slots, Slots>, "get" | "set">

/** One named step of a terminal: last in the backend phase, before the request counts as final, or first on a response of the backend. */
export interface TerminalNode<Slots extends AnySlot>
  extends Pick<Node<Slots, Slots, StageError>, "name" | "reads" | "writes"> {
  readonly phase: "request" | "backendResponse"
  readonly run: (exchange: Call<Slots>, passage: Passage) => Effect.Effect<Verdict, StageError>
  readonly outcomes: ReadonlyArray<OutcomeKind>
  /** As of nodes of policies. */
  readonly when?: { readonly text: string; readonly holds: (exchange: Call<Slots>) => boolean } | undefined
  /** Whether its failures are forgiven. Default: no. */
  readonly failOpen?: boolean | undefined
  /** Where the configuration of the node stands, if not where that of the terminal does. */
  readonly path?: ConfigPath | undefined
  /** Whether it runs once more, when the phases are over, whenever its terminal says so. Default: no. */
  readonly afterwards?: boolean | undefined
}

/** What compiling a terminal yields: its nodes in their order, and the call between them. */
export type CompiledBackend<Slots extends AnySlot> = Pick<
  Backend,
  "type" | "protocol" | "target" | "keepsTime" | "endpoints" | "elsewhere"
> & {
  /** Left out: none. */
  readonly nodes?: ReadonlyArray<TerminalNode<Slots>> | undefined
  /** What the call itself reads. Left out: all that the terminal does. */
  readonly reads?: ReadonlyArray<Slots> | undefined
  /** Calls the backend. Ends with the response head; interrupting it ends the call. */
  readonly call: (exchange: Call<Slots>, passage: Passage) => Effect.Effect<Answer, StageError>
}

export interface Terminal<
  Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: the bound must admit every encoded side.
  S extends Schema.Codec<any, any>,
  R,
  Reads extends AnySlot,
  Writes extends AnySlot
> {
  /** The key of the backend in configuration files: `host`, `mcp`, `ai` … */
  readonly name: Name
  readonly schema: S
  /** The slots of policies that it reads, its expressions included. */
  readonly reads: ReadonlyArray<Reads>
  /** The slots of its own, by which its nodes and its call hand over what they know. */
  readonly writes: ReadonlyArray<Writes>
  /** What can come of a request that reaches it: the backend's answer, an answer of its own, a failure. Its cases show each. */
  readonly outcomes: ReadonlyArray<OutcomeKind>
  readonly maturity: Maturity
  /** What decides in it and may fail to read something, and what is answered then. */
  readonly failsClosed?: ReadonlyArray<FailedReading> | undefined
  /** Policies of its backends that it applies itself, by configuration key. None of them runs as a stage there. */
  readonly applies?: ReadonlyArray<string>
  /** Whether it keeps sessions at its backends. Then it is compiled for each set of credentials that they are shown. */
  readonly keepsSessions?: boolean
  /**
   * Runs once per configuration and set of connection policies. `at` is where the configuration stands; problems carry whole
   * paths. `name` is what the log calls the backend. `connections` is how they are opened. `credentials` tells those that the proxy
   * shows from others, for one that keeps sessions: they belong to these.
   */
  readonly compile: (
    config: S["Type"],
    at: ConfigPath,
    name: string,
    connections: UpstreamOptions,
    credentials: Redacted.Redacted<string> | undefined
  ) => Effect.Effect<CompiledBackend<Reads | Writes>, ReadonlyArray<ConfigProblem>, R | Scope.Scope>
  /** The same for connections that are passed on as they are. Absent: its backends answer requests alone. */
  readonly streams?: (
    config: S["Type"],
    at: ConfigPath,
    connections: UpstreamOptions
  ) => Effect.Effect<CompiledStreams, ReadonlyArray<ConfigProblem>, R | Scope.Scope>
}
// biome-ignore lint/suspicious/noExplicitAny: existential over every terminal.
export type AnyTerminal = Terminal<string, any, any, any, any>

/** Defines a terminal; infers every type parameter. */
export const terminal = <
  const Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: see Terminal.
  S extends Schema.Codec<any, any>,
  R,
  Reads extends AnySlot = never,
  Writes extends AnySlot = never
>(
  definition: Terminal<Name, S, R, Reads, Writes>
): Terminal<Name, S, R, Reads, Writes> => definition
