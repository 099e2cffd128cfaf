/** Virtual models: names that lead to one of several models, by weight, by rank or by condition. */
import { Effect, Result } from "effect"
import type { Expression } from "../../src/cel/expression.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { compileExpression } from "../../src/pipeline/expressions.ts"
import type { ConfigProblem } from "../../src/pipeline/stage.ts"
import { type Refusal, virtualNoTarget } from "../../src/protocols/llm/models/refusal.ts"
import { failoverGroups, pickConditional, pickWeighted } from "../../src/protocols/llm/models/virtual.ts"
import type { LlmRouterConfig } from "./schema.ts"

export interface VirtualModels {
  readonly names: ReadonlyArray<string>
  /** The model that a virtual name leads to; `undefined` when the name is not virtual. */
  readonly resolve: (name: string, x: Exchange) => string | Refusal | undefined
}

type Choose = (x: Exchange) => string | undefined

export const compileVirtual = (
  config: NonNullable<LlmRouterConfig["virtualModels"]>,
  random: () => number
): Effect.Effect<VirtualModels, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const byName = new Map<string, Choose>()
    const problems: Array<ConfigProblem> = []
    for (const [index, { name, routing }] of config.entries()) {
      const { weighted, failover, conditional } = routing
      if (weighted !== undefined) {
        const targets = weighted.targets.map(({ model, weight = 1 }) => ({ model, weight }))
        byName.set(name, () => pickWeighted(targets, random())?.model)
      } else if (failover !== undefined) {
        const [best] = failoverGroups(failover.targets)
        // Health decides between ranks once it is watched; until then the best rank is the healthy one.
        const targets = (best ?? []).map(({ model }) => ({ model, weight: 1 }))
        byName.set(name, () => pickWeighted(targets, random())?.model)
      } else if (conditional !== undefined) {
        const targets: Array<{ readonly model: string; readonly when?: Expression }> = []
        for (const [at, { model, when }] of conditional.targets.entries()) {
          if (when === undefined) {
            targets.push({ model })
            continue
          }
          const path = ["virtualModels", index, "routing", "conditional", "targets", at, "when"]
          const compiled = yield* Effect.result(compileExpression(when, "llm", path))
          if (Result.isSuccess(compiled)) targets.push({ model, when: compiled.success })
          else problems.push(...compiled.failure)
        }
        byName.set(name, (x) => pickConditional(targets, ({ when }) => when?.test(x.variables) ?? true)?.model)
      }
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      names: [...byName.keys()],
      resolve: (name, x) => {
        const choose = byName.get(name)
        return choose === undefined ? undefined : (choose(x) ?? virtualNoTarget(name))
      }
    }
  })
