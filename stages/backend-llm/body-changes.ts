/** What configuration sets, computes or fills in, in the body of a request: before it is translated, and at the very end. */
import { Effect, Result } from "effect"
import { CelError, type ConfigProblem, compileExpression, type Expression, toJson } from "../../src/policy/policy.ts"
import { applyComputed, applyMutations, type Computed } from "../../src/protocols/llm/enrich/mutations.ts"
import { type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { Exchange } from "./exchange.ts"
import type { EndpointPolicies } from "./schema.ts"

/** Changes a body; the very same object where nothing is to change. */
export type BodyChange = (body: JsonObject, x: Exchange) => JsonObject

export interface BodyChanges {
  readonly request: BodyChange | undefined
  readonly final: BodyChange | undefined
}

/** @param pathOf where a part of the `ai` policy was written. */
export const compileBodyChanges = (
  { defaults, overrides, transformations, finalTransformations }: NonNullable<EndpointPolicies["ai"]>,
  pathOf: (part: ConfigProblem["path"]) => ConfigProblem["path"]
): Effect.Effect<BodyChanges, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const fieldsOf = function* (
      key: "transformations" | "finalTransformations",
      sources: Readonly<Record<string, string>> = {}
    ) {
      const fields: Array<readonly [field: string, value: Expression]> = []
      for (const [field, source] of Object.entries(sources)) {
        const compiled = yield* Effect.result(compileExpression(source, "llm", pathOf([key, field])))
        if (Result.isSuccess(compiled)) fields.push([field, compiled.success])
        else problems.push(...compiled.failure)
      }
      return fields
    }
    const request = yield* fieldsOf("transformations", transformations)
    const final = yield* fieldsOf("finalTransformations", finalTransformations)
    if (problems.length > 0) return yield* Effect.fail(problems)
    const mutations = { overrides: entries(overrides), defaults: entries(defaults) }
    const changes = request.length > 0 || mutations.overrides.size > 0 || mutations.defaults.size > 0
    return {
      request: changes
        ? (body, x) => applyMutations(body, { ...mutations, computed: computed(request, x) })
        : undefined,
      final: final.length > 0 ? (body, x) => applyComputed(body, computed(final, x)) : undefined
    }
  })

const entries = (fields: JsonObject = {}): ReadonlyMap<string, unknown> => new Map(Object.entries(fields))

/** All values come from the body as the client sent it. One that cannot be computed takes its field away. */
const computed = (
  fields: ReadonlyArray<readonly [field: string, value: Expression]>,
  x: Exchange
): ReadonlyArray<Computed> =>
  fields.map(([field, expression]) => {
    const value = expression.evaluate(x.variables)
    const text = value instanceof CelError ? value : toJson(value)
    return [field, text instanceof CelError ? undefined : parseJson(text)]
  })
