/**
 * Port at compile time: what a policy or a terminal calls beside the backend of a route is a backend as well, with policies of
 * its own. Each call of it is a request of the proxy, which takes over nothing of the request that it is made for.
 */
import { Context, type Effect, type Redacted, type Scope } from "effect"
import type { ConnectionPolicies } from "../../spec/connection/policies.ts"
import type { Address } from "../../spec/target.ts"
import type { Body } from "../http/body.ts"
import type { HeaderList } from "../http/header-list.ts"
import type { Answer } from "../http/message.ts"
import type { UpstreamOptions } from "../services/upstreams.ts"
import type { TokenBearer } from "./authentication/identity.ts"
import type { Purpose } from "./call-times.ts"
import type { Exchange } from "./exchange.ts"
import type { jwt } from "./slots.ts"
import type { ConfigPath, ConfigProblem, StageError } from "./stage.ts"
import type { Reading } from "./view.ts"

/** A server as the configuration names it, by exactly one of `host`, `backend` and `service`. */
export interface Reference {
  readonly host?: Address | undefined
  /** `<namespace>/<name>`. */
  readonly backend?: string | undefined
  /** A port of `<namespace>/<hostname>`. */
  readonly service?: { readonly name: string; readonly port: number } | undefined
  /** What is written beside it. A named backend brings all of its own policies, too. */
  readonly policies?: ConnectionPolicies | undefined
}

/** What is asked of a backend. */
export interface SubRequest {
  readonly method: string
  readonly pathAndQuery: string
  /** Default: that of the backend. */
  readonly authority: string | undefined
  /** All headers of the call: nothing is added from the request that it is made for. */
  readonly headers: HeaderList
  readonly body: Body
  /** Whether the call may be sent twice although its method is not idempotent. */
  readonly repeatable?: boolean | undefined
  /** Whether it is a copy of a request: what comes of it says nothing of how the backend does. */
  readonly aside?: boolean | undefined
  /** The most bytes that a reply may have. Default: 2 MiB. */
  readonly maxBytes?: number | undefined
}

/** The exchange that a call is made for: the time is reckoned from it, and it runs on the same configuration. */
export type Asking = Pick<Exchange, "arrived" | "now" | "settings">

export interface Reply {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Uint8Array
  /** Behind it, where there are any. */
  readonly trailers?: HeaderList | undefined
}

/** Calls one backend. */
export interface Caller {
  /** The address that is called, as far as it is known: as `Backend.target`. */
  readonly target: string
  /** What it is asked under where nobody says otherwise: scheme, host, and the port unless that is the usual one. */
  readonly origin: string
  /** Whether its policies show the backend a credential. */
  readonly showsCredential: boolean
  /** Whether they show the backend the token of a client, for which it has to be known. */
  readonly handsOver: boolean
  /** What tells the credentials that the proxy shows the backend by its policies from others. */
  readonly credentials: Redacted.Redacted<string> | undefined
  /**
   * Asks it, and reads its reply whole. Whoever waits for it in a node waits within the time of the caller's request; interrupting
   * it ends the call.
   * @param timeout milliseconds until the reply must be there as a whole, where the reference does not say.
   */
  readonly ask: (
    caller: Asking & Reading<typeof jwt>,
    request: SubRequest,
    timeout: number
  ) => Effect.Effect<Reply, StageError>
  /**
   * Ends with the head of the answer, whose body may go on for as long as it likes. What the reference says of time holds for the
   * head. Interrupting it, or cancelling the body, ends the call. The effect is run once, and at once: a relay makes many of them.
   * @param client who it is made for, if that is to be handed over.
   */
  readonly send: (
    caller: Asking,
    request: SubRequest,
    client: TokenBearer | undefined
  ) => Effect.Effect<Answer, StageError>
}

/** How whoever asks for a caller is going to use it. */
export interface Use {
  /** What replies are told and timed as. A relay, which asks for none, tells and times what it sends by itself. */
  readonly purpose?: Purpose
  /** How connections to an address are opened where its policies do not say it. */
  readonly connections?: UpstreamOptions
  /** Where the policies beside it stand. Default: under `policies` beside it. */
  readonly policiesAt?: ConfigPath
}

/** What is called beside the backend of a route, as a service. */
export class SubCalls extends Context.Service<
  SubCalls,
  {
    /**
     * The caller of a backend. What is wrong with the reference, or with what it leads to, is told with whole paths.
     * @param path where the reference stands.
     */
    readonly resolve: (
      reference: Reference,
      path: ConfigPath,
      use: Use
    ) => Effect.Effect<Caller, ReadonlyArray<ConfigProblem>, Scope.Scope>
  }
>()("headgate/pipeline/SubCalls") {}
