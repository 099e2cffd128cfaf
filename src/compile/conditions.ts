/**
 * Expressions that choose: which entry of a conditional policy applies, and which requests a trace wants. An error is false, but
 * a condition of a policy that cannot be read refuses the request: the entry may be the one that protects.
 */
import { Result } from "effect"
import type { CustomFunctions } from "../cel/custom-functions.ts"
import { compile } from "../cel/expression.ts"
import { Unreadable, unreadable } from "../pipeline/errors.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import { decided, readEarly } from "../pipeline/expressions.ts"
import { failedReadings } from "../pipeline/fail-closed.ts"
import { inBothReadings, pathReadings, readsPath } from "../pipeline/readings.ts"
import { sites } from "../pipeline/site.ts"
import type { CompileCondition } from "./sites.ts"

/** What a condition may fail to read. It is kept from reading bodies. */
export const conditionReadings = [
  ...failedReadings(
    "conditional",
    ["what a condition reads: JSON, base64 or other text that is none", unreadable.value],
    ["more than a condition may do", unreadable.work]
  ),
  ...pathReadings("conditional")
]

/** Compiles the conditions of a configuration, which may call its functions. */
export const conditions =
  (functions: CustomFunctions): CompileCondition =>
  (source, site, reading) => {
    const compiled = compile(source, { phase: sites[site].expressions, functions })
    if (Result.isFailure(compiled))
      return Result.fail(
        compiled.failure.map(({ message, line, column, start }) => ({
          message: `invalid expression: ${message} (at ${line}:${column})`,
          within: { text: source, offset: start }
        }))
      )
    const expression = compiled.success
    const { requestBody, requestBodyPrefix } = expression.attributes
    // Whether the body is there when a policy is chosen depends on how the client sends it, which must not decide.
    if (requestBody || requestBodyPrefix)
      return Result.fail([{ message: "a condition cannot read the body: a policy is chosen before the body has come" }])
    const early = readEarly(expression, reading, sites[site].expressions)
    if (early.length > 0) return Result.fail(early)
    const holds = (x: Exchange) => {
      const value = decided(expression, x.variables)
      return value instanceof Unreadable ? value : value === true
    }
    return Result.succeed({
      text: source,
      reads: [...reading.found],
      holds: readsPath(expression)
        ? (x) => (x.request.otherPath === undefined ? holds(x) : inBothReadings(x.request, () => holds(x)))
        : holds
    })
  }

/** The expression of a trace, over the request as it was received. */
export const compileExpression = (source: string): ((exchange: Exchange) => boolean) | string => {
  const compiled = compile(source, { phase: "gateway" })
  if (Result.isFailure(compiled)) return compiled.failure.map(({ message }) => message).join("; ")
  const expression = compiled.success
  return (x) => expression.test(x.variables)
}
