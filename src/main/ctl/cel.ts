/**
 * `headgatectl cel`: expressions without a proxy. `eval` gives the value, `explain` the value of every part, `check` what is known before
 * any evaluation; the context is written as JSON or taken from a saved trace.
 *
 * The code of the process is 0 when all is well, 1 when the expression does not compile or something given cannot be used, and 2 when the
 * evaluation failed.
 */
import { Console, Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { formatGithub, formatText } from "../../../spec/config/problem.ts"
import type { Explanation, Step } from "../../../spec/explanation.ts"
import { explain } from "../../cel/expression.ts"
import { compiledExpression, contextFlags, expressionFlags, givenContext, givenExpression } from "./cel-input.ts"
import { checkedText, explanationText, problemOf, problemsText } from "./cel-text.ts"
import { exitWith, orExit } from "./failure.ts"
import { printable } from "./printable.ts"

type Flags = Parameters<typeof givenExpression>[0] & Parameters<typeof givenContext>[0]

/** Evaluates what the flags give, and warns of what the trace does not hold. */
const explained = (flags: Flags, most?: number) =>
  Effect.gen(function* () {
    const given = yield* givenExpression(flags)
    const expression = yield* compiledExpression(given)
    const context = yield* givenContext(flags)
    const explanation = explain(expression, { ...context, ...given.hidden }, { most })
    if (Option.isSome(flags.trace)) {
      const bodiless = expression.attributes.requestBody && context.request?.body === undefined
      const missing = [...explanation.steps.flatMap(hiddenParts), ...(bodiless ? ["the body of the request"] : [])]
      for (const part of new Set(missing))
        yield* Console.error(`note: the trace does not hold ${part}: what depends on it may differ from what happened`)
    }
    if (explanation.outcome.kind !== "value") yield* exitWith(2)
    return { name: given.name, explanation }
  })

/** Parts that a trace shows as `<redacted>`. */
const hiddenParts = ({ source, outcome, parts }: Step): ReadonlyArray<string> =>
  parts.length > 0
    ? parts.flatMap(hiddenParts)
    : outcome.kind === "value" && outcome.value.includes("<redacted>")
      ? [source]
      : []

const evalCommand = Command.make("eval", { ...expressionFlags, ...contextFlags }, (flags) =>
  Effect.gen(function* () {
    const { name, explanation } = yield* explained(flags, Number.POSITIVE_INFINITY)
    const { outcome, cause, source } = explanation
    if (outcome.kind === "value") yield* Console.log(printable(outcome.value))
    else if (cause !== undefined) yield* Console.error(formatText([problemOf(name, source, cause)]))
  }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Print the value of an expression as JSON: bytes as base64, timestamps as RFC 3339, durations as 1.5s, types and addresses by name, what comes of credentials as <redacted>. The exit code is 2 when the evaluation failed."
  ),
  Command.withExamples([
    { command: "headgatectl cel eval '1 + 1'" },
    { command: "headgatectl cel eval --context context.json 'request.path.startsWith(\"/a\")'" }
  ])
)

const printed = {
  text: explanationText,
  json: (_: string, explanation: Explanation) => JSON.stringify(explanation, null, 2)
}

const explainCommand = Command.make(
  "explain",
  {
    ...expressionFlags,
    ...contextFlags,
    format: Flag.Literals("format", ["text", "json"]).pipe(
      Flag.withDefault("text" as const),
      Flag.withDescription("A tree for people, or the same as JSON; default: text.")
    )
  },
  (flags) =>
    explained(flags).pipe(
      Effect.flatMap(({ name, explanation }) => Console.log(printed[flags.format](name, explanation))),
      orExit()
    )
).pipe(
  Command.withDescription(
    "Show the value of every part of an expression, and why it failed. The exit code is 2 when the evaluation failed."
  ),
  Command.withExamples([{ command: "headgatectl cel explain --trace saved.jsonl 'request.path == \"/a\"'" }])
)

const checkCommand = Command.make(
  "check",
  {
    ...expressionFlags,
    format: Flag.Literals("format", ["text", "json", "github"]).pipe(
      Flag.withDefault("text" as const),
      Flag.withDescription("How problems are printed; default: text.")
    )
  },
  (flags) =>
    Effect.gen(function* () {
      const { name, source, compiled } = yield* givenExpression(flags)
      const expression = Result.getOrUndefined(compiled)
      const problems = Result.isFailure(compiled) ? compiled.failure : []
      if (problems.length > 0) yield* exitWith(1)
      if (flags.format === "json") {
        const { kind, attributes, cost } = expression ?? {}
        const { roots: _, paths, ...bodies } = attributes ?? {}
        const known = expression && { type: kind, reads: [...(paths ?? [])].sort(), ...bodies, cost }
        yield* Console.log(JSON.stringify({ valid: expression !== undefined, problems, ...known }, null, 2))
      } else if (flags.format === "github") {
        if (problems.length > 0)
          yield* Console.log(formatGithub(problems.map((problem) => problemOf(name, source, problem))))
      } else
        yield* Console.log(expression === undefined ? problemsText(name, source, problems) : checkedText(expression))
    }).pipe(orExit())
).pipe(
  Command.withDescription(
    "Tell every problem of an expression with its place, or what it reads, whether a body must be buffered for it, and the bound of its work."
  ),
  Command.withExamples([{ command: "headgatectl cel check --phase route 'jwt.sub == \"alice\"'" }])
)

export const celCommand = Command.make("cel").pipe(
  Command.withDescription("Evaluate, explain and check expressions."),
  Command.withSubcommands([evalCommand, explainCommand, checkCommand])
)
