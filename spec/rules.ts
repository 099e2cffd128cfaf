/** Authorization rules: expressions that allow, deny or are required. */
import { Schema, SchemaGetter } from "effect"
import { exactlyOneOf, object, required } from "./field.ts"
import { CelExpression } from "./primitives.ts"
import type { DecidingExpression } from "./traits.ts"

/** One rule as the engine sees it. */
export interface Rule {
  readonly effect: "allow" | "deny" | "require"
  readonly expression: string
}

const RuleType = Schema.Struct({
  effect: Schema.Literals(["allow", "deny", "require"]),
  expression: Schema.String
})

const RuleForm = Schema.Union([
  CelExpression,
  exactlyOneOf("RuleByEffect", "What a rule does, and its expression.", {
    allow: required(CelExpression, "The request is allowed when one of the allow rules is true."),
    deny: required(CelExpression, "The request is denied when the expression is true."),
    require: required(CelExpression, "The request is denied unless the expression is true.")
  })
]).annotate({ identifier: "Rule", description: "An expression, which allows; or `allow`, `deny` or `require`." })

/** A plain expression allows; otherwise the key says what the rule does. */
export const Rule = RuleForm.pipe(
  Schema.decodeTo(RuleType, {
    decode: SchemaGetter.transform((form: typeof RuleForm.Type): Rule => {
      if (typeof form === "string") return { effect: "allow", expression: form }
      if (form.allow !== undefined) return { effect: "allow", expression: form.allow }
      if (form.deny !== undefined) return { effect: "deny", expression: form.deny }
      return { effect: "require", expression: form.require }
    }),
    encode: SchemaGetter.transform((rule: Rule): typeof RuleForm.Type => {
      if (rule.effect === "allow") return { allow: rule.expression }
      return rule.effect === "deny" ? { deny: rule.expression } : { require: rule.expression }
    })
  })
)

/** The rules of one policy. */
export const RuleSet = object("RuleSet", "Rules over the attributes of a request.", {
  rules: required(
    Schema.Array(Rule),
    "The rules. A true `deny` or an untrue `require` denies; else one true `allow` is needed where there are any. A rule that cannot be evaluated counts as false."
  )
})

/** The expressions of a rule set. */
export const expressionsOf = ({ rules }: typeof RuleSet.Type): ReadonlyArray<DecidingExpression> =>
  rules.map(({ effect, expression }, index) => ({ source: expression, path: ["rules", index], effect }))
