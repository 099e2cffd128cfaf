/** Local rate limits that can never refuse anything, or that refuse everything. */
import { countsNothing, type Doubt, type Surroundings } from "../../src/policy/policy.ts"

interface Limit {
  readonly maxTokens: number
  readonly tokensPerFill: number
  /** Milliseconds. */
  readonly fillInterval: number
  readonly type: "requests" | "tokens"
  readonly key?: string
}

const day = 24 * 3_600_000

export const doubtsOfLimits = (limits: ReadonlyArray<Limit>, around: Surroundings): ReadonlyArray<Doubt> =>
  limits.flatMap((_, index) => ofOne(index, limits, around))

const ofOne = (index: number, limits: ReadonlyArray<Limit>, { models }: Surroundings): ReadonlyArray<Doubt> => {
  const limit = limits[index]!
  const doubt = (code: Doubt["code"], message: string, ...below: ReadonlyArray<string>): ReadonlyArray<Doubt> => [
    { code, path: [index, ...below], message }
  ]
  if (limit.maxTokens === 0) return doubt("limit-refuses-all", "maxTokens is 0, so every request is refused")
  if (limit.type === "tokens" && !models()) return doubt("limit-never-binds", countsNothing)
  // Of two that are the same the first one counts.
  const tighter = limits.findIndex(
    (other, at) =>
      at !== index && other.maxTokens > 0 && isTighter(other, limit) && (at < index || !isTighter(limit, other))
  )
  if (tighter !== -1) return doubt("limit-never-binds", `limit ${tighter} of the list is as tight in every respect`)
  if (limit.tokensPerFill === 0)
    return doubt("limit-never-refills", "tokensPerFill is 0, so nothing passes once the bucket is empty")
  if (limit.fillInterval >= day)
    return doubt(
      "limit-too-long",
      "a restart fills the bucket again; a budget of a day or more belongs in remoteRateLimit",
      "fillInterval"
    )
  return []
}

/** Buckets of the same pace refill at the same time, so that the smaller one always refuses first. */
const isTighter = (other: Limit, limit: Limit): boolean =>
  other.type === limit.type &&
  other.key === limit.key &&
  other.fillInterval === limit.fillInterval &&
  other.maxTokens <= limit.maxTokens &&
  other.tokensPerFill <= limit.tokensPerFill
