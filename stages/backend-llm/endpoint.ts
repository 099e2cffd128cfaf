/** An endpoint: a provider as the configuration has it called, and what happens to its requests and answers. */
import { Effect, type Scope } from "effect"
import {
  type ConfigPath,
  type ConfigProblem,
  compileHeaderChanges,
  type HeaderChanges,
  unavailable
} from "../../src/policy/policy.ts"
import type { Files, Kept, SubCalls, Upstreams } from "../../src/policy/terminal.ts"
import { type AddPrompts, compilePrompts } from "../../src/protocols/llm/enrich/prompts.ts"
import { compileAliases } from "../../src/protocols/llm/models/aliases.ts"
import type { RouteType } from "../../src/protocols/llm/models/route-type.ts"
import { compileProvider, type Provider } from "../../src/protocols/llm/providers/provider.ts"
import { type BodyChanges, compileBodyChanges } from "./body-changes.ts"
import { compileDestination, type Destination } from "./destination.ts"
import { compileGuards, type Guards } from "./guards.ts"
import { type EndpointConfig, type EndpointPolicies, type EndpointPolicy, endpointPolicies } from "./schema.ts"
import { providerSettings } from "./settings.ts"
import { makeTranslators, type Translators } from "./translators.ts"
import { compileWatched, type Watched } from "./watched.ts"

export interface Endpoint {
  readonly name: string
  /** The model that the provider is asked for; the client's when there is none. */
  readonly providerModel: string | undefined
  readonly provider: Provider
  readonly destination: Destination
  readonly translators: Translators
  readonly routeType: (path: string) => RouteType
  /** The same for a path in small letters, whatever the letters of the table. */
  readonly forgivenType: (path: string) => RouteType
  /** Whether a path of a client, where it is understood, may also be one of the provider. */
  readonly knowsPath: (path: string) => boolean
  /** Whether configuration itself forwards a path unread: by an entry for it, or by one for all others. */
  readonly forwards: (path: string) => "this" | "others" | "no"
  /** Whether tokens are counted, not estimated, before a limit admits them. */
  readonly tokenize: boolean
  readonly requestHeaders: HeaderChanges | undefined
  readonly responseHeaders: HeaderChanges | undefined
  readonly changes: BodyChanges
  /** Other names of the provider's models. */
  readonly alias: ((model: string) => string) | undefined
  readonly prompts: ((format: RouteType) => AddPrompts) | undefined
  readonly guards: Guards
  readonly watched: Watched
}

export type EndpointNeeds = Files | Kept | SubCalls | Upstreams | Scope.Scope

/** What the schemas of the policies decoded gets its types back. */
export const policiesOf = (config: EndpointConfig): EndpointPolicies =>
  Object.fromEntries(Object.values(config.policies).map(({ name, branches }) => [name, branches[0]?.config]))

export const pathOfPolicy =
  (config: EndpointConfig) =>
  (name: string): ConfigPath =>
    config.policies[name]?.branches[0]?.path ?? config.path

/**
 * Compiles an endpoint; problems carry their whole paths.
 * @param paths what paths speak, given what the `ai` policy says of them.
 * @param beside further policies, which the caller applies.
 */
export const compileEndpoint = (
  config: EndpointConfig,
  paths: (
    routes: Readonly<Record<string, RouteType>>
  ) => Pick<Endpoint, "routeType" | "forgivenType" | "knowsPath" | "forwards">,
  beside: ReadonlyArray<string>
): Effect.Effect<Endpoint, ReadonlyArray<ConfigProblem>, EndpointNeeds> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const pathOf = pathOfPolicy(config)
    const policies = policiesOf(config)
    const known: ReadonlyArray<string> = [...endpointPolicies, ...beside]
    for (const name of Object.keys(config.policies))
      if (!known.includes(name)) problems.push(unavailable(pathOf(name), `policy ${name}`))

    const settings = providerSettings(config, config.connections?.tls !== undefined)
    if ("message" in settings) return yield* Effect.fail([...problems, settings])
    const { ai = {} } = policies
    const provider = compileProvider(settings)
    const destination = yield* compileDestination(provider, config, policies, pathOf)
    const headers = (name: "requestHeaderModifier" | "responseHeaderModifier") => {
      const own = policies[name]
      if (own === undefined) return undefined
      const changes = compileHeaderChanges(own)
      if (!("problems" in changes)) return changes
      for (const { path, message } of changes.problems) problems.push({ path: [...pathOf(name), ...path], message })
      return undefined
    }
    const requestHeaders = headers("requestHeaderModifier")
    const responseHeaders = headers("responseHeaderModifier")
    const inAi = (part: ConfigPath) => originOf(config.policies["ai"], part) ?? [...pathOf("ai"), ...part]
    for (const [path, type] of Object.entries(ai.routes ?? {}))
      if (type === "realtime") problems.push(unavailable(inAi(["routes", path]), "realtime"))
    const guards = yield* compileGuards(ai.promptGuard, (part) => inAi(["promptGuard", ...part]))
    const watched = yield* Effect.mapError(compileWatched(config, policies), (found) =>
      found.map((problem) => ({ ...problem, path: [...pathOf("health"), ...problem.path] }))
    )
    const changes = yield* compileBodyChanges(ai, inAi)
    if (problems.length > 0) return yield* Effect.fail(problems)
    return {
      name: config.name,
      providerModel: config.provider.config.model,
      provider,
      destination,
      translators: makeTranslators(settings, ai.promptCaching),
      ...paths(ai.routes ?? {}),
      tokenize: config.tokenize,
      requestHeaders,
      responseHeaders,
      changes,
      alias: ai.modelAliases === undefined ? undefined : compileAliases(ai.modelAliases),
      prompts: ai.prompts === undefined ? undefined : promptsByFormat(ai.prompts),
      guards,
      watched
    }
  })

/** The formats are few: what is made for one is kept. */
const promptsByFormat = ({
  prepend = [],
  append = []
}: NonNullable<NonNullable<EndpointPolicies["ai"]>["prompts"]>) => {
  const known = new Map<RouteType, AddPrompts>()
  return (format: RouteType): AddPrompts => {
    let found = known.get(format)
    if (found === undefined) {
      found = compilePrompts({ prepend, append }, format)
      known.set(format, found)
    }
    return found
  }
}

/** Where a part of a policy was written: it may have been joined from several places. */
const originOf = (policy: EndpointPolicy | undefined, part: ConfigPath): ConfigPath | undefined => {
  const origin = policy?.branches[0]?.origins?.find(({ part: whole }) => whole.every((key, i) => key === part[i]))
  return origin && [...origin.path, ...part.slice(origin.part.length)]
}
