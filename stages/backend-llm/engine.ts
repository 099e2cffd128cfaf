/** What calls of models have in common, whatever chose the model: preparing, calling, reading the answer, closing the books. */
import { Effect, Exit } from "effect"
import { type Answer, Monotonic, type StageError } from "../../src/policy/policy.ts"
import { type CompiledBackend, callUpstream, Metrics, type Passage, Tokenizer } from "../../src/policy/terminal.ts"
import { Catalogs } from "../../src/protocols/llm/cost/catalogs.ts"
import type { GuardOutcome } from "../../src/protocols/llm/guard/outcome.ts"
import { places } from "../../src/protocols/llm/guard/texts.ts"
import { hidesModel } from "../../src/protocols/llm/models/model-path.ts"
import { canonicalPath } from "../../src/protocols/llm/models/path-form.ts"
import { interfaceOf } from "../../src/protocols/llm/providers/wire-format.ts"
import { type Accounting, makeAccounting } from "./account.ts"
import { answered } from "./answer.ts"
import type { Endpoint } from "./endpoint.ts"
import { type Exchange, type ModelSlots, openCall, preparedCall } from "./exchange.ts"
import type { Fork } from "./guarded-stream.ts"
import { isMockFormat } from "./mock-upstream.ts"
import { LlmFailed } from "./refused.ts"
import type { Outcome, Prepared } from "./request.ts"
import { guardChecks } from "./series.ts"

export interface Engine {
  readonly accounting: Accounting
  readonly clock: () => number
  readonly tokenizer: Tokenizer["Service"]
  /** Runs what a stream waits for, with the services and the clock of the configuration. */
  readonly fork: Fork
  readonly guarded: (phase: "Request" | "Response", outcome: GuardOutcome) => void
}

export const makeEngine = Effect.gen(function* () {
  // Now, so that no request waits for it.
  places()
  const clock = yield* Monotonic
  const metrics = yield* Metrics
  const catalogs = yield* Catalogs
  const checks = guardChecks(metrics)
  const engine: Engine = {
    clock,
    accounting: makeAccounting(metrics, catalogs.current, clock),
    tokenizer: yield* Tokenizer,
    fork: Effect.runForkWith(yield* Effect.context<never>()),
    guarded: (phase, { action }) => checks.series([phase, action]).record(1)
  }
  return engine
})

/** Takes what a call needs. */
export type Keep = (prepared: Prepared) => void

/** The terminal of whoever prepares calls of these endpoints. */
export const modelCalls = (
  engine: Engine,
  endpoints: ReadonlyArray<Endpoint>,
  prepare: (x: Exchange, keep: Keep) => Outcome
): CompiledBackend<ModelSlots> => ({
  type: "ai",
  protocol: "llm",
  target: [...new Set(endpoints.map(({ provider }) => provider.name))].join(","),
  // The mock takes its time by itself.
  keepsTime: endpoints.every(({ destination }) => destination.type !== "mock"),
  prepare: (x, passage) => prepare(x, (prepared) => begin(engine, x, passage, prepared)),
  call: (x, passage) => {
    const prepared = x.get(preparedCall)
    if (prepared === undefined) return Exit.fail(notPrepared)
    // What a client asked for in vain says nothing of the provider's health.
    return Effect.tapError(send(x, passage, prepared), ({ source }) =>
      Effect.sync(() => {
        x.get(openCall)?.answered(engine.clock())
        if (source === "backend") prepared.endpoint.watched.failed()
      })
    )
  },
  answered: (x, passage) => {
    const prepared = x.get(preparedCall)
    if (prepared === undefined) return Exit.succeed(undefined)
    x.get(openCall)?.answered(engine.clock())
    prepared.endpoint.watched.answered(x, passage)
    return answered(engine, x, prepared)
  }
})

/** From here on the call is on the books: they are closed when the exchange is over, however it ends. */
const begin = (engine: Engine, x: Exchange, passage: Passage, prepared: Prepared): void => {
  x.set(preparedCall, prepared)
  const call = prepared.endpoint.watched.health.begin()
  x.set(openCall, call)
  // Its body is whole in memory.
  call.sent(engine.clock())
  x.onFinish(() => {
    call.over(engine.clock())
    engine.accounting.settle(x, passage, prepared, prepared.attempt)
  })
  const { headers } = x.request
  x.requestBody = prepared.body
  headers.set("content-length", String(prepared.body.length))
  // Usage is read from a copy of the answer: it must not be compressed.
  headers.set("accept-encoding", "identity")
}

const noAddress = new LlmFailed({
  side: "request",
  status: 400,
  detail: "the provider has no address for this request",
  reason: "InvalidRequest"
})
const notPrepared = new LlmFailed({
  side: "request",
  status: 500,
  detail: "the request was not prepared",
  reason: "InvalidRequest"
})

const send = (x: Exchange, passage: Passage, prepared: Prepared): Effect.Effect<Answer, StageError> => {
  const { endpoint, upstreamFormat, providerModel, streaming, json } = prepared
  const { destination, provider } = endpoint
  if (destination.type === "mock")
    return isMockFormat(upstreamFormat) ? destination.answer(upstreamFormat, json, x.now) : Exit.fail(noAddress)
  const { request } = x
  destination.withoutClientsKeys(request)
  const target = provider.target({
    format: interfaceOf(upstreamFormat),
    model: providerModel,
    streaming,
    // A path that says nothing of what is spoken, or that hides a model, is no path of the provider.
    translated: prepared.translated || !endpoint.knowsPath(request.path) || hidesModel(canonicalPath(request.path)),
    clientPath: request.path,
    clientQuery: request.query.slice(1)
  })
  if ("_tag" in target) return Exit.fail(target)
  const upstream = destination.upstreamOf(target)
  if (upstream === undefined) return Exit.fail(noAddress)
  for (const name of target.removeHeaders) request.headers.delete(name)
  for (const [name, value] of target.setHeaders) request.headers.set(name, value)
  destination.authorize(request.headers, target)
  request.pathAndQuery = target.path
  // From here on it is the provider's own path, whatever the client's could be read as.
  request.otherPath = undefined
  const usual = target.port === (target.scheme === "https" ? 443 : 80)
  request.authority = usual ? target.host : `${target.host}:${target.port}`
  return callUpstream(x, passage, upstream)
}
