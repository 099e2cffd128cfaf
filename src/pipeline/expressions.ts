/** Expressions in the configuration of a policy: compiled with it, and evaluated once what they read is in memory. */
import { Context, Effect, Result } from "effect"
import { type CustomFunctions, noFunctions } from "../cel/custom-functions.ts"
import { compile, type Expression, type Phase } from "../cel/expression.ts"
import type { BodyAborted } from "../http/body.ts"
import type { BodyTooLarge } from "./errors.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"
import type { View } from "./view.ts"

/** The functions of the configuration, which every expression in it may call. */
export const ConfiguredFunctions = Context.Reference<CustomFunctions>("headgate/pipeline/ConfiguredFunctions", {
  defaultValue: () => noFunctions
})

/** Compiles an expression; what is wrong with it is reported at `path`, with the place inside the expression. */
export const compileExpression = (
  source: string,
  phase: Phase,
  path: ConfigPath
): Effect.Effect<Expression, ReadonlyArray<ConfigProblem>> =>
  Effect.flatMap(ConfiguredFunctions, (functions) => {
    const compiled = compile(source, { phase, functions })
    return Result.isSuccess(compiled)
      ? Effect.succeed(compiled.success)
      : Effect.fail(
          compiled.failure.map(({ message, line, column }) => ({
            path,
            message: `invalid expression: ${message} (at ${line}:${column})`
          }))
        )
  })

/** Brings into memory what an expression reads. */
export type Preparation = (exchange: Readable) => Effect.Effect<unknown, BodyTooLarge | BodyAborted>
type Readable = Pick<View<never, never>, "readRequestBody" | "readRequestPrefix">

/**
 * What must be read before any of these expressions is evaluated; `undefined` when they read no body. A body that is too
 * large fails the reading, so that a rule over it fails too and does not merely not match.
 */
export const preparation = (expressions: ReadonlyArray<Expression>): Preparation | undefined => {
  if (expressions.some(({ attributes }) => attributes.requestBody)) return (x) => x.readRequestBody()
  if (expressions.some(({ attributes }) => attributes.requestBodyPrefix)) return (x) => x.readRequestPrefix()
  return undefined
}
