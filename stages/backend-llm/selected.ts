/** A request whose endpoint is known: what choosing a model leaves, and what expressions know from then on. */
import type { Buffer } from "node:buffer"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { canonicalPath } from "../../src/protocols/llm/models/path-form.ts"
import type { RequestedModel } from "../../src/protocols/llm/models/requested.ts"
import { isStreaming } from "./classify.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Exchange } from "./exchange.ts"
import { LlmVariable } from "./llm-variable.ts"

export interface Selected {
  readonly bytes: Buffer
  /** What the bytes were parsed to. */
  readonly json: JsonObject
  /** Whether the bytes are forwarded as they came, understood or not. */
  readonly unread: boolean
  /** The model, and where the client named it. */
  readonly requested: RequestedModel
  /** Its name where the endpoint has none of its own for it. */
  readonly wanted: string
  readonly endpoint: Endpoint
  readonly variable: LlmVariable
}

/** Expressions know the request, and the call as far as it gets. */
export const knownFromHere = (x: Exchange, model: string, json: JsonObject): LlmVariable => {
  const { variables } = x
  variables.llmRequest = { rest: json }
  const variable = new LlmVariable(model, isStreaming(canonicalPath(x.request.path), json), json)
  variables.llm = variable
  return variable
}
