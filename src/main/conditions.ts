/** Expressions that decide about a request: conditions of policies, and which requests a trace wants. An error is false. */
import { Result } from "effect"
import type { CustomFunctions } from "../cel/custom-functions.ts"
import { compile } from "../cel/expression.ts"
import type { Exchange } from "../pipeline/exchange.ts"
import { inBothReadings, readsPath } from "../pipeline/readings.ts"
import type { CompileCondition } from "./sites.ts"

/** Compiles the conditions of a configuration, which may call its functions. */
export const conditions =
  (functions: CustomFunctions): CompileCondition =>
  (source, site) => {
    const compiled = compile(source, { phase: site, functions })
    if (Result.isFailure(compiled))
      return Result.fail(
        compiled.failure.map(({ message, line, column }) => `invalid expression: ${message} (at ${line}:${column})`)
      )
    const expression = compiled.success
    const { requestBody, requestBodyPrefix } = expression.attributes
    // Whether the body is there when a policy is chosen depends on how the client sends it, which must not decide.
    if (requestBody || requestBodyPrefix)
      return Result.fail(["a condition cannot read the body: a policy is chosen before the body has come"])
    return Result.succeed(
      readsPath(expression)
        ? (x) => inBothReadings(x.request, () => expression.test(x.variables))
        : (x) => expression.test(x.variables)
    )
  }

/** The expression of a trace, over the request as it was received. */
export const compileExpression = (source: string): ((exchange: Exchange) => boolean) | string => {
  const compiled = compile(source, { phase: "gateway" })
  if (Result.isFailure(compiled)) return compiled.failure.map(({ message }) => message).join("; ")
  const expression = compiled.success
  return (x) => expression.test(x.variables)
}
