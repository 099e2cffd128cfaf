/**
 * What a configuration can say, and what becomes of it: the policies of a proxy, as wire shapes and as stages. The proxy
 * itself has one dialect; a program that brings policies of its own makes another.
 */
import { Effect, type Scope } from "effect"
import type { PolicySpecs } from "../../spec/standalone/policies.ts"
import { standalone } from "../../spec/standalone.ts"
import { policies, terminals } from "../../stages/registry.ts"
import { schemas } from "../../stages/schemas.ts"
import type { Registry, Services } from "../pipeline/registry.ts"
import type { AnyPolicy, ConfigProblem } from "../pipeline/stage.ts"
import { Catalogs } from "../protocols/llm/cost/catalogs.ts"
import type { Normalised } from "../routing/normalised.ts"
import type { Random } from "../routing/weights.ts"
import { type Assembled, assemble } from "./assemble.ts"
import { openCatalogs } from "./catalogs.ts"
import { type Language, language } from "./check.ts"
import { compileCondition } from "./conditions.ts"

/** What the terminals need to compile, but for the catalogue, which belongs to each configuration. */
type TerminalPorts = Exclude<Effect.Services<ReturnType<(typeof terminals)[number]["compile"]>>, Scope.Scope | Catalogs>

/** What the proxy's own policies and terminals need to compile. */
export type Ports = Services<(typeof policies)["policies"]> | TerminalPorts

export interface Dialect<out R = Ports> extends Language {
  readonly registry: Registry
  readonly assemble: (
    config: Normalised,
    random: Random
  ) => Effect.Effect<Assembled, ReadonlyArray<ConfigProblem>, R | Scope.Scope>
}

/** The dialect of a registry. Its policies of other names than the proxy's own may be written wherever they can be attached. */
export const makeDialect = <const L extends ReadonlyArray<AnyPolicy>>(
  registry: Registry<L>
): Dialect<Services<L> | TerminalPorts> => {
  const foreign: PolicySpecs = Object.fromEntries(
    registry.policies
      .filter(({ name }) => !Object.hasOwn(schemas, name))
      .map(({ name, schema, sites }) => [name, { schema, places: sites }])
  )
  const specs = { ...schemas, ...foreign }
  const parts = { registry, terminals, compileCondition }
  return {
    specs,
    schema: Object.keys(foreign).length === 0 ? language.schema : standalone(specs),
    registry,
    assemble: (config, random) =>
      Effect.flatMap(openCatalogs(config.settings.modelCatalog), (catalogs) =>
        Effect.provideService(assemble({ ...parts, random }, config), Catalogs, catalogs)
      )
  }
}

/** What `headgate` itself understands. */
export const standard: Dialect = makeDialect(policies)
