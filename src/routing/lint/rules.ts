/** Rules and conditions that no request can make true: they compare what is never equal, or yield no boolean. */
import { Result } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Rule } from "../../../spec/rules.ts"
import { noFunctions } from "../../cel/custom-functions.ts"
import { compile, parseFunctions } from "../../cel/expression.ts"
import type { PolicyBranch } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, warn } from "./finding.ts"

const withRules = new Set(["authorization", "mcpAuthorization", "networkAuthorization"])

const consequences: Readonly<Record<Rule["effect"], string>> = {
  allow: "it never allows anything",
  deny: "it never denies anything",
  require: "everything is denied"
}

/** Every rule of an authorization, and every condition of a policy, that types alone decide against. */
export const neverTrue = ({ normalised }: Configuration): ReadonlyArray<Complaint> => {
  const functions = Result.getOrElse(parseFunctions(normalised.settings.customFunctions ?? ""), () => noFunctions)
  const told = new Map<string, Complaint>()
  const look = (source: string, path: Path, consequence: string) => {
    const key = path.join("/")
    if (told.has(key)) return
    // Which variables there are is another question, and compiling the policy answers it.
    const compiled = compile(source, { phase: "log", functions })
    if (Result.isSuccess(compiled) && compiled.success.neverTrue)
      told.set(key, warn("rule-never-true", path, `is never true, whatever the request: ${consequence}`))
  }
  for (const policies of allPolicies(normalised))
    for (const { name, branches } of Object.values(policies))
      for (const branch of branches) {
        if (branch.condition !== undefined)
          look(branch.condition.expression, branch.condition.path, "this entry is never chosen")
        if (!withRules.has(name)) continue
        for (const [index, { effect, expression }] of rulesOf(branch).entries())
          look(expression, [...branch.path, "rules", index], consequences[effect])
      }
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
