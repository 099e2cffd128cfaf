/**
 * The vocabulary that stages share: every value that one stage may leave for a later one. Those with the name of an
 * expression variable (`apiKey`, `jwt`) are that variable, so this list and the documented variables cannot drift apart.
 */
import type { Effect } from "effect"
import type { HealthPolicy } from "../../spec/health.ts"
import type { Bindings } from "../cel/bindings.ts"
import type { HostVariable } from "../cel/phases.ts"
import type { HeaderList } from "../http/header-list.ts"
import type { RequestHead } from "../http/message.ts"
import type { PasswordUser } from "../services/passwords.ts"
import type { Plan } from "./attempts.ts"
import type { KeyBearer, TokenBearer } from "./authentication/identity.ts"
import type { Rules } from "./rules.ts"
import { type StageError, slot } from "./stage.ts"

/** How long the client waits for response headers, and a single call of the backend, in milliseconds. */
export interface Timeouts {
  /** From the arrival of the request, across everything. */
  readonly request: number | undefined
  /** One call of the backend, up to its response headers. */
  readonly backend: number | undefined
}
/** What the policy `timeout` of the route says; unset where nothing does. */
export const timeouts = slot<Timeouts>()("timeouts")

/** Which attempts at its backend a request may take, by a policy of the route; unset where nothing says. */
export const plan = slot<Plan>()("plan")

/** Milliseconds after which a call without an answer is made once more elsewhere, by a policy of the route; unset where nothing says. */
export const hedging = slot<number>()("hedging")

/** The largest bodies that later stages may read, in bytes. */
export interface BodyLimits {
  readonly request: number | undefined
  readonly response: number | undefined
}
/** What the policy `buffer` of the route says; unset where nothing does. */
export const bodyLimits = slot<BodyLimits>()("bodyLimits")

/** Whether the authority for the backend was chosen by a rewrite, so that the backend's own name does not replace it. */
export const authorityRewritten = slot<true>()("authorityRewritten", "attempt")

/**
 * Where the authentication of a route looked for credentials, by header name; set by whoever looked, whatever it found.
 * Nothing is set on a route without authentication.
 */
export interface CredentialHeaders {
  readonly looked: ReadonlyArray<string>
  /** Headers with a credential that the configuration tells to pass on to the backend. */
  readonly preserved: ReadonlyArray<string>
}
/** Written by every policy that authenticates, beside what those before it have left there. */
export const credentialHeaders = slot<CredentialHeaders>()("credentialHeaders")

/** Credentials by which the proxy authenticates to a backend, as they were written into the request. */
export interface ShownCredentials {
  /** Lines of headers: name in lower case, value, name, value … */
  readonly lines: ReadonlyArray<string>
  /** Whether one of them is a parameter of the query. */
  readonly inQuery: boolean
}
/** Unset where the proxy shows none. A backend that makes requests of its own puts them there. */
export const shownCredentials = slot<ShownCredentials>()("shownCredentials", "attempt")

/** Who presented a known API key. */
export const apiKey = slot<KeyBearer>()("apiKey")

/** Which models the bearer of an API key may use. */
export interface ModelAccess {
  /** As configured: names, and patterns with one `*` at an end. */
  readonly patterns: ReadonlyArray<string>
  readonly allows: (model: string) => boolean
}
/** Nothing is set where all models are allowed. Model routes ask it. */
export const modelAccess = slot<ModelAccess>()("modelAccess")

/** Who presented a verified token. */
export const jwt = slot<TokenBearer>()("jwt")

/** Who showed a name and its password. */
export const basicAuth = slot<PasswordUser>()("basicAuth")

/** Values that transformations have set, by their names. */
export const metadata = slot<HostVariable<"metadata">>()("metadata", "attempt")

/** The slots that expressions read, each as the variable of its name. A policy with expressions reads them all. */
export const expressionSlots = [apiKey, jwt, basicAuth, metadata] as const

/**
 * Those of them that are written in the middle of a phase, after others have decided by expressions: who comes too early to read one
 * is found where its expression is compiled, site by site, and not by the types of the registry.
 */
export const lateSlots = [metadata] as const

/** A request's share of its token budgets, from the estimate at its admission to the real count. */
export interface TokenShare {
  /**
   * Counts what was really used, once. Input that nobody stated stays what was estimated; a model that was not called used
   * 0 of both.
   */
  readonly settle: (inputTokens: number | undefined, outputTokens: number) => void
}

/** The limits of a route that count the tokens of a model. Whoever calls the model asks them, once it knows the request. */
export interface TokenBudgets {
  /**
   * Admits the request, and takes the estimate from every budget, or refuses it. A budget that others share may have to be asked.
   * @param estimate input tokens.
   * @param exact whether the estimate was counted: then all of it must be there.
   */
  readonly reserve: (
    exchange: {
      readonly request: RequestHead
      readonly variables: Bindings
      readonly answerHeaders: HeaderList
    },
    estimate: number,
    exact: boolean
  ) => Effect.Effect<TokenShare, StageError>
}
/** Unset where nothing limits the tokens of models. */
export const tokenBudgets = slot<TokenBudgets>()("tokenBudgets")

/** What kind a request is, by `sessionAffinity`: those of one kind go to the same of several endpoints. Unset where it may be any. */
export const affinity = slot<string>()("affinity", "attempt")

/** How answers of endpoints are judged, and what follows for the endpoint. */
export interface HealthJudgement {
  /** Default: by their status. */
  readonly isUnhealthy: ((variables: Bindings) => boolean) | undefined
  readonly eviction: (typeof HealthPolicy)["Type"]["eviction"]
}
/** What the policy `health` of a backend says; unset where nothing does. */
export const judgement = slot<HealthJudgement>()("judgement", "attempt")

/** The rules over tools, prompts and resources that an MCP backend asks for each of them. */
export const mcpRules = slot<Rules>()("mcpRules", "attempt")

/** The MCP call that a request is, as far as it is known: what traces show as `mcp`. Set only when somebody watches. */
export const mcpCall = slot<Readonly<Record<string, unknown>>>()("mcpCall", "attempt")
