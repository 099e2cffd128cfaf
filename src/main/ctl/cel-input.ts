/** What the commands over expressions are given: the expression, what a configuration adds to it, and the context. */
import { Effect, Option, Result, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { formatText } from "../../../spec/config/problem.ts"
import { contextOf } from "../../cel/context.ts"
import { noFunctions } from "../../cel/custom-functions.ts"
import { type Bindings, type CelProblem, compile, type Expression, type Phase, phases } from "../../cel/expression.ts"
import { fromFile, homeOf, type UnreadableConfiguration } from "../configuration/source.ts"
import { problemsText } from "./cel-text.ts"
import { Unable } from "./failure.ts"
import { Operands } from "./operands.ts"
import { readTrace } from "./saved-trace.ts"
import { contextOfTrace } from "./trace-context.ts"

type InputFailed = Unable | UnreadableConfiguration

export const expressionFlags = {
  expression: Argument.String("expression").pipe(
    Argument.optional,
    Argument.withDescription("The expression; one that begins with a dash goes behind --. Default: standard input.")
  ),
  file: Flag.String("file").pipe(
    Flag.withAlias("f"),
    Flag.optional,
    Flag.withDescription("Read the expression from a file.")
  ),
  phase: Flag.Literals("phase", phases).pipe(
    Flag.optional,
    Flag.withDescription("Where the expression stands: decides which variables exist. Default: all exist.")
  ),
  config: Flag.String("config").pipe(
    Flag.optional,
    Flag.withDescription("A configuration file whose functions can be called, and whose sensitive headers are hidden.")
  )
}

export const contextFlags = {
  context: Flag.String("context").pipe(
    Flag.optional,
    Flag.withDescription("A JSON file with the variables; they go over those of a trace.")
  ),
  trace: Flag.String("trace").pipe(
    Flag.optional,
    Flag.withDescription("A saved trace whose snapshot at the end of the phase gives the variables.")
  ),
  event: Flag.Int("event").pipe(
    Flag.withSchema(Schema.Int.check(Schema.isGreaterThan(0))),
    Flag.optional,
    Flag.withDescription("Take the last snapshot up to this event of the trace, counted from 1; default: by phase.")
  )
}

interface ExpressionFlags {
  readonly expression: Option.Option<string>
  readonly file: Option.Option<string>
  readonly phase: Option.Option<Phase>
  readonly config: Option.Option<string>
}

interface ContextFlags {
  readonly context: Option.Option<string>
  readonly trace: Option.Option<string>
  readonly event: Option.Option<number>
  readonly phase: Option.Option<Phase>
}

/** An expression as it was given, and what became of it. */
export interface Given {
  /** For messages: the file, or what stands for one. */
  readonly name: string
  readonly source: string
  readonly compiled: Result.Result<Expression, ReadonlyArray<CelProblem>>
  /** What the configuration hides. */
  readonly hidden: Pick<Bindings, "sensitiveHeaders" | "sensitiveParameters">
}

export const givenExpression = (flags: ExpressionFlags): Effect.Effect<Given, InputFailed> =>
  Effect.gen(function* () {
    const behind = yield* Operands
    const inline = [...Option.toArray(flags.expression), ...(behind ?? [])]
    if (inline.length + Option.toArray(flags.file).length > 1)
      return yield* new Unable({
        detail: "expected one expression: as an argument, by --file, or at standard input"
      })
    const from = fromFile(Option.getOrElse(flags.file, () => "-"))
    const name = inline.length > 0 ? "<expression>" : from.name
    const source = inline[0] ?? (yield* from.read)
    const added = yield* addedBy(flags.config)
    const phase = Option.getOrUndefined(flags.phase)
    return { name, source, compiled: compile(source, { phase, functions: added.functions }), hidden: added.hidden }
  })

/** The same, where only an expression that compiles is of use. */
export const compiledExpression = (given: Given): Effect.Effect<Expression, Unable> =>
  Result.isSuccess(given.compiled)
    ? Effect.succeed(given.compiled.success)
    : new Unable({ detail: problemsText(given.name, given.source, given.compiled.failure) })

const addedBy = (file: Option.Option<string>) =>
  Effect.gen(function* () {
    if (Option.isNone(file)) return { functions: noFunctions, hidden: {} }
    const { check } = yield* Effect.promise(() => import("../../check/check.ts"))
    const { customFunctions } = yield* Effect.promise(() => import("../configuration/distribution.ts"))
    const name = file.value
    const text = yield* fromFile(name).read
    const { config, positions, hidden, problems } = check({ name, text, env: process.env, home: homeOf(process.env) })
    if (config === undefined || positions === undefined) return yield* new Unable({ detail: formatText(problems) })
    const functions = yield* Effect.mapError(
      customFunctions(config),
      (found) => new Unable({ detail: formatText(found.map((problem) => positions.locate(problem))) })
    )
    return { functions, hidden: { sensitiveHeaders: hidden.headers, sensitiveParameters: hidden.parameters } }
  })

/** The variables; empty where none are given. */
export const givenContext = (flags: ContextFlags): Effect.Effect<Bindings, InputFailed> =>
  Effect.gen(function* () {
    const traced = Option.isNone(flags.trace)
      ? {}
      : contextOfTrace(
          yield* readTrace(flags.trace.value),
          Option.getOrUndefined(flags.phase),
          Option.getOrUndefined(flags.event)
        )
    if (typeof traced === "string") return yield* new Unable({ detail: traced })
    if (Option.isNone(flags.trace) && Option.isSome(flags.event))
      return yield* new Unable({ detail: "--event chooses an event of --trace" })
    const written = Option.isNone(flags.context) ? {} : yield* readJson(flags.context.value)
    return { ...(yield* bindingsOf("trace", traced)), ...(yield* bindingsOf("context", written)) }
  })

const bindingsOf = (from: string, json: unknown): Effect.Effect<Bindings, Unable> =>
  Effect.mapError(
    Effect.fromResult(contextOf(json)),
    (problems) => new Unable({ detail: problems.map((problem) => `${from}: ${problem}`).join("\n") })
  )

const readJson = (file: string): Effect.Effect<unknown, InputFailed> =>
  Effect.flatMap(fromFile(file).read, (text) =>
    Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: (cause) =>
        new Unable({ detail: `${file} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}` })
    })
  )
