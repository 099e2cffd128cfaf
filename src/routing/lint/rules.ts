/** Rules and conditions that no request can make true: they compare what is never equal, or yield no boolean. */
import { Result } from "effect"
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { DecidingExpression } from "../../../spec/traits.ts"
import { type CustomFunctions, noFunctions } from "../../cel/custom-functions.ts"
import { compile, parseFunctions } from "../../cel/expression.ts"
import { type Normalised, writtenAt } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { allPolicies, warn } from "./finding.ts"

const consequences: Readonly<Record<DecidingExpression["effect"], string>> = {
  allow: "it never allows anything",
  deny: "it never denies anything",
  require: "everything is denied"
}

/** An expression that decides about requests. */
interface Deciding {
  readonly source: string
  readonly path: Path
  /** What a true rule does; absent for what is no rule. */
  readonly effect?: DecidingExpression["effect"]
  /** What follows where it is never true. */
  readonly otherwise: string
}

/** Every expression by which a policy decides or is chosen, and those of virtual models. */
export const decidingExpressions = function* ({ normalised: config, specs }: Configuration): Generator<Deciding> {
  for (const policies of allPolicies(config))
    for (const { name, branches } of Object.values(policies))
      for (const branch of branches) {
        if (branch.condition !== undefined)
          yield {
            source: branch.condition.expression,
            path: branch.condition.path,
            otherwise: "this entry is never chosen"
          }
        for (const { source, path, effect } of specs[name]?.expressions?.(branch.config) ?? [])
          yield { source, path: writtenAt(branch, path), effect, otherwise: consequences[effect] }
      }
  for (const { destination } of Object.values(config.backends))
    if (destination.kind === "llm")
      for (const { routing, path } of destination.config.virtualModels)
        if (routing.kind === "conditional")
          for (const [index, { when }] of routing.targets.entries())
            if (when !== undefined)
              yield {
                source: when,
                path: [...path, "routing", "conditional", "targets", index, "when"],
                otherwise: "this target is never chosen"
              }
}

/** The functions that they may call. What is wrong with those is told where they are compiled. */
export const functionsOf = ({ settings }: Normalised): CustomFunctions =>
  Result.getOrElse(parseFunctions(settings.customFunctions ?? ""), () => noFunctions)

/** Those that types alone decide against. */
export const neverTrue = (configuration: Configuration): ReadonlyArray<Complaint> => {
  const functions = functionsOf(configuration.normalised)
  const told = new Map<string, Complaint>()
  for (const { source, path, otherwise } of decidingExpressions(configuration)) {
    const key = path.join("/")
    if (told.has(key)) continue
    // Which variables there are is another question, and compiling the policy answers it.
    const compiled = compile(source, { phase: "log", functions })
    if (Result.isSuccess(compiled) && compiled.success.neverTrue)
      told.set(key, warn("rule-never-true", path, `is never true, whatever the request: ${otherwise}`))
  }
  return [...told.values()]
}
