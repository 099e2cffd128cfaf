/** A cost catalogue out of the public price list of models.dev (`https://models.dev/api.json`): what refreshing the catalogue writes. */
import { elements, isObject, member } from "../formats/json.ts"
import type { CatalogModel, CatalogRates, ModelCatalog } from "./catalog-schema.ts"

/** Their provider ids where they are not our telemetry names. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ["amazon-bedrock", "aws.bedrock"],
  ["google", "gcp.gemini"],
  ["google-vertex", "gcp.vertex_ai"],
  ["github-copilot", "copilot"],
  ["fireworks-ai", "fireworks"]
])

/** Their spelling of the rates; values are numbers in dollars per million tokens. */
const rateSpelling: ReadonlyArray<readonly [theirs: string, ours: keyof CatalogRates]> = [
  ["input", "input"],
  ["output", "output"],
  ["cache_read", "cacheRead"],
  ["cache_write", "cacheWrite"],
  ["reasoning", "reasoning"],
  ["input_audio", "inputAudio"],
  ["output_audio", "outputAudio"]
]

const decimal = (value: number): string => value.toFixed(6).replace(/\.?0+$/, "")

const ratesOf = (cost: unknown): CatalogRates => {
  const rates: { -readonly [R in keyof CatalogRates]: CatalogRates[R] } = {}
  for (const [theirs, ours] of rateSpelling) {
    const value = member(cost, theirs)
    if (typeof value === "number" && value >= 0 && value < 1e9) rates[ours] = decimal(value)
  }
  return rates
}

/** Tiers by context size; other kinds of tier cannot be told from usage. Sizes that repeat or are no sizes are left out. */
const tiersOf = (cost: unknown): NonNullable<CatalogModel["tiers"]> => {
  const bySize = new Map<number, CatalogRates>()
  for (const tier of elements(member(cost, "tiers"))) {
    const size = member(member(tier, "tier"), "size")
    if (
      member(member(tier, "tier"), "type") === "context" &&
      typeof size === "number" &&
      Number.isSafeInteger(size) &&
      size >= 0
    )
      bySize.set(size, ratesOf(tier))
  }
  return [...bySize].sort(([a], [b]) => a - b).map(([contextOver, rates]) => ({ contextOver, rates }))
}

/** The catalogue; deprecated models and models without a cost are left out, and so is anything that does not look as expected. */
export const catalogFromModelsDev = (list: unknown): ModelCatalog => {
  const providers = new Map<string, ModelCatalog["providers"][string]>()
  for (const [id, provider] of Object.entries(isObject(list) ? list : {})) {
    const listed = member(provider, "models")
    const models = Object.entries(isObject(listed) ? listed : {}).flatMap(([name, model]) => {
      const cost = member(model, "cost")
      if (!isObject(cost) || member(model, "status") === "deprecated") return []
      const tiers = tiersOf(cost)
      return [[name, { rates: ratesOf(cost), ...(tiers.length === 0 ? {} : { tiers }) }] as const]
    })
    if (models.length > 0) providers.set(providerNames.get(id) ?? id, { models: Object.fromEntries(models) })
  }
  return { providers: Object.fromEntries(providers) }
}
