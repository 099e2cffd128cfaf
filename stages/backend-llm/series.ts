/** The metrics of model calls. Series are resolved once for each route, provider and pair of models, so that counting is an addition. */
import { type Metrics, type Passage, placeLabels, placeOf, type Series } from "../../src/policy/terminal.ts"
import type { LookupStatus } from "../../src/protocols/llm/cost/price.ts"

const labels = [
  "gen_ai_operation_name",
  "gen_ai_system",
  "gen_ai_request_model",
  "gen_ai_response_model",
  ...placeLabels
]
const tokenBuckets = Array.from({ length: 14 }, (_, i) => 4 ** i)
const durationBuckets = Array.from({ length: 14 }, (_, i) => 0.01 * 2 ** i)
const firstTokenBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const perTokenBuckets = [0.001, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]

/** Where one model stands behind every name, clients make names up: beyond these bounds all are counted as one. */
const mostNames = 500
const longestName = 256
const other = "other"

export type TokenType = "input" | "output" | "input_cache_read" | "input_cache_write"

/** The series of calls that have all labels in common; each is made when it first counts. */
export interface CallSeries {
  readonly tokens: (type: TokenType) => Series
  readonly cost: () => Series
  readonly duration: () => Series
  readonly firstToken: () => Series
  readonly perToken: () => Series
  readonly lookups: (status: LookupStatus) => Series
}

const once = <K extends string>(make: (key: K) => Series) => {
  const known = new Map<K, Series>()
  return (key: K): Series => {
    let found = known.get(key)
    if (found === undefined) {
      found = make(key)
      known.set(key, found)
    }
    return found
  }
}

export const guardChecks = (metrics: Metrics["Service"]) =>
  metrics.counter("guardrail_checks_total", "What guards decided.", ["phase", "action"])

export const makeCallSeries = (metrics: Metrics["Service"]) => {
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

  const make = (values: ReadonlyArray<string | undefined>): CallSeries => {
    const plain = once<"cost" | "duration" | "firstToken" | "perToken">((name) =>
      ({ cost, duration, firstToken, perToken })[name].series(values)
    )
    return {
      tokens: once((type: TokenType) => tokens.series([type, ...values])),
      cost: () => plain("cost"),
      duration: () => plain("duration"),
      firstToken: () => plain("firstToken"),
      perToken: () => plain("perToken"),
      lookups: once((status: LookupStatus) => lookups.series([status, ...values]))
    }
  }

  const makeFor = (passage: Passage, { provider, requestModel, responseModel }: Names): CallSeries =>
    make(["chat", provider, requestModel, responseModel, ...placeOf(passage)])

  // By backend object: the series of a configuration that was replaced go with it.
  const byBackend = new WeakMap<object, Known>()
  return (passage: Passage, provider: string, requestModel: string, responseModel: string | undefined): CallSeries => {
    const owner = passage.backend ?? passage.route ?? byBackend
    let known = byBackend.get(owner)
    if (known === undefined) {
      known = { all: new Map(), last: undefined }
      byBackend.set(owner, known)
    }
    const { all, last } = known
    if (
      last !== undefined &&
      last.provider === provider &&
      last.requestModel === requestModel &&
      last.responseModel === responseModel
    )
      return last.series
    const wanted: Names = { provider, requestModel, responseModel }
    let series = all.get(keyOf(wanted))
    if (series === undefined) {
      const names =
        all.size < mostNames && isShort(wanted) ? wanted : { provider, requestModel: other, responseModel: other }
      const key = keyOf(names)
      series = all.get(key) ?? makeFor(passage, names)
      all.set(key, series)
    }
    // A name that is kept for nothing but this must not be a long one.
    if (isShort(wanted)) known.last = { ...wanted, series }
    return series
  }
}

/** The series of one backend. */
interface Known {
  readonly all: Map<string, CallSeries>
  /** That of the last call: most are of the same models. */
  last: (Names & { readonly series: CallSeries }) | undefined
}

/** What tells the series of a backend apart. */
interface Names {
  readonly provider: string
  readonly requestModel: string
  readonly responseModel: string | undefined
}

const keyOf = ({ provider, requestModel, responseModel = "" }: Names) =>
  `${provider}\n${requestModel}\n${responseModel}`
const isShort = ({ requestModel, responseModel = "" }: Names) =>
  requestModel.length <= longestName && responseModel.length <= longestName
