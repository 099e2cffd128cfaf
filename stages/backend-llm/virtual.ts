/** Virtual models: names that lead to one of several models, by weight, by rank or by condition. */
import { Effect, Result } from "effect"
import type { Expression } from "../../src/cel/expression.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { compileExpression } from "../../src/pipeline/expressions.ts"
import { inBothReadings } from "../../src/pipeline/readings.ts"
import type { ConfigProblem } from "../../src/pipeline/stage.ts"
import { choose } from "../../src/protocols/llm/balance/choice.ts"
import type { EndpointHealth } from "../../src/protocols/llm/balance/health.ts"
import { type Refusal, virtualNoTarget, virtualNotResolved } from "../../src/protocols/llm/models/refusal.ts"
import { failoverGroups, pickConditional, pickWeighted } from "../../src/protocols/llm/models/virtual.ts"
import type { VirtualConfig } from "./schema.ts"

export interface VirtualModels {
  readonly names: ReadonlyArray<string>
  /** The model that a virtual name leads to; `undefined` when the name is not virtual. */
  readonly resolve: (name: string, x: Exchange) => string | Refusal | undefined
}

type Choose = (x: Exchange) => string | Refusal

export const compileVirtual = (
  configs: ReadonlyArray<VirtualConfig>,
  healthOf: (target: string) => EndpointHealth | undefined,
  clock: () => number,
  random: () => number
): Effect.Effect<VirtualModels, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const byName = new Map<string, Choose>()
    const problems: Array<ConfigProblem> = []
    for (const { name, routing, path } of configs) {
      const unresolved = virtualNotResolved(name)
      switch (routing.kind) {
        case "weighted":
          byName.set(name, () => pickWeighted(routing.targets, random())?.model ?? unresolved)
          break
        case "failover": {
          const groups = failoverGroups(routing.targets).map((targets) =>
            targets.flatMap(({ model }) => {
              const health = healthOf(model)
              return health === undefined ? [] : [{ model, health }]
            })
          )
          byName.set(name, () => choose(groups, clock(), random)?.model ?? unresolved)
          break
        }
        case "conditional": {
          const targets: Array<{ readonly model: string; readonly when?: Expression }> = []
          for (const [at, { model, when }] of routing.targets.entries()) {
            if (when === undefined) {
              targets.push({ model })
              continue
            }
            const compiled = yield* Effect.result(
              compileExpression(when, "llm", [...path, "routing", "conditional", "targets", at, "when"])
            )
            if (Result.isSuccess(compiled)) targets.push({ model, when: compiled.success })
            else problems.push(...compiled.failure)
          }
          const none = virtualNoTarget(name)
          byName.set(
            name,
            (x) =>
              pickConditional(
                targets,
                ({ when }) => when === undefined || inBothReadings(x.request, () => when.test(x.variables))
              )?.model ?? none
          )
        }
      }
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      names: [...byName.keys()],
      resolve: (name, x) => byName.get(name)?.(x)
    }
  })
