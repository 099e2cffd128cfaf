/** The models of the `llm` section, compiled: endpoints with a name that clients ask for, and conditions on who may. */
import { Effect, Result } from "effect"
import {
  type ConfigProblem,
  compileHeaderMatch,
  compileRules,
  type HeaderTest,
  type Rules
} from "../../src/policy/policy.ts"
import { type NamePattern, parsePattern } from "../../src/protocols/llm/models/name-pattern.ts"
import { compileRouteTypes, inSmallLetters, routerPaths } from "../../src/protocols/llm/models/route-type.ts"
import { compileEndpoint, type Endpoint, type EndpointNeeds, pathOfPolicy, policiesOf } from "./endpoint.ts"
import { readsModelRequest } from "./request-body.ts"
import type { ModelConfig } from "./schema.ts"

export interface Model extends Endpoint {
  readonly pattern: NamePattern
  /** Whether a request that names the model also has the headers that it asks for. */
  readonly meant: HeaderTest | undefined
  readonly internal: boolean
  readonly rules: Rules | undefined
  /** Whether the rules look into the body of the request. */
  readonly readsBody: boolean
}

/** Compiles the models; problems carry their whole paths. */
export const compileModels = (
  configs: ReadonlyArray<ModelConfig>
): Effect.Effect<ReadonlyArray<Model>, ReadonlyArray<ConfigProblem>, EndpointNeeds> =>
  Effect.gen(function* () {
    const models: Array<Model> = []
    const problems: Array<ConfigProblem> = []
    for (const config of configs) {
      const compiled = yield* Effect.result(compileModel(config))
      if (Result.isSuccess(compiled)) models.push(compiled.success)
      else problems.push(...compiled.failure)
    }
    return problems.length > 0 ? yield* Effect.fail(problems) : models
  })

const compileModel = (config: ModelConfig): Effect.Effect<Model, ReadonlyArray<ConfigProblem>, EndpointNeeds> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const meant = matchesOf(config, problems)
    const pattern = parsePattern(config.name)
    if (pattern === undefined)
      return yield* Effect.fail([
        ...problems,
        { path: [...config.path, "name"], message: "expected at most one *, at an end" }
      ])
    const fallback = config.passthrough === "detect" ? "detect" : undefined
    const forwards = config.passthrough === undefined ? ("no" as const) : ("others" as const)
    const paths = {
      routeType: compileRouteTypes(routerPaths, fallback),
      forgivenType: compileRouteTypes(inSmallLetters(routerPaths), fallback),
      knowsPath: () => true,
      forwards: () => forwards
    }
    const endpoint = yield* compileEndpoint(config, () => paths, ["authorization"])
    const { authorization } = policiesOf(config)
    const rules =
      authorization === undefined
        ? undefined
        : yield* compileRules(authorization.rules, "llm", [...pathOfPolicy(config)("authorization"), "rules"])
    if (problems.length > 0) return yield* Effect.fail(problems)
    const readsBody = rules !== undefined && readsModelRequest(rules.reads)
    return { ...endpoint, pattern, meant, internal: config.visibility === "internal", rules, readsBody }
  })

/** Any of the matches must hold, and in it every header condition. */
const matchesOf = ({ matches, path }: ModelConfig, problems: Array<ConfigProblem>): HeaderTest | undefined => {
  if (matches.length === 0) return undefined
  const alternatives = matches.map(({ headers = [] }, index) =>
    headers.flatMap((header, at): ReadonlyArray<HeaderTest> => {
      const { name, value } = header
      const compiled = compileHeaderMatch({
        name,
        value: value.exact === undefined ? { regex: value.regex } : { exact: value.exact }
      })
      if (Result.isSuccess(compiled)) return [compiled.success]
      const { path: below, message } = compiled.failure
      problems.push({ path: [...path, "matches", index, "headers", at, ...below], message })
      return []
    })
  )
  return (request) => alternatives.some((tests) => tests.every((test) => test(request)))
}
