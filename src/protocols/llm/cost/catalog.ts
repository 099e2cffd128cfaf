/** A cost catalogue ready for lookups: the sources merged, the rates parsed, the tiers spelled out. */
import type { CatalogModel, CatalogRates, ModelCatalog } from "./catalog-schema.ts"
import { type Picodollars, parseRate } from "./usd.ts"

/** The kinds of token that can have a rate. */
export type RateName = keyof CatalogRates
export const rateNames: ReadonlyArray<RateName> = [
  "input",
  "output",
  "cacheRead",
  "cacheWrite",
  "reasoning",
  "inputAudio",
  "outputAudio"
]

/** Picodollars per token, by kind of token. */
export type Rates = { readonly [R in RateName]: Picodollars | undefined }

/** One model of the merged sources. */
export interface PricedModel {
  /** The base rates first (over -1 tokens), then the tiers, each laid over the base rates; thresholds strictly increase. */
  readonly levels: ReadonlyArray<{ readonly over: number; readonly rates: Rates }>
  readonly tags: ReadonlyArray<string>
}

/** Lookups by telemetry name of the provider and exact name of the model. */
export interface Catalog {
  readonly find: (provider: string, model: string) => PricedModel | undefined
}

const parseRates = (rates: CatalogRates): Rates => {
  const parse = (rate: string | undefined) => (rate === undefined ? undefined : parseRate(rate))
  return {
    input: parse(rates.input),
    output: parse(rates.output),
    cacheRead: parse(rates.cacheRead),
    cacheWrite: parse(rates.cacheWrite),
    reasoning: parse(rates.reasoning),
    inputAudio: parse(rates.inputAudio),
    outputAudio: parse(rates.outputAudio)
  }
}

const priced = ({ rates = {}, tiers = [], tags = [] }: CatalogModel): PricedModel => ({
  levels: [
    { over: -1, rates: parseRates(rates) },
    ...tiers.map((tier) => ({ over: tier.contextOver, rates: parseRates({ ...rates, ...tier.rates }) }))
  ],
  tags
})

/** One model's entry laid over another: rates one by one, tiers as a whole if there are any, tags together. */
const overlay = (below: CatalogModel, above: CatalogModel): CatalogModel => ({
  rates: { ...below.rates, ...above.rates },
  tiers: above.tiers !== undefined && above.tiers.length > 0 ? above.tiers : (below.tiers ?? []),
  tags: [...new Set([...(below.tags ?? []), ...(above.tags ?? [])])]
})

/** Merges the sources in order, later ones over earlier ones. */
export const compileCatalog = (sources: ReadonlyArray<ModelCatalog>): Catalog => {
  const merged = new Map<string, Map<string, CatalogModel>>()
  for (const { providers } of sources)
    for (const [provider, { models }] of Object.entries(providers)) {
      const known = merged.get(provider) ?? new Map<string, CatalogModel>()
      merged.set(provider, known)
      for (const [name, model] of Object.entries(models)) {
        const below = known.get(name)
        known.set(name, below === undefined ? model : overlay(below, model))
      }
    }
  const compiled = new Map<string, Map<string, PricedModel>>()
  for (const [provider, models] of merged)
    compiled.set(provider, new Map([...models].map(([name, model]) => [name, priced(model)])))
  return { find: (provider, model) => compiled.get(provider)?.get(model) }
}
