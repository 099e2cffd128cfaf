/**
 * The contract between a policy author and the engine: what a policy is, what its nodes may read and write, and what a
 * node returns. Everything that a gateway does to a request is written against this file.
 */
import { type Effect, Exit, type Schema, type Scope, type Types } from "effect"
import type { Traits } from "../../spec/traits.ts"
import type { Answer } from "../http/message.ts"
import type { Reached } from "../services/upstreams.ts"
import type { FailedReading } from "./fail-closed.ts"
import { isForeign } from "./foreign-schema.ts"
import type { Site, VerdictAt, ViewAt } from "./site.ts"
import type { View } from "./view.ts"

export type { Site } from "./site.ts"

/** Where a node runs. The order of this list is the order of the trace events, but of those beside the call. */
export const phases = ["connection", "gateway", "route", "backend", "call", "backendResponse", "response"] as const
export type Phase = (typeof phases)[number]
/** The phases from the call of the backend on, beside which those of `call` run. */
export type ResponsePhase = Exclude<Phase, Site>

/** A typed cell of the exchange: the only way one stage hands a value to a later one. */
export interface Slot<out Name extends string, in out A> {
  readonly name: Name
  readonly index: number
  /**
   * How long a value of it lives: as long as its request, since it is never written at a backend; or, where it was left in an
   * attempt at a backend, as long as that one.
   */
  readonly life: "request" | "attempt"
  readonly "~A": Types.Invariant<A>
}
/** Any slot, whatever it holds. */
// biome-ignore lint/suspicious/noExplicitAny: the invariant value type has no common supertype but any.
export type AnySlot = Slot<string, any>
export type SlotValue<S> = S extends Slot<string, infer A> ? A : never
export type SlotName<S> = S extends Slot<infer N, infer _> ? N : never

let slots = 0
/** Makes a slot. Its name is also the name of the variable in the expression language. */
export const slot =
  <A>() =>
  <const Name extends string>(name: Name, life: Slot<Name, A>["life"] = "request"): Slot<Name, A> =>
    // The phantom member exists in types alone.
    ({ name, index: slots++, life }) as unknown as Slot<Name, A>

/** `undefined` = go on; an answer = stop here and answer with it. */
export type Verdict = Answer | undefined
/** The verdict "go on" as a ready-made effect. Returning it allocates nothing and needs no fiber. */
export const next: Exit.Exit<undefined> = Exit.succeed(undefined)
/**
 * The verdict "stop here and answer". In a response phase it replaces the answer, whose body is released; whoever only
 * changes the body assigns it.
 */
export const respond = (answer: Answer): Exit.Exit<Verdict> => Exit.succeed(answer)

/** Who is at fault. */
export type FaultSource = "client" | "proxy" | "backend"

/** Every failure a stage declares can be turned into an answer without knowing the stage. */
export interface StageError {
  readonly _tag: string
  /** The HTTP status of the answer. */
  readonly status: number
  /** The text of the answer. Never holds a secret, nor anything of the inside of the proxy. */
  readonly message: string
  readonly source: FaultSource
  /** The word for it in metrics and the log: `JwtAuth`, `RateLimit` … Default: `InvalidRequest`, `Internal` or `UpstreamFailure`, by source. */
  readonly reason?: string | undefined
  /** Not forgiven by `failOpen`: the refusal is the decision itself, or there was no way to decide. */
  readonly unforgiven?: true | undefined
  /** Of the call of a backend: how far it got. Default: that is not known. */
  readonly reached?: Reached | undefined
  /** Further headers of the answer: name, value, name, value … */
  readonly headers?: ReadonlyArray<string> | undefined
  /** What the body holds where that is not the message. */
  readonly content?: { readonly type: string | undefined; readonly body: string } | undefined
}

/**
 * The work of a node. An answer that is known at once is returned as a ready `Exit`, so that no fiber is involved.
 * Compute first and commit last: a node that fails leaves the exchange as it was.
 */
export type Run<
  Reads extends AnySlot,
  Writes extends AnySlot,
  E extends StageError,
  V = View<Reads, Writes>,
  A extends Verdict = Verdict
> = (exchange: V) => Effect.Effect<A, E>

/** One named step of a policy. `V` is what it sees at the sites of the policy, and `A` what it may say there. */
export interface Node<
  Reads extends AnySlot,
  Writes extends AnySlot,
  E extends StageError,
  V = View<Reads, Writes>,
  A extends Verdict = Verdict
> {
  /** Unique within the policy. The first node usually has the policy's own name. */
  readonly name: string
  /**
   * `request`: the phase of the site at which the policy is attached. `call`: beside the call of the backend, from when it is called
   * on. Such a node reads the messages and changes none; when it answers or fails the call is given up, and what has come of it dropped:
   * the client is told what the node says, or, if part of the answer has left, cut off.
   */
  readonly phase: "request" | ResponsePhase
  readonly run: Run<Reads, Writes, E, V, A>
  /**
   * Of a node beside the call: whether the answer of the backend waits for it. Default: it does. One for which it does not wait lives
   * until the exchange is over; the time of the request does not end it.
   */
  readonly answerWaits?: boolean | undefined
  /**
   * What of its policy's declarations holds for this node; all of it when left out. Of what expressions may read, that is what
   * the policy's own expressions do.
   */
  readonly outcomes?: ReadonlyArray<OutcomeKind> | undefined
  readonly reads?: ReadonlyArray<Reads> | undefined
  readonly writes?: ReadonlyArray<Writes> | undefined
  /** Runs only when this holds; an edge of the graph bears the text. */
  readonly when?: { readonly text: string; readonly holds: (exchange: V) => boolean } | undefined
}

/** What compiling a policy yields: its nodes in their order. */
export type PolicyGraph<
  Reads extends AnySlot,
  Writes extends AnySlot,
  E extends StageError,
  V = View<Reads, Writes>,
  A extends Verdict = Verdict
> = ReadonlyArray<Node<Reads, Writes, E, V, A>>

/** One step of a path into the configuration. */
export type ConfigPath = ReadonlyArray<string | number>

/** A value of the configuration that decodes, yet cannot be used. */
export interface ConfigProblem {
  /** Relative to the value that was compiled. */
  readonly path: ConfigPath
  /** Whether the path begins at the root of the configuration nevertheless: what a policy refers to may stand elsewhere. */
  readonly fromRoot?: true
  readonly message: string
  /** Where in the text of the value it lies, if that is known. */
  readonly within?: { readonly text: string; readonly offset: number }
  /** The value is right, and this build does not have what it asks for. */
  readonly code?: "unavailable"
}

/** What is written well and is refused all the same, because this build does not have it. */
export const unavailable = (path: ConfigPath, what: string, verb: "is" | "are" = "is"): ConfigProblem => ({
  path,
  message: `${what} ${verb} not available yet`,
  code: "unavailable"
})

/** Where in the configuration, and in the life of a request, a policy is being compiled. */
export interface Attachment<At extends Site = Site> {
  readonly site: At
  /** The path of the policy's configuration, as `routes[2].policies.cors`. */
  readonly path: ConfigPath
}

/** What a node can make of a request. */
export type OutcomeKind = "next" | "respond" | "fail"

/** How far a policy has come, and against whose input it is hardened: printed on its reference page. */
export interface Maturity {
  readonly status: "stable" | "alpha"
  readonly untrusted: "client" | "client+backend" | "none"
}

/** What a policy is. The traits are for policies of one's own: those of the language have them beside their wire shapes. */
export interface Policy<
  Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: the bound must admit every encoded side.
  S extends Schema.Codec<any, any>,
  At extends Site,
  In extends ResponsePhase,
  Reads extends AnySlot,
  Writes extends AnySlot,
  E extends StageError,
  R
> extends Traits<S["Type"]> {
  /** The key in configuration files; also the label of metrics and the suffix of spans. */
  readonly name: Name
  /** The key in the trace event `policySelection`. */
  readonly traceKey: string
  /** The wire shape. Everything documented about the policy comes from its annotations. */
  readonly schema: S
  /** Where the policy may be attached. */
  readonly sites: ReadonlyArray<At>
  /** The phases from the call on in which it may have nodes. */
  readonly responds: ReadonlyArray<In>
  /**
   * The slots that it reads, those of its expressions included: an expression may read a caller's key or token only where that
   * is declared (`expressionSlots`).
   */
  readonly reads: ReadonlyArray<Reads>
  readonly writes: ReadonlyArray<Writes>
  /** What its nodes can make of a request. The laws check that each is reached, and that no other is. */
  readonly outcomes: ReadonlyArray<OutcomeKind>
  readonly maturity: Maturity
  /** What it decides by and may fail to read, and what it answers then. */
  readonly failsClosed?: ReadonlyArray<FailedReading> | undefined
  /** Whether declared failures of its nodes are forgiven. Absent: never. The engine applies it, and says so in the trace. */
  readonly failOpen?: ((config: S["Type"], node: string) => boolean) | undefined
  /**
   * Runs once per configuration, never per request: look services up here, close over them. Written with its parameter
   * even where that is not used, because only then do the types of the nodes follow from `reads` and `writes`.
   */
  readonly compile: (
    config: S["Type"],
    at: Attachment<At>
  ) => Effect.Effect<
    PolicyGraph<Reads, Writes, E, ViewAt<At, Reads, Writes>, VerdictAt<At>>,
    ReadonlyArray<ConfigProblem>,
    R | Scope.Scope
  >
}
/** Any policy, whatever it sees, reads, writes and needs. */
// biome-ignore lint/suspicious/noExplicitAny: existential over every policy.
export interface AnyPolicy extends Omit<Policy<string, any, Site, ResponsePhase, any, any, any, any>, "compile"> {
  readonly compile: (
    // biome-ignore lint/suspicious/noExplicitAny: existential over every policy.
    config: any,
    // biome-ignore lint/suspicious/noExplicitAny: existential over every policy.
    at: Attachment<any>
    // biome-ignore lint/suspicious/noExplicitAny: existential over every policy.
  ) => Effect.Effect<PolicyGraph<any, any, any, any>, ReadonlyArray<ConfigProblem>, any>
}

/**
 * Defines a policy; infers every type parameter.
 * @throws TypeError when its schema was made by another copy of `effect`.
 */
export const policy = <
  const Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: see Policy.
  S extends Schema.Codec<any, any>,
  E extends StageError,
  R,
  At extends Site,
  In extends ResponsePhase = never,
  Reads extends AnySlot = never,
  Writes extends AnySlot = never
>(
  definition: Policy<Name, S, At, In, Reads, Writes, E, R>
): Policy<Name, S, At, In, Reads, Writes, E, R> => {
  if (isForeign(definition.schema))
    throw new TypeError(
      `the schema of policy ${definition.name} was made by another copy of effect than headgate uses: have one of them alone in node_modules (npm ls effect, npm dedupe)`
    )
  return definition
}
