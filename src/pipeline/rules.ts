/**
 * Authorization rules over the variables of a request: `deny`, `require` and `allow`. A rule over something that is not there,
 * or that yields no boolean, counts as false; one that cannot read what is there refuses the request, whatever its kind.
 */
import { Effect, Result } from "effect"
import type { Shown } from "../../spec/explanation.ts"
import type { Rule } from "../../spec/rules.ts"
import type { McpItem, RuleOutcome } from "../../spec/trace-events.ts"
import type { Bindings } from "../cel/bindings.ts"
import { type Expression, explain, isUnreadable, type Phase } from "../cel/expression.ts"
import { Unreadable } from "./errors.ts"
import { compileExpression, decided, type Preparation, preparation, refusalOf } from "./expressions.ts"
import { inBothReadings, readsPath } from "./readings.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"
import type { View } from "./view.ts"

/** What rules say of a request. */
export type Ruling = "allow" | "deny" | Unreadable

export interface Decision {
  readonly rules: ReadonlyArray<RuleOutcome>
  readonly ruling: Ruling
}

/** Compiled rules: `prepare` what they read, then ask `rulingOf`. */
export interface Rules {
  /** Whether nothing denies, all that is required holds, and, where anything allows, something does. */
  readonly decide: (variables: Bindings) => Ruling
  /** The same decision with the outcome of every rule, and why it came out so; it evaluates them all. */
  readonly explain: (variables: Bindings) => Decision
  /** What must be in memory before; `undefined` when the rules read no body. */
  readonly prepare: Preparation | undefined
  /** The variables that the rules read. */
  readonly reads: ReadonlySet<string>
  /** Whether they read the path. */
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

    const ordered = inOrder(compiled)
    const otherwise: Ruling = compiled.some(({ mode }) => mode === "allow") ? "deny" : "allow"
    return {
      decide: (variables) => {
        for (const { mode, expression } of ordered) {
          const value = decided(expression, variables)
          if (value instanceof Unreadable) return value
          const ruling = verdicts[mode](value === true)
          if (ruling !== undefined) return ruling
        }
        return otherwise
      },
      explain: (variables) => {
        const explained = compiled.map((rule) => ({
          ...rule,
          explanation: explain(rule.expression, variables, { deciding: true })
        }))
        const rulings = inOrder(explained).map(({ mode, expression, explanation: { outcome } }) =>
          outcome.kind === "error" && isUnreadable(outcome)
            ? refusalOf(expression, outcome.code)
            : verdicts[mode](isTrue(outcome))
        )
        return {
          rules: explained.map(({ mode, expression, explanation }) => ({
            name: expression.source,
            matched: isTrue(explanation.outcome),
            mode,
            explanation
          })),
          ruling: rulings.find((ruling) => ruling !== undefined) ?? otherwise
        }
      },
      prepare: preparation(compiled.map(({ expression }) => expression)),
      reads: new Set(compiled.flatMap(({ expression }) => [...expression.attributes.roots])),
      readPath: compiled.some(({ expression }) => readsPath(expression))
    }
  })

/** Rules in the order in which they are asked: the first one that decides is the last one that is. */
const inOrder = <R extends { readonly mode: Rule["effect"] }>(rules: ReadonlyArray<R>): ReadonlyArray<R> =>
  (["deny", "require", "allow"] as const).flatMap((mode) => rules.filter((rule) => rule.mode === mode))

/** What a rule decides, if it does. */
const verdicts = {
  deny: (holds: boolean) => (holds ? "deny" : undefined),
  require: (holds: boolean) => (holds ? undefined : "deny"),
  allow: (holds: boolean) => (holds ? "allow" : undefined)
} as const satisfies { readonly [E in Rule["effect"]]: (holds: boolean) => Ruling | undefined }

const isTrue = (outcome: Shown): boolean =>
  outcome.kind === "value" && outcome.type === "bool" && outcome.value === "true"

export type Asking = Pick<View<never, never>, "request" | "variables" | "watched" | "tell">
/** A request has a path, which may be read in two ways; a connection has none. */
type AskingOfAny = Omit<Asking, "request">

/**
 * Decides, and tells whoever watches how each rule came out.
 * @param item what it decides about, if not the request as a whole.
 */
export const rulingOf = (rules: Rules, exchange: Asking, item?: McpItem): Ruling =>
  rules.readPath && exchange.request.otherPath !== undefined
    ? inBothReadings(exchange.request, () => plainRulingOf(rules, exchange, item))
    : plainRulingOf(rules, exchange, item)

/** The same of rules that read no path. */
export const plainRulingOf = (rules: Rules, exchange: AskingOfAny, item?: McpItem): Ruling => {
  if (!exchange.watched) return rules.decide(exchange.variables)
  const { ruling, rules: outcomes } = rules.explain(exchange.variables)
  const result = ruling === "allow" ? "allow" : "deny"
  exchange.tell({ type: "authorizationResult", rules: outcomes, result, ...(item === undefined ? {} : { item }) })
  return ruling
}
