/** Expressions in the configuration of a policy: compiled with it, and evaluated once what they read is in memory. */

import { Context, Effect, Result } from "effect"
import type { Bindings } from "../cel/bindings.ts"
import { type CustomFunctions, noFunctions } from "../cel/custom-functions.ts"
import { CelError, type CelValue, compile, type Expression, isUnreadable, type Phase } from "../cel/expression.ts"
import { undecodable } from "../http/content-coding.ts"
import { type ContentFailure, type Readable, readContent, readContentPrefix } from "./content.ts"
import { BodyTooLarge, type Unreadable, unreadable } from "./errors.ts"
import { type FailedReading, failedReadings } from "./fail-closed.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"

/** The functions of the configuration, which every expression in it may call. */
export const ConfiguredFunctions = Context.Reference<CustomFunctions>("headgate/pipeline/ConfiguredFunctions", {
  defaultValue: () => noFunctions
})

/** What may not be readable where the body is prepared for an expression. */
export const contentReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    ["a body over the limit, as it is without its content codings", new BodyTooLarge({ side: "request", limit: 0 })],
    ["a body in a content coding that is not known, or in more than four", unreadable.coding],
    ["a body that is not of its content coding", undecodable("client")],
    ["a body whose content type names a charset other than UTF-8", unreadable.charset]
  )

/** What an expression that decides may fail to read once everything is in memory. */
export const expressionReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    [
      "a text that is not what the expression reads it as: JSON, UTF-8, base64, a number, an address, a time",
      unreadable.value
    ],
    ["JSON with two members of one name", unreadable.value],
    ["a number that is too large, or a division by zero", unreadable.value],
    ["JSON with more than 250 levels, and more work over a body than one evaluation may do", unreadable.size],
    ["more work without a body than one evaluation may do", unreadable.work]
  )

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
          compiled.failure.map(({ message, line, column, start }) => ({
            path,
            message: `invalid expression: ${message} (at ${line}:${column})`,
            within: { text: source, offset: start }
          }))
        )
  })

/**
 * The value of an expression that decides about a request. What it reads and cannot read is a refusal by its cause, whatever
 * the expression would have made of it; any other error counts as the place where it stands has it.
 */
export const decided = (expression: Expression, variables: Bindings): CelValue | CelError | Unreadable => {
  const value = expression.decide(variables)
  return value instanceof CelError && isUnreadable(value) ? refusalOf(expression, value.code) : value
}

/** The refusal for what an expression could not read. */
export const refusalOf = ({ attributes }: Expression, code: string): Unreadable => {
  if (code !== "limit") return unreadable.value
  return attributes.requestBody || attributes.requestBodyPrefix ? unreadable.size : unreadable.work
}

/** Brings into memory what an expression reads. */
export type Preparation = (exchange: Readable) => Effect.Effect<unknown, ContentFailure>

/**
 * What must be read before any of these expressions is evaluated; `undefined` when they read no body. A body that cannot be
 * read as text fails the reading, so that a rule over it fails too and does not merely not match.
 */
export const preparation = (expressions: ReadonlyArray<Expression>): Preparation | undefined => {
  if (expressions.some(({ attributes }) => attributes.requestBody)) return readContent
  if (expressions.some(({ attributes }) => attributes.requestBodyPrefix)) return readContentPrefix
  return undefined
}
