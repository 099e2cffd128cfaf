/**
 * The contract of a connection policy: it has no part in the way of a request, but says how connections to its backend are
 * opened and how long a call over them may take. It yields options, which are part of what tells connections apart.
 */
import type { Effect, Schema, Scope } from "effect"
import type { Files } from "../services/files.ts"
import type { Log } from "../services/log.ts"
import type { UpstreamOptions } from "../services/upstreams.ts"
import type { Proxies } from "./proxies.ts"
import type { ConfigPath, ConfigProblem, Maturity } from "./stage.ts"

/** What connection policies say of a backend. No two policies say the same thing. */
export interface ConnectionOptions extends UpstreamOptions {
  /** Milliseconds for each call, up to the head of the response. Default: no limit. */
  readonly requestTimeout?: number | undefined
}

/** Where what it names is read, and what there is to be said of that. */
export type ConnectionSources = Files | Log | Scope.Scope

/** What compiling one may ask for. */
export type ConnectionNeeds = ConnectionSources | Proxies

/** What a connection policy is. Traits, as for every policy of the language, are beside its wire shape. */
export interface ConnectionPolicy<
  Name extends string = string,
  // biome-ignore lint/suspicious/noExplicitAny: the bound must admit every policy.
  S extends Schema.Codec<any, any> = any
> {
  /** The key in configuration files, and in the trace event `policySelection`. */
  readonly name: Name
  readonly schema: S
  readonly maturity: Maturity
  /** Runs once per configuration and place where it is written. Problems carry paths below that place. */
  readonly compile: (
    config: S["Type"],
    at: ConfigPath
  ) => Effect.Effect<ConnectionOptions, ReadonlyArray<ConfigProblem>, ConnectionNeeds>
}

/** Defines a connection policy; infers every type parameter. */
export const connectionPolicy = <
  const Name extends string,
  // biome-ignore lint/suspicious/noExplicitAny: see ConnectionPolicy.
  S extends Schema.Codec<any, any>
>(
  definition: ConnectionPolicy<Name, S>
): ConnectionPolicy<Name, S> => definition
