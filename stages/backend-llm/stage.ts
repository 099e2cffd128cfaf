/** llm: routes a request to the model that it names, and watches what the answer used and cost. */
import { Effect, Exit } from "effect"
import type { Answer } from "../../src/http/message.ts"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import { type StageError, slot } from "../../src/pipeline/stage.ts"
import { terminal } from "../../src/pipeline/terminal.ts"
import { callUpstream } from "../../src/pipeline/upstream-call.ts"
import { Catalogs } from "../../src/protocols/llm/cost/catalogs.ts"
import { indexModels } from "../../src/protocols/llm/models/selection.ts"
import { interfaceOf } from "../../src/protocols/llm/providers/wire-format.ts"
import { Metrics } from "../../src/services/metrics.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { makeAccounting } from "./account.ts"
import { answered } from "./answer.ts"
import { isMockFormat } from "./mock-upstream.ts"
import { compileModels } from "./models.ts"
import { LlmFailed } from "./refused.ts"
import { type Prepared, prepare, type Router } from "./request.ts"
import { LlmRouterSchema } from "./schema.ts"
import { compileVirtual } from "./virtual.ts"

/** What the preparation of a request leaves for its call and its answer. */
const preparedCall = slot<Prepared>()("llmCall")

export const backendLlm = terminal({
  name: "llm",
  schema: LlmRouterSchema,
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: (config) =>
    Effect.gen(function* () {
      const clock = yield* Monotonic
      const metrics = yield* Metrics
      const catalogs = yield* Catalogs
      const models = yield* compileModels(config.models)
      const virtual = yield* compileVirtual(config.virtualModels, Math.random)
      const checks = metrics.counter("guardrail_checks_total", "What guards decided.", ["phase", "action"])
      const router: Router = {
        index: indexModels(models),
        virtual,
        clock,
        accounting: makeAccounting(metrics, catalogs.current, clock),
        guarded: (phase, { action }) => checks.series([phase, action]).record(1)
      }
      return {
        type: "ai",
        protocol: "llm",
        target: models
          .map(({ provider }) => provider.name)
          .filter((name, i, all) => all.indexOf(name) === i)
          .join(","),
        prepare: (x) => prepare(router, x, (prepared) => begin(router, x, prepared)),
        call: send,
        answered: (x) => {
          const prepared = x.get(preparedCall)
          return prepared === undefined ? Exit.succeed(undefined) : answered(router, x, prepared)
        }
      }
    })
})

/** From here on the call is on the books: they are closed when the exchange is over, however it ends. */
const begin = (router: Router, x: Exchange, prepared: Prepared): void => {
  x.set(preparedCall, prepared)
  x.onFinish(() => router.accounting.settle(x, prepared, prepared.attempt))
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

const send = (x: Exchange): Effect.Effect<Answer, StageError> => {
  const prepared = x.get(preparedCall)
  if (prepared === undefined) return Exit.fail(notPrepared)
  const { model, upstreamFormat, providerModel, streaming, translated, json } = prepared
  const { destination, provider } = model
  if (destination.type === "mock")
    return isMockFormat(upstreamFormat) ? destination.answer(upstreamFormat, json, x.now) : Exit.fail(noAddress)
  const target = provider.target({
    format: interfaceOf(upstreamFormat),
    model: providerModel,
    streaming,
    translated,
    clientPath: x.request.path,
    clientQuery: x.request.query.slice(1)
  })
  if ("_tag" in target) return Exit.fail(target)
  const upstream = destination.upstreamOf(target)
  if (upstream === undefined) return Exit.fail(noAddress)
  const { request } = x
  for (const name of target.removeHeaders) request.headers.delete(name)
  for (const [name, value] of target.setHeaders) request.headers.set(name, value)
  destination.authorize(x, target)
  request.pathAndQuery = target.path
  const usual = target.port === (target.scheme === "https" ? 443 : 80)
  request.authority = usual ? target.host : `${target.host}:${target.port}`
  return callUpstream(x, upstream)
}
