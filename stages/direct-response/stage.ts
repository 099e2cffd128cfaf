/** directResponse: answers without a backend. It runs last, so that everything that may refuse has had its say. */
import { Effect, Exit, Result } from "effect"
import {
  CelError,
  type CelValue,
  type ConfigProblem,
  compileExpression,
  type Expression,
  FilterFailed,
  HeaderList,
  isHeaderValue,
  policy,
  preparation,
  respond,
  slots,
  toJson,
  toText,
  type View
} from "../../src/policy/policy.ts"
import { DirectResponse } from "./schema.ts"

export const directResponse = policy({
  name: "directResponse",
  traceKey: "directResponse",
  schema: DirectResponse,
  sites: ["route"],
  responds: [],
  reads: slots.expressionSlots,
  writes: [],
  outcomes: ["respond", "fail"],
  maturity: { status: "stable", untrusted: "client" },
  compile: ({ status, body, bodyExpression, headers = {} }, { site }) =>
    Effect.gen(function* () {
      const problems: Array<ConfigProblem> = []
      const compiled = function* (source: string, path: ConfigProblem["path"]) {
        const result = yield* Effect.result(compileExpression(source, site, path))
        if (Result.isSuccess(result)) return result.success
        problems.push(...result.failure)
        return undefined
      }
      const content = bodyExpression === undefined ? undefined : yield* compiled(bodyExpression, ["bodyExpression"])
      const lines: Array<readonly [name: string, value: Expression]> = []
      for (const [name, source] of Object.entries(headers)) {
        const value = yield* compiled(source, ["headers", name])
        if (value !== undefined) lines.push([name.toLowerCase(), value])
      }
      if (problems.length > 0) return yield* Effect.fail(problems)

      const failed = Exit.fail(
        new FilterFailed({ detail: "the body expression of a direct response cannot be evaluated" })
      )
      const answer = (x: View<never, never>) => {
        const list = new HeaderList()
        for (const [name, expression] of lines) {
          const value = expression.evaluate(x.variables)
          // A header that cannot be evaluated, or that HTTP forbids, is left out.
          if (value instanceof CelError) continue
          const text = toText(value)
          if (isHeaderValue(text)) list.set(name, text)
        }
        if (content === undefined) return respond({ status, headers: list, body })
        const rendered = bodyOf(content.evaluate(x.variables))
        return rendered === undefined ? failed : respond({ status, headers: list, body: rendered })
      }
      const prepare = preparation([
        ...lines.map(([, expression]) => expression),
        ...(content === undefined ? [] : [content])
      ])
      return [
        {
          name: "directResponse",
          phase: "request",
          outcomes: content === undefined && prepare === undefined ? ["respond"] : ["respond", "fail"],
          run: (x) =>
            prepare === undefined
              ? answer(x)
              : Effect.flatMapEager(Effect.mapErrorEager(prepare(x), bodyUnreadable), () => answer(x))
        }
      ]
    })
})

const bodyUnreadable = () => new FilterFailed({ detail: "the request body that an expression reads cannot be read" })

/** Strings and bytes as they are, anything else as JSON; `undefined` where there is no value. */
const bodyOf = (value: CelValue | CelError): string | Uint8Array | undefined => {
  if (value instanceof CelError) return undefined
  if (typeof value === "string" || value instanceof Uint8Array) return value
  const json = toJson(value)
  return json instanceof CelError ? undefined : json
}
