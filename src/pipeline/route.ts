/**
 * What configuration compiles to: listeners, routes and backends, each with the flat arrays of steps that a request runs
 * through there. Routing decides between them; the engine only walks.
 */
import type { Effect, Redacted } from "effect"
import type { EndpointState } from "../../spec/live-endpoints.ts"
import type { Answer } from "../http/message.ts"
import type { Plan } from "./attempts.ts"
import type { Admission } from "./contact.ts"
import type { Exchange } from "./exchange.ts"
import type { Passage } from "./passage.ts"
import type { Step } from "./run.ts"
import type { AnySlot, ConfigPath, StageError } from "./stage.ts"

/**
 * For the trace: the configuration of each policy in force at a site, by trace key; `null` where there is none. Made when
 * somebody watches, since it would be much of what a large configuration takes in memory.
 */
export type EffectivePolicies = () => Readonly<Record<string, unknown>>

export interface Listener {
  /** As `gateway/default`. */
  readonly key: string
  readonly name: string
  /** As `bind/3000`. */
  readonly bind: string
  /** As `default/default`: namespace and name of the gateway. */
  readonly gateway: string
  /** Whether it is for host names of its own: a request that comes here has named one of them. */
  readonly namesHosts?: boolean | undefined
  /** What has decided about the connection before. */
  readonly admission?: Admission | undefined
  readonly steps: ReadonlyArray<Step>
  /** The response nodes in force when a request stops before it has a route. */
  readonly response: ReadonlyArray<Step>
  readonly effective: EffectivePolicies
  /** Chooses the route. A request that matches none gets 404 `route not found`. */
  readonly select: (exchange: Exchange) => Selection
}

export interface Selection {
  readonly route: Route | undefined
  /** The path prefix that matched, if the match was one. */
  readonly prefix: string | undefined
  /** The keys of the routes that were candidates. Only asked for when somebody watches. */
  readonly evaluated: (exchange: Exchange) => ReadonlyArray<string>
  /** Set when choosing went wrong: a delegation that leads nowhere or in a circle. */
  readonly failure?: StageError | undefined
}

export interface Route {
  readonly key: string
  readonly name: string
  readonly namespace: string
  readonly rule: string | undefined
  /** As for listeners. */
  readonly namesHosts?: boolean | undefined
  readonly steps: ReadonlyArray<Step>
  /** The response nodes in force when a request stops in the route phase: gateway and route. */
  readonly response: ReadonlyArray<Step>
  readonly effective: EffectivePolicies
  /** Default: that of a policy; without one the backend is called once. */
  readonly plan?: Plan | undefined
  /** That where no policy says, if one of its backends may be called elsewhere. */
  readonly elsewhere?: Plan | undefined
  /** Chooses a backend by weight, once for a request; a failure says why there is none. */
  readonly choose: (exchange: Exchange) => Backend | StageError
  /** Whether that may come to no backend at all. */
  readonly mayLeadNowhere?: boolean | undefined
}

/** A connection policy in force at a backend. */
export interface ConnectionInForce {
  readonly policy: string
  readonly path: ConfigPath
  readonly config: unknown
}

export interface Backend {
  readonly name: string
  readonly type: "ai" | "mcp" | "static" | "dynamic" | "service" | "unknown"
  readonly protocol: "http" | "tcp" | "a2a" | "mcp" | "llm"
  /** The address that is called, as far as it is known before the call: `host:port` or `unix:path`. */
  readonly target: string
  readonly steps: ReadonlyArray<Step>
  /** The slots that its terminal reads. */
  readonly reads?: ReadonlyArray<AnySlot> | undefined
  /** By which policies its connections are opened. */
  readonly connections?: ReadonlyArray<ConnectionInForce> | undefined
  /** Whether they say that its connections are opened with TLS, whatever its address says. */
  readonly secured?: boolean | undefined
  /** What tells the credentials that the proxy shows it by its policies from others, where a reference led to it. */
  readonly credentials?: Redacted.Redacted<string> | undefined
  /** Milliseconds for each of its calls, up to the head of the response. */
  readonly requestTimeout?: number | undefined
  /** What runs beside its call. */
  readonly beside?: ReadonlyArray<Step> | undefined
  readonly backendResponse: ReadonlyArray<Step>
  /** Those of its terminal that run once more, when the phases are over. */
  readonly afterwards?: ReadonlyArray<Step> | undefined
  /** All response nodes: gateway, route and backend. */
  readonly response: ReadonlyArray<Step>
  readonly effective: EffectivePolicies
  /** Where no policy says which attempts may be made: because it has several endpoints. */
  readonly elsewhere?: Plan | undefined
  /** How those of its endpoints do that it chooses between, where it chooses. */
  readonly endpoints?: (() => ReadonlyArray<EndpointState>) | undefined
  /** Whether its calls fail by themselves when the time of the request is up. Otherwise the engine watches the time. */
  readonly keepsTime?: boolean | undefined
  /** Calls it. The effect ends with the response head; the body follows through the answer. */
  readonly call: (exchange: Exchange, passage: Passage) => Effect.Effect<Answer, StageError>
}
