/** Virtual models: names that lead to one of several models, by weight, by rank or by condition. */
import { Effect, Result } from "effect"
import { choose } from "../../src/balance/choice.ts"
import type { EndpointHealth } from "../../src/balance/endpoint-health.ts"
import {
  type ConfigProblem,
  compileExpression,
  decided,
  type Expression,
  inBothReadings,
  slots,
  Unreadable
} from "../../src/policy/policy.ts"
import type { VirtualModel } from "../../src/policy/terminal.ts"
import { type Refusal, virtualNoTarget, virtualNotResolved } from "../../src/protocols/llm/models/refusal.ts"
import { failoverGroups, pickWeighted } from "../../src/protocols/llm/models/virtual.ts"
import type { Exchange } from "./exchange.ts"
import { readsModelRequest } from "./request-body.ts"

const isTrue = (when: Expression, x: Exchange): boolean | Unreadable => {
  const value = decided(when, x.variables)
  return value instanceof Unreadable ? value : value === true
}

export interface VirtualModels {
  readonly names: ReadonlyArray<string>
  /** Names whose conditions look into the body of the request. */
  readonly readingBody: ReadonlySet<string>
  /** The model that a virtual name leads to; `undefined` when the name is not virtual. */
  readonly resolve: (name: string, x: Exchange) => string | Refusal | Unreadable | undefined
}

type Choose = (x: Exchange) => string | Refusal | Unreadable

export const compileVirtual = (
  configs: ReadonlyArray<VirtualModel>,
  healthOf: (target: string) => EndpointHealth | undefined,
  clock: () => number,
  random: () => number
): Effect.Effect<VirtualModels, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const byName = new Map<string, Choose>()
    const problems: Array<ConfigProblem> = []
    const readingBody = new Set<string>()
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
              return health === undefined ? [] : [{ model, health, key: model }]
            })
          )
          byName.set(
            name,
            (x) => choose(groups, { now: clock(), random, affinity: x.get(slots.affinity) })?.model ?? unresolved
          )
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
            if (Result.isSuccess(compiled)) {
              targets.push({ model, when: compiled.success })
              if (readsModelRequest(compiled.success.attributes.roots)) readingBody.add(name)
            } else problems.push(...compiled.failure)
          }
          const none = virtualNoTarget(name)
          byName.set(name, (x) => {
            for (const { model, when } of targets) {
              const holds = when === undefined || inBothReadings(x.request, () => isTrue(when, x))
              if (holds instanceof Unreadable) return holds
              if (holds === true) return model
            }
            return none
          })
        }
      }
    }
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      names: [...byName.keys()],
      readingBody,
      resolve: (name, x) => byName.get(name)?.(x)
    }
  })
