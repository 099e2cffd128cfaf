/**
 * Port at compile time: what a policy or a terminal calls beside the backend of a route is a backend as well, with policies of
 * its own. Each call of it is a request of the proxy, which takes over nothing of the request that it is made for.
 */
import { Context, type Effect, type Scope } from "effect"
import type { ConnectionPolicies } from "../../spec/connection/policies.ts"
import type { Address } from "../../spec/target.ts"
import type { HeaderList } from "../http/header-list.ts"
import type { Purpose } from "./call-times.ts"
import type { Exchange } from "./exchange.ts"
import type { ConfigPath, ConfigProblem, StageError } from "./stage.ts"

/** A server as the configuration names it, by exactly one of `host`, `backend` and `service`. */
export interface Reference {
  readonly host?: Address | undefined
  /** `<namespace>/<name>`. */
  readonly backend?: string | undefined
  readonly service?: unknown
  /** What is written beside it. A named backend brings all of its own policies, too. */
  readonly policies?: ConnectionPolicies | undefined
}

/** What is asked of a backend. */
export interface SubRequest {
  readonly method: string
  readonly pathAndQuery: string
  /** Default: that of the backend. */
  readonly authority: string | undefined
  /** Those of this call alone. */
  readonly headers: HeaderList
  readonly body: string
  /** Milliseconds until the reply must be there as a whole, where the reference does not say. */
  readonly timeout: number
}

export interface Reply {
  readonly status: number
  readonly body: Uint8Array
}

/** The exchange that a call is made for. */
export type Asking = Pick<Exchange, "arrived" | "now" | "settings">

/** Calls one backend. */
export interface Caller {
  /**
   * Asks it, and reads its reply whole. Whoever waits for it in a node waits within the time of the caller's request; interrupting
   * it ends the call.
   */
  readonly ask: (caller: Asking, request: SubRequest) => Effect.Effect<Reply, StageError>
}

export class SubCalls extends Context.Service<
  SubCalls,
  {
    /**
     * The caller of a backend. What is wrong with the reference, or with what it leads to, is told with whole paths.
     * @param path where the reference stands.
     * @param purpose what the calls are told and timed as.
     */
    readonly resolve: (
      reference: Reference,
      path: ConfigPath,
      purpose: Purpose
    ) => Effect.Effect<Caller, ReadonlyArray<ConfigProblem>, Scope.Scope>
  }
>()("headgate/pipeline/SubCalls") {}
