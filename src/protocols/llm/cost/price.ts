/** What a call cost: the catalogue's rates applied to its usage. */
import { inputTokens, type Usage } from "../usage/usage.ts"
import type { Catalog, PricedModel, Rates } from "./catalog.ts"
import type { Picodollars } from "./usd.ts"

/**
 * How the lookup went; the label of the lookup metric. `NoCatalog`: none configured; `Missing`: neither the answering nor the requested
 * model is in it; `Unpriced`: it is, without any rate that applies; `Exact`: priced.
 */
export type LookupStatus = "NoCatalog" | "Missing" | "Unpriced" | "Exact"

/** One line per kind of token, and their sum. */
export interface Cost {
  readonly total: Picodollars
  readonly input: Picodollars
  readonly output: Picodollars
  readonly cacheRead: Picodollars
  readonly cacheWrite: Picodollars
  readonly reasoning: Picodollars
  readonly inputAudio: Picodollars
  readonly outputAudio: Picodollars
}

/** The outcome of pricing: a cost with the rates behind it, or why there is none. */
export type Priced =
  | { readonly status: Exclude<LookupStatus, "Exact"> }
  | { readonly status: "Exact"; readonly cost: Cost; readonly rates: Rates }

/** The price of `usage`. The model that answered is looked up first, then the one that was asked for; names match exactly. */
export const price = (
  catalog: Catalog | undefined,
  provider: string,
  responseModel: string | undefined,
  requestModel: string,
  usage: Usage
): Priced => {
  if (catalog === undefined) return { status: "NoCatalog" }
  const model =
    (responseModel === undefined ? undefined : catalog.find(provider, responseModel)) ??
    catalog.find(provider, requestModel)
  if (model === undefined) return { status: "Missing" }
  const rates = ratesFor(model, inputTokens(usage))
  return hasRate(rates) ? { status: "Exact", cost: costOf(rates, usage), rates } : { status: "Unpriced" }
}

/** The rates of the highest tier that the context is over: they price the whole request. */
const ratesFor = ({ levels }: PricedModel, contextTokens: number): Rates => {
  let found = levels[0]!
  for (const level of levels) if (level.over < contextTokens) found = level
  return found.rates
}

const hasRate = (rates: Rates): boolean => Object.values(rates).some((rate) => rate !== undefined)

const atLeastZero = (count: number): number => Math.max(0, count)

/**
 * Splits usage into disjoint kinds and prices each. Cache tokens without a rate of their own are ordinary input: they stay in the input
 * where the provider counts them there, and are added to it where it does not.
 */
export const costOf = (rates: Rates, usage: Usage): Cost => {
  const audioIn = usage.inputAudio ?? 0
  const audioOut = usage.outputAudio ?? 0
  const thinking = usage.reasoning ?? 0
  let plainIn = atLeastZero((usage.input ?? 0) - audioIn)
  const cached = (tokens: number, rate: Picodollars | undefined): number => {
    if (rate !== undefined) {
      if (usage.cacheInInput) plainIn = atLeastZero(plainIn - tokens)
      return tokens
    }
    if (!usage.cacheInInput) plainIn += tokens
    return 0
  }
  const read = cached(usage.cacheRead ?? 0, rates.cacheRead)
  const write = cached(usage.cacheWrite ?? 0, rates.cacheWrite)
  const plainOut = atLeastZero((usage.output ?? 0) - thinking - audioOut)

  const input = line(plainIn, rates.input)
  const output = line(plainOut, rates.output)
  const cacheRead = line(read, rates.cacheRead)
  const cacheWrite = line(write, rates.cacheWrite)
  const reasoning = line(thinking, rates.reasoning ?? rates.output)
  const inputAudio = line(audioIn, rates.inputAudio ?? rates.input)
  const outputAudio = line(audioOut, rates.outputAudio ?? rates.output)
  const total = input + output + cacheRead + cacheWrite + reasoning + inputAudio + outputAudio
  return { total, input, output, cacheRead, cacheWrite, reasoning, inputAudio, outputAudio }
}

const line = (tokens: number, rate: Picodollars | undefined): Picodollars =>
  rate === undefined || tokens === 0 ? 0n : BigInt(tokens) * rate
