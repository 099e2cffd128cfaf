/** The call of a provider: its address, its own path and credential, and what becomes of it for the health of the endpoint. */
import { Effect, Exit } from "effect"
import { type Answer, type StageError, slots } from "../../src/policy/policy.ts"
import { callUpstream, type Passage } from "../../src/policy/terminal.ts"
import { hidesModel } from "../../src/protocols/llm/models/model-path.ts"
import { canonicalPath } from "../../src/protocols/llm/models/path-form.ts"
import { wireFormatOf } from "../../src/protocols/llm/providers/wire-format.ts"
import type { Exchange } from "./exchange.ts"
import { isMockFormat } from "./mock-upstream.ts"
import { invalid } from "./refused.ts"
import type { Prepared } from "./translate.ts"

const noAddress = invalid("the provider has no address for this request")

export const send = (x: Exchange, prepared: Prepared, passage: Passage): Effect.Effect<Answer, StageError> =>
  // What a client asked for in vain says nothing of the provider's health.
  Effect.tapError(called(x, prepared, passage), ({ source }) =>
    Effect.sync(() => prepared.endpoint.watched.failed(passage, prepared.underWay, source === "backend"))
  )

const called = (x: Exchange, prepared: Prepared, passage: Passage): Effect.Effect<Answer, StageError> => {
  const { endpoint, upstreamFormat, providerModel, streaming, json } = prepared
  const { destination, provider } = endpoint
  if (destination.type === "mock")
    return isMockFormat(upstreamFormat) ? destination.answer(upstreamFormat, json, x.now) : Exit.fail(noAddress)
  const { request } = x
  const client = destination.passesToken ? x.get(slots.jwt) : undefined
  destination.withoutClientsKeys(request, client)
  const target = provider.target({
    format: wireFormatOf(upstreamFormat),
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
  request.pathAndQuery = target.path
  // From here on it is the provider's own path, whatever the client's could be read as.
  request.otherPath = undefined
  const unauthorised = destination.authorize(request, client, target)
  if (unauthorised !== undefined) return Exit.fail(unauthorised)
  const usual = target.port === (target.scheme === "https" ? 443 : 80)
  request.authority = usual ? target.host : `${target.host}:${target.port}`
  return callUpstream(x, passage, upstream, destination.requestTimeout)
}
