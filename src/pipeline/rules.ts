/**
 * Authorization rules over the variables of a request: `deny`, `require` and `allow`. A rule that cannot be evaluated, or
 * yields no boolean, counts as false.
 */
import { Effect, Result } from "effect"
import type { Shown } from "../../spec/explanation.ts"
import type { Rule } from "../../spec/rules.ts"
import type { RuleOutcome } from "../../spec/trace-events.ts"
import type { Bindings } from "../cel/bindings.ts"
import { type Expression, explain, type Phase } from "../cel/expression.ts"
import { compileExpression, type Preparation, preparation } from "./expressions.ts"
import { inBothReadings, readsPath } from "./readings.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"
import type { View } from "./view.ts"

export interface Decision {
  readonly rules: ReadonlyArray<RuleOutcome>
  readonly result: "allow" | "deny"
}

export interface Rules {
  /** Whether nothing denies, all that is required holds, and, where anything allows, something does. */
  readonly allow: (variables: Bindings) => boolean
  /** The same decision with the outcome of every rule, and why it came out so; it evaluates them all. */
  readonly explain: (variables: Bindings) => Decision
  /** What must be in memory before; `undefined` when the rules read no body. */
  readonly prepare: Preparation | undefined
  /** Whether the path has a say. */
  readonly readPath: boolean
}

/**
 * Compiles the rules that are in force together, whatever levels they come from.
 * @param path that of the list of rules.
 */
export const compileRules = (
  rules: ReadonlyArray<Rule>,
  phase: Phase,
  path: ConfigPath
): Effect.Effect<Rules, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const compiled: Array<{ readonly mode: Rule["effect"]; readonly expression: Expression }> = []
    for (const [index, { effect, expression }] of rules.entries()) {
      const result = yield* Effect.result(compileExpression(expression, phase, [...path, index]))
      if (Result.isSuccess(result)) compiled.push({ mode: effect, expression: result.success })
      else problems.push(...result.failure)
    }
    if (problems.length > 0) return yield* Effect.fail(problems)

    const of = (mode: Rule["effect"]) => compiled.filter((rule) => rule.mode === mode).map((rule) => rule.expression)
    const deny = of("deny")
    const require = of("require")
    const allow = of("allow")
    return {
      allow: (variables) => {
        for (const expression of deny) if (expression.test(variables)) return false
        for (const expression of require) if (!expression.test(variables)) return false
        if (allow.length === 0) return true
        for (const expression of allow) if (expression.test(variables)) return true
        return false
      },
      explain: (variables) => {
        const outcomes = compiled.map(({ mode, expression }) => {
          const explanation = explain(expression, variables)
          return { name: expression.source, matched: isTrue(explanation.outcome), mode, explanation }
        })
        const denied = outcomes.some(({ mode, matched }) =>
          mode === "deny" ? matched : mode === "require" && !matched
        )
        const allowed = allow.length === 0 || outcomes.some(({ mode, matched }) => mode === "allow" && matched)
        return { rules: outcomes, result: !denied && allowed ? "allow" : "deny" }
      },
      prepare: preparation(compiled.map(({ expression }) => expression)),
      readPath: compiled.some(({ expression }) => readsPath(expression))
    }
  })

const isTrue = (outcome: Shown): boolean =>
  outcome.kind === "value" && outcome.type === "bool" && outcome.value === "true"

export type Asking = Pick<View<never, never>, "request" | "variables" | "watched" | "tell">

/** Decides, and tells whoever watches how each rule came out. */
export const isPermitted = (rules: Rules, exchange: Asking): boolean =>
  rules.readPath && exchange.request.otherPath !== undefined
    ? inBothReadings(exchange.request, () => decided(rules, exchange))
    : decided(rules, exchange)

const decided = (rules: Rules, exchange: Asking): boolean => {
  if (!exchange.watched) return rules.allow(exchange.variables)
  const decision = rules.explain(exchange.variables)
  exchange.tell({ type: "authorizationResult", ...decision })
  return decision.result === "allow"
}
