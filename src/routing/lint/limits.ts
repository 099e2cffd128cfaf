/** Rate limits that can never refuse anything, or that refuse everything. */
import type { Path } from "../../../spec/config/path.ts"
import type { Complaint } from "../../../spec/config/positions.ts"
import type { Normalised, Route } from "../normalised.ts"
import type { Configuration } from "../read.ts"
import { routesWithListeners, warn } from "./finding.ts"

interface Limit {
  readonly maxTokens: number
  readonly tokensPerFill: number
  /** Milliseconds. */
  readonly fillInterval: number
  readonly type: "requests" | "tokens"
  readonly key?: string
}

const day = 24 * 3_600_000

/** What counts tokens where no model is. */
const noModel = "counts model tokens, but no backend of the route is a model"

/** Findings about all local limits. */
export const limits = ({ normalised, positions }: Configuration): ReadonlyArray<Complaint> =>
  placesOf(normalised, "localRateLimit").flatMap(({ policy, modelsBehind }) =>
    policy.branches.flatMap(({ config, path }) => {
      const list = config as ReadonlyArray<Limit>
      // A conditional entry is one limit, written without the list.
      const at = (index: number): Path => (positions.has([...path, index]) ? [...path, index] : path)
      return list.flatMap((_, index) => ofOne(index, list, at(index), modelsBehind))
    })
  )

interface RemoteLimits {
  readonly descriptors: ReadonlyArray<{ readonly type: "requests" | "tokens" }>
}

/** Of the limits that a server keeps it alone knows the size; but tokens are counted here. */
export const remoteLimits = ({ normalised }: Configuration): ReadonlyArray<Complaint> =>
  placesOf(normalised, "remoteRateLimit").flatMap(({ policy, modelsBehind }) =>
    policy.branches.flatMap(({ config, path }) =>
      (config as RemoteLimits).descriptors.flatMap(({ type }, index) =>
        type === "tokens" && !modelsBehind()
          ? [warn("limit-never-binds", [...path, "descriptors", index], noModel)]
          : []
      )
    )
  )

/** A policy everywhere it is, and whether models are behind it. */
const placesOf = (config: Normalised, name: "localRateLimit" | "remoteRateLimit") => {
  const onRoutes = routesWithListeners(config).flatMap(({ route }) => {
    const policy = route.policies[name]
    return policy === undefined ? [] : [{ policy, modelsBehind: () => servesModels(config, route) }]
  })
  // Whether models are behind a target is not looked into.
  const targeted = config.targeted
    .filter(({ policy }) => policy.name === name)
    .map(({ policy }) => ({ policy, modelsBehind: () => true }))
  return [...onRoutes, ...targeted]
}

const ofOne = (
  index: number,
  list: ReadonlyArray<Limit>,
  path: Path,
  modelsBehind: () => boolean
): ReadonlyArray<Complaint> => {
  const limit = list[index]!
  if (limit.maxTokens === 0) return [warn("limit-refuses-all", path, "maxTokens is 0, so every request is refused")]
  if (limit.type === "tokens" && !modelsBehind()) return [warn("limit-never-binds", path, noModel)]
  // Of two that are the same the first one counts.
  const tighter = list.findIndex(
    (other, at) =>
      at !== index && other.maxTokens > 0 && isTighter(other, limit) && (at < index || !isTighter(limit, other))
  )
  if (tighter !== -1)
    return [warn("limit-never-binds", path, `limit ${tighter} of the list is as tight in every respect`)]
  if (limit.tokensPerFill === 0)
    return [warn("limit-never-refills", path, "tokensPerFill is 0, so nothing passes once the bucket is empty")]
  if (limit.fillInterval >= day)
    return [
      warn(
        "limit-too-long",
        [...path, "fillInterval"],
        "a restart fills the bucket again; a budget of a day or more belongs in remoteRateLimit"
      )
    ]
  return []
}

/** Buckets of the same pace refill at the same time, so that the smaller one always refuses first. */
const isTighter = (other: Limit, limit: Limit): boolean =>
  other.type === limit.type &&
  other.key === limit.key &&
  other.fillInterval === limit.fillInterval &&
  other.maxTokens <= limit.maxTokens &&
  other.tokensPerFill <= limit.tokensPerFill

/** A service, a group or a named backend of elsewhere may be a model; only what is known not to be one counts. */
const servesModels = (config: Normalised, route: Route): boolean =>
  Object.hasOwn(route.backendPolicies, "ai") ||
  route.backends.some(({ target }) => {
    if (target.kind !== "backend") return target.kind !== "invalid"
    const backend = config.backends[target.key]
    if (backend === undefined) return false
    const { kind } = backend.destination
    return kind === "llm" || kind === "ai" || Object.hasOwn(backend.policies, "ai")
  })
