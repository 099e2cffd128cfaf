/** What a call of a model used and cost: metrics, limits and the log learn it when the answer is over, however it ends. */
import type { Exchange } from "../../src/pipeline/exchange.ts"
import type { TokenShare } from "../../src/pipeline/slots.ts"
import type { Catalog } from "../../src/protocols/llm/cost/catalog.ts"
import { type Attempt, Ledger } from "../../src/protocols/llm/cost/ledger.ts"
import { price } from "../../src/protocols/llm/cost/price.ts"
import { formatUsd, toUsd } from "../../src/protocols/llm/cost/usd.ts"
import type { RouteType } from "../../src/protocols/llm/models/route-type.ts"
import type { StreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { timePerOutputToken } from "../../src/protocols/llm/usage/stream-facts.ts"
import { inputTokens } from "../../src/protocols/llm/usage/usage.ts"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Model } from "./models.ts"

const labels = [
  "gen_ai_operation_name",
  "gen_ai_system",
  "gen_ai_request_model",
  "gen_ai_response_model",
  "bind",
  "gateway",
  "listener",
  "route",
  "route_rule"
]
const tokenBuckets = Array.from({ length: 14 }, (_, i) => 4 ** i)
const durationBuckets = Array.from({ length: 14 }, (_, i) => 0.01 * 2 ** i)
const firstTokenBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const perTokenBuckets = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]

/** One call of a model, from its admission on. */
export interface ModelCall {
  readonly model: Model
  readonly routeType: RouteType
  readonly requestModel: string
  /** The model that the provider is asked for. */
  readonly providerModel: string
  readonly streaming: boolean
  readonly share: TokenShare | undefined
  readonly began: number
}

export const makeAccounting = (
  metrics: Metrics["Service"],
  catalog: () => Catalog | undefined,
  clock: () => number
) => {
  const tokens = metrics.histogram(
    "gen_ai_client_token_usage",
    "Tokens of model calls; input includes cached tokens.",
    ["gen_ai_token_type", ...labels],
    tokenBuckets
  )
  const cost = metrics.counter("gen_ai_client_cost_usd_total", "What model calls cost, in US dollars.", labels)
  const duration = metrics.histogram(
    "gen_ai_server_request_duration",
    "Seconds that model calls took.",
    labels,
    durationBuckets
  )
  const firstToken = metrics.histogram(
    "gen_ai_server_time_to_first_token",
    "Seconds until the first token.",
    labels,
    firstTokenBuckets
  )
  const perToken = metrics.histogram(
    "gen_ai_server_time_per_output_token",
    "Seconds for each output token after the first.",
    labels,
    perTokenBuckets
  )
  const lookups = metrics.counter("cost_catalog_lookups_total", "How prices were looked up.", ["status", ...labels])
  const ledger = new Ledger()

  /** Settles one call. Called once, when its answer is over. */
  const settle = (x: Exchange, call: ModelCall, facts: StreamFacts, attempt: Attempt): void => {
    const { model, requestModel, share } = call
    const usage = facts.usage
    const now = clock()
    if (usage !== undefined) attempt.observe(usage)
    const settled = attempt.settle()
    share?.settle(usage === undefined ? undefined : inputTokens(usage), usage?.output ?? 0)
    const values = [
      call.routeType === "embeddings" ? "embeddings" : "chat",
      model.provider.name,
      requestModel,
      facts.model,
      x.listener?.bind,
      x.listener?.gateway,
      x.listener?.name,
      x.route === undefined ? undefined : `${x.route.namespace}/${x.route.name}`,
      x.route?.rule
    ]
    x.fact("gen_ai.operation.name", values[0]!)
    x.fact("gen_ai.provider.name", model.provider.name)
    x.fact("gen_ai.request.model", requestModel)
    if (facts.model !== undefined) x.fact("gen_ai.response.model", facts.model)
    duration.series(values).record((now - call.began) / 1000)
    if (usage !== undefined) {
      const count = (type: string, value: number | undefined, key: string) => {
        if (value === undefined) return
        tokens.series([type, ...values]).record(value)
        x.fact(key, value)
      }
      count("input", inputTokens(usage), "gen_ai.usage.input_tokens")
      count("input_cache_write", usage.cacheWrite, "gen_ai.usage.cache_creation.input_tokens")
      count("input_cache_read", usage.cacheRead, "gen_ai.usage.cache_read.input_tokens")
      count("output", usage.output, "gen_ai.usage.output_tokens")
      if (usage.reasoning !== undefined) x.fact("gen_ai.usage.reasoning_tokens", usage.reasoning)
    }
    if (call.streaming && facts.firstTokenAt !== undefined) {
      const seconds = (facts.firstTokenAt - call.began) / 1000
      firstToken.series(values).record(seconds)
      x.fact("hg.ai.time_to_first_token", seconds)
      const each = timePerOutputToken(facts, now)
      if (each !== undefined) {
        perToken.series(values).record(each / 1000)
        x.fact("hg.ai.time_per_output_token", each / 1000)
      }
    }
    if (settled?.priced === undefined) return
    lookups.series([settled.priced.status, ...values]).record(1)
    if (settled.priced.status !== "Exact") return
    const { total } = settled.priced.cost
    cost.series(values).record(toUsd(total))
    x.fact("hg.ai.usage.cost.total", formatUsd(total))
    x.note("llm_cost", { total: formatUsd(total) })
  }

  return {
    ledger,
    /** Opens the books for a call. */
    begin: (call: Omit<ModelCall, "share">, facts: StreamFacts): Attempt =>
      ledger
        .open()
        .attempt((usage) => price(catalog(), call.model.provider.name, facts.model, call.providerModel, usage)),
    settle
  }
}

export type Accounting = ReturnType<typeof makeAccounting>
