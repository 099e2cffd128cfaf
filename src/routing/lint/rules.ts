/** Rules and conditions that no request can make true: they compare what is never equal, or yield no boolean. */
import { Result } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Rule } from "../../../spec/rules.ts"
import { noFunctions } from "../../cel/custom-functions.ts"
import { compile, type Expression, parseFunctions } from "../../cel/expression.ts"
import type { PolicyBranch } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, warn } from "./finding.ts"

const withRules = new Set(["authorization", "mcpAuthorization", "networkAuthorization"])

const consequences: Readonly<Record<Rule["effect"], string>> = {
  allow: "it never allows anything",
  deny: "it never denies anything",
  require: "everything is denied"
}

interface CompiledRule {
  readonly effect: Rule["effect"]
  readonly expression: Expression
  readonly path: Path
}

/** Which variables there are is another question, and compiling the policy answers it. */
const compiler = ({ normalised }: Configuration) => {
  const functions = Result.getOrElse(parseFunctions(normalised.settings.customFunctions ?? ""), () => noFunctions)
  return (source: string) => compile(source, { phase: "log", functions })
}

/** Every rule of an authorization that compiles, once. */
export const compiledRules = function* (configuration: Configuration): Generator<CompiledRule> {
  const compiled = compiler(configuration)
  const told = new Set<string>()
  for (const policies of allPolicies(configuration.normalised))
    for (const { name, branches } of Object.values(policies)) {
      if (!withRules.has(name)) continue
      for (const branch of branches)
        for (const [index, { effect, expression }] of rulesOf(branch).entries()) {
          const path = [...branch.path, "rules", index]
          const key = path.join("/")
          if (told.has(key)) continue
          told.add(key)
          const result = compiled(expression)
          if (Result.isSuccess(result)) yield { effect, expression: result.success, path }
        }
    }
}

/** Every rule of an authorization, and every condition of a policy, that types alone decide against. */
export const neverTrue = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const { normalised } = configuration
  const compiled = compiler(configuration)
  const told = new Map<string, Complaint>()
  const tell = (path: Path, consequence: string) =>
    told.set(path.join("/"), warn("rule-never-true", path, `is never true, whatever the request: ${consequence}`))
  const look = (source: string, path: Path, consequence: string) => {
    if (told.has(path.join("/"))) return
    const result = compiled(source)
    if (Result.isSuccess(result) && result.success.neverTrue) tell(path, consequence)
  }
  for (const { effect, expression, path } of compiledRules(configuration))
    if (expression.neverTrue) tell(path, consequences[effect])
  for (const policies of allPolicies(normalised))
    for (const { branches } of Object.values(policies))
      for (const { condition } of branches)
        if (condition !== undefined) look(condition.expression, condition.path, "this entry is never chosen")
  for (const { destination } of Object.values(normalised.backends))
    if (destination.kind === "llm")
      for (const { routing, path } of destination.config.virtualModels)
        if (routing.kind === "conditional")
          for (const [index, { when }] of routing.targets.entries())
            if (when !== undefined)
              look(when, [...path, "routing", "conditional", "targets", index, "when"], "this target is never chosen")
  return [...told.values()]
}

/** The schemas of these policies decoded them. */
const rulesOf = ({ config }: PolicyBranch) => (config as { readonly rules: ReadonlyArray<Rule> }).rules
