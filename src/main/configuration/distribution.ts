/**
 * What a configuration can say, and what becomes of it: the policies of a proxy, as wire shapes and as stages. The proxy
 * itself has one distribution; a program that brings policies of its own makes another.
 */
import { Effect, Redacted, Result, type Scope } from "effect"
import type { PolicySpecs } from "../../../spec/standalone/policies.ts"
import { standalone } from "../../../spec/standalone.ts"
import { connections, listeners, policies, terminals } from "../../../stages/registry.ts"
import { schemas } from "../../../stages/schemas.ts"
import type { CustomFunctions } from "../../cel/custom-functions.ts"
import { declaredFunctions, parseFunctions } from "../../cel/function-source.ts"
import { type Language, language } from "../../check/check.ts"
import { type Assembled, assemble } from "../../compile/assemble.ts"
import { conditions } from "../../compile/conditions.ts"
import { Problems } from "../../compile/problems.ts"
import { ConfiguredFunctions } from "../../pipeline/expressions.ts"
import type { Registry, Services } from "../../pipeline/registry.ts"
import { sites } from "../../pipeline/site.ts"
import type { AnyPolicy, ConfigProblem } from "../../pipeline/stage.ts"
import type { SubCalls } from "../../pipeline/sub-calls.ts"
import { Catalogs } from "../../protocols/llm/cost/catalogs.ts"
import { McpFamily, mcpFamily } from "../../protocols/mcp/family.ts"
import { McpProcess } from "../../protocols/mcp/process.ts"
import type { Normalised } from "../../routing/normalised.ts"
import type { Random } from "../../routing/weights.ts"
import { probesOf, type UpstreamOptions, Upstreams, withDefaults } from "../../services/upstreams.ts"
import { noCatalogs, openCatalogs } from "./catalogs.ts"

/** What the terminals need to compile, but for what belongs to each configuration. */
type TerminalPorts =
  | Exclude<
      Effect.Services<ReturnType<(typeof terminals)[number]["compile"]>>,
      Scope.Scope | Catalogs | McpFamily | SubCalls
    >
  | McpProcess

/** What policies need to compile, but for what belongs to each configuration. */
export type PolicyPorts<L extends ReadonlyArray<AnyPolicy>> = Exclude<Services<L>, SubCalls>

/** What the proxy's own policies and terminals need to compile. */
export type Ports = PolicyPorts<(typeof policies)["policies"]> | TerminalPorts

export interface Distribution<out R = Ports> extends Language {
  readonly registry: Registry
  readonly assemble: (
    config: Normalised,
    random: Random
  ) => Effect.Effect<Assembled, ReadonlyArray<ConfigProblem>, R | Scope.Scope>
}

/** The functions that a configuration defines for its expressions. */
export const customFunctions = ({
  settings
}: Normalised): Effect.Effect<CustomFunctions, ReadonlyArray<ConfigProblem>> => {
  const text = settings.customFunctions ?? ""
  const parsed = parseFunctions(text)
  return Result.isSuccess(parsed)
    ? Effect.succeed(parsed.success)
    : Effect.fail(
        parsed.failure.map(({ message, line, column, start }) => ({
          path: ["config", "customFunctions"],
          message: `invalid function: ${message} (at ${line}:${column})`,
          within: { text, offset: start }
        }))
      )
}

/** Functions with faults can be called, so that a call is no fault of its own. */
const declaredIn = ({ settings }: Normalised): CustomFunctions => declaredFunctions(settings.customFunctions ?? "")

const families = { All: "all", V4Preferred: "v4 first", V4Only: "v4", V6Only: "v6" } as const

/** Connections to backends, where no policy says otherwise. */
const connectionsOf = ({ settings: { backend, dns, enableIpv6 } }: Normalised): UpstreamOptions => {
  const family = dns?.lookupFamily ?? "Auto"
  return {
    connectTimeout: backend.connectTimeout,
    idleTimeout: backend.poolIdleTimeout,
    maxConnections: backend.poolMaxSize,
    probes: probesOf(backend.keepalives),
    addresses: families[family === "Auto" ? (enableIpv6 ? "V4Preferred" : "V4Only") : family]
  }
}

/** The port to backends, which makes connections as a configuration wants them. */
const upstreamsOf = (config: Normalised) =>
  Upstreams.useSync((upstreams) => withDefaults(upstreams, connectionsOf(config)))

/** 30 minutes. */
const defaultSessionTtl = 1_800_000

/** The sessions of MCP clients, as a configuration wants them. */
const mcpSessions = ({ settings }: Normalised) =>
  McpProcess.useSync(({ keyFor }) => {
    const key = settings.session?.key
    return mcpFamily(() => keyFor(key && Redacted.value(key)), settings.mcp?.sessionTtl ?? defaultSessionTtl)
  })

/** The distribution of a registry. Its policies of other names than the proxy's own may be written wherever they can be attached. */
export const makeDistribution = <const L extends ReadonlyArray<AnyPolicy>>(
  registry: Registry<L>
): Distribution<PolicyPorts<L> | TerminalPorts> => {
  const foreign: PolicySpecs = Object.fromEntries(
    registry.policies
      .filter(({ name }) => !Object.hasOwn(schemas, name))
      .map((policy) => [policy.name, { ...policy, places: policy.sites.map((site) => sites[site].place) }])
  )
  const specs = { ...schemas, ...foreign }
  const parts = { registry, specs, terminals, connections, listeners }
  return {
    specs,
    schema: Object.keys(foreign).length === 0 ? language.schema : standalone(specs),
    registry,
    assemble: (config, random) =>
      Effect.gen(function* () {
        const problems = new Problems()
        const functions = (yield* problems.collect(customFunctions(config))) ?? declaredIn(config)
        const catalogs = (yield* problems.collect(openCatalogs(config.settings.modelCatalog))) ?? noCatalogs
        const sessions = yield* mcpSessions(config)
        const upstreams = yield* upstreamsOf(config)
        const assembled = yield* problems.collect(
          assemble({ ...parts, random, compileCondition: conditions(functions) }, config).pipe(
            Effect.provideService(Catalogs, catalogs),
            Effect.provideService(McpFamily, sessions),
            Effect.provideService(Upstreams, upstreams),
            Effect.provideService(ConfiguredFunctions, functions)
          )
        )
        return assembled === undefined || problems.list.length > 0 ? yield* Effect.fail(problems.list) : assembled
      })
  }
}

/** What `headgate` itself understands. */
export const standard: Distribution = makeDistribution(policies)
