/**
 * Port at compile time: an HTTP proxy on the way to a backend is named like whatever else is called, and has policies of its own.
 */
import { Context, type Effect } from "effect"
import type { Address } from "../../spec/target.ts"
import type { ConnectionOptions, ConnectionSources } from "./connection-policy.ts"
import type { ConfigPath, ConfigProblem } from "./stage.ts"
import type { Reference } from "./sub-calls.ts"

/** A proxy as the configuration has it. */
export interface HttpProxy {
  readonly address: Address
  /** How connections to it are opened. */
  readonly connections: ConnectionOptions
  /** What else is in force for it, as it was decoded. */
  readonly policies: ReadonlyArray<{ readonly name: string; readonly config: unknown; readonly path: ConfigPath }>
}

export class Proxies extends Context.Service<
  Proxies,
  {
    /**
     * Problems carry whole paths.
     * @param at where the policy stands that names the proxy.
     */
    readonly resolve: (
      reference: Reference,
      at: ConfigPath
    ) => Effect.Effect<HttpProxy, ReadonlyArray<ConfigProblem>, ConnectionSources>
  }
>()("headgate/pipeline/Proxies") {}
