/** What a call of a model used and cost: metrics, limits and the log learn it when the answer is over, however it ends. */
import type { slots } from "../../src/policy/policy.ts"
import type { Metrics, Passage } from "../../src/policy/terminal.ts"
import type { Catalog } from "../../src/protocols/llm/cost/catalog.ts"
import { type Attempt, Ledger } from "../../src/protocols/llm/cost/ledger.ts"
import { price } from "../../src/protocols/llm/cost/price.ts"
import { formatUsd, toUsd } from "../../src/protocols/llm/cost/usd.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import type { RouteType } from "../../src/protocols/llm/models/route-type.ts"
import { tokensOf } from "../../src/protocols/llm/tokens/estimate.ts"
import type { StreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { timePerOutputToken } from "../../src/protocols/llm/usage/stream-facts.ts"
import { inputTokens, type Usage, usageFrom } from "../../src/protocols/llm/usage/usage.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Exchange } from "./exchange.ts"
import { type CallSeries, makeCallSeries, type TokenType } from "./series.ts"

/** One call of a model, from its admission on. */
export interface ModelCall {
  readonly endpoint: Endpoint
  readonly routeType: RouteType
  readonly requestModel: string
  /** The model that the provider is asked for. */
  readonly providerModel: string
  readonly share: slots.TokenShare | undefined
  /** Parameters of the client's request. */
  readonly parameters: JsonObject
  /** Input tokens, by the size of the text. */
  readonly estimate: () => number
  readonly began: number
  /** What the answer has told so far. */
  facts: StreamFacts
  /** Whether the provider answered, with success, and in a stream. */
  answered: false | "whole" | "stream"
  /** Bytes that passed of a conversation's answer in one piece, which tells its usage at the end. */
  passed: number
}

interface Used {
  readonly usage: Usage | undefined
  readonly estimated: boolean
}

/**
 * What a call used. An answer that was left before it said so is estimated from what passed: an event of a stream brings a
 * token or more. Otherwise whoever hangs up before the last chunk would not pay.
 */
const used = ({ facts, answered, passed, estimate, endpoint, providerModel }: ModelCall): Used => {
  if (answered === false) return { usage: undefined, estimated: false }
  const told =
    facts.usage !== undefined && endpoint.provider.cacheOutsideInput(providerModel)
      ? { ...facts.usage, cacheInInput: false }
      : facts.usage
  const final = told?.output !== undefined && (facts.complete || facts.finish !== undefined)
  const pieces = answered === "stream" ? facts.events : facts.complete ? 0 : tokensOf(passed)
  if (final || pieces === 0) return { usage: told, estimated: false }
  const output = Math.max(told?.output ?? 0, pieces)
  const known = told ?? usageFrom({ input: estimate() }, true, undefined)
  return { usage: { ...known, output }, estimated: true }
}

/** Parameters of a request that the log tells, under these names. */
const logged: ReadonlyArray<readonly [member: string, fact: string]> = [
  ["temperature", "gen_ai.request.temperature"],
  ["dimensions", "gen_ai.embeddings.dimension.count"],
  ["encoding_format", "gen_ai.request.encoding_formats"],
  ["top_p", "gen_ai.request.top_p"],
  ["max_completion_tokens", "gen_ai.request.max_tokens"],
  ["max_output_tokens", "gen_ai.request.max_tokens"],
  ["max_tokens", "gen_ai.request.max_tokens"],
  ["frequency_penalty", "gen_ai.request.frequency_penalty"],
  ["presence_penalty", "gen_ai.request.presence_penalty"],
  ["seed", "gen_ai.request.seed"]
]

export const makeAccounting = (metrics: Metrics["Service"], catalog: () => Catalog | undefined) => {
  const seriesOf = makeCallSeries(metrics)
  const ledger = new Ledger()

  const countTokens = (x: Exchange, series: CallSeries, usage: Usage): void => {
    const count = (type: TokenType, value: number | undefined, fact: string) => {
      if (value === undefined) return
      series.tokens(type).record(value)
      x.fact(fact, value)
    }
    count("input", inputTokens(usage), "gen_ai.usage.input_tokens")
    count("input_cache_write", usage.cacheWrite, "gen_ai.usage.cache_creation.input_tokens")
    count("input_cache_read", usage.cacheRead, "gen_ai.usage.cache_read.input_tokens")
    count("output", usage.output, "gen_ai.usage.output_tokens")
    fact(x, "gen_ai.usage.reasoning_tokens", usage.reasoning)
  }

  const timeTokens = (x: Exchange, series: CallSeries, { facts, began }: ModelCall, now: number): void => {
    if (facts.firstTokenAt === undefined) return
    const seconds = (facts.firstTokenAt - began) / 1000
    series.firstToken().record(seconds)
    x.fact("hg.ai.time_to_first_token", seconds)
    const each = timePerOutputToken(facts, now)
    if (each === undefined) return
    series.perToken().record(each / 1000)
    x.fact("hg.ai.time_per_output_token", each / 1000)
  }

  /** Settles one call. Called once, when its answer is over. */
  const settle = (x: Exchange, passage: Passage, call: ModelCall, attempt: Attempt, now: number): void => {
    const { endpoint, requestModel, share, facts, parameters } = call
    const { usage, estimated } = used(call)
    if (usage !== undefined) attempt.observe(usage)
    const settled = attempt.settle()
    if (call.answered === false) share?.settle(0, 0)
    else share?.settle(usage?.input === undefined ? undefined : inputTokens(usage), usage?.output ?? 0)

    x.fact("gen_ai.operation.name", call.routeType === "embeddings" ? "embeddings" : "chat")
    x.fact("gen_ai.provider.name", endpoint.provider.name)
    x.fact("gen_ai.request.model", requestModel)
    fact(x, "gen_ai.response.model", facts.model)
    // Names that a client made up, and no provider knows, make no series.
    const series = seriesOf(
      passage,
      endpoint.provider.name,
      call.answered === false ? endpoint.name : requestModel,
      facts.model
    )
    series.duration().record((now - call.began) / 1000)
    if (usage !== undefined) countTokens(x, series, usage)
    if (call.answered === "stream") timeTokens(x, series, call, now)
    const priced = settled?.priced
    if (priced !== undefined) {
      series.lookups(priced.status).record(1)
      if (priced.status === "Exact") {
        const { total } = priced.cost
        series.cost().record(toUsd(total))
        x.fact("hg.ai.usage.cost.total", formatUsd(total))
      }
    }
    if (estimated) x.fact("hg.ai.usage.estimated", true)
    fact(x, "gen_ai.usage.output_image_tokens", usage?.outputImage)
    fact(x, "gen_ai.usage.input_audio_tokens", usage?.inputAudio)
    fact(x, "gen_ai.usage.output_audio_tokens", usage?.outputAudio)
    for (const [member, name] of logged) fact(x, name, parameters[member])
  }

  return {
    /** Opens the books for a call, which is priced as it is when they are closed. */
    begin: (callOf: () => ModelCall): Attempt =>
      ledger.open().attempt((usage) => {
        const { endpoint, facts, providerModel } = callOf()
        return price(catalog(), endpoint.provider.name, facts.model, providerModel, usage)
      }),
    settle
  }
}

export type Accounting = ReturnType<typeof makeAccounting>

const fact = (x: Exchange, name: string, value: unknown): void => {
  if (typeof value === "number" || typeof value === "string") x.fact(name, value)
}
