/** The answer of a provider in the client's words; what is in them already is left as it came. */
import { Buffer } from "node:buffer"
import { Exit, Result } from "effect"
import { type Answer, observe as copied } from "../../src/policy/policy.ts"
import { Capture, doubtOf, type Left } from "../../src/policy/terminal.ts"
import { isObject } from "../../src/protocols/llm/formats/json.ts"
import { readResponse } from "../../src/protocols/llm/usage/read.ts"
import { framingOf } from "../../src/protocols/llm/usage/stream.ts"
import { addFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { type ForeignStream, isGuarded, type Observed, type Streamed, usageFormat, type Whole } from "./observe.ts"
import { failureOf } from "./refused.ts"
import { TranslatedBody } from "./translated-body.ts"

/** Whether an answer may have to be put into other words. */
export const isTranslated = (_: Exchange, { type }: Observed): boolean => type === "whole" || type === "foreign stream"

export const translateBack =
  (engine: Engine) =>
  (x: Exchange, observed: Observed): Left<Observed> => {
    switch (observed.type) {
      case "whole":
        return document(x, observed)
      case "foreign stream":
        return Exit.succeed(stream(engine, x, observed))
      default:
        return Exit.succeed(observed)
    }
  }

const document = (x: Exchange, whole: Whole): Left<Observed> => {
  const { call, received, bytes, text } = whole
  const { translation, facts } = call
  const answer = x.response!
  if (call.translated && x.watched) tellUntranslated(x, Buffer.from(bytes).toString("base64"))
  const translated =
    whole.document === "answer"
      ? translation.response(received, (name) => answer.headers.get(name))
      : translation.error(answer.status, received)
  if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
  const told = translated.success
  // Some tell the usage in headers, which the translation has read.
  if (whole.document === "answer" && facts.usage === undefined)
    addFacts(facts, readResponse(usageFormat(call.clientFormat), told))
  const guarded = isGuarded(call)
  // Where a member stands twice, the client is given the one that guards will read.
  const same = told === received && !(guarded && isObject(told) && doubtOf(text, told) !== undefined)
  if (!same) replace(answer, told)
  // What nobody reads any more is not kept until the client has all of it.
  return Exit.succeed(guarded ? { ...whole, told } : { type: "passing", call })
}

/** An answer in JSON instead of the one that came. */
export const replace = (answer: Answer, body: unknown): void => {
  answer.body = JSON.stringify(body)
  answer.headers.set("content-type", "application/json")
  answer.headers.delete("content-length")
  answer.headers.delete("content-encoding")
}

/** The usage is read from the events that are translated. */
const stream = ({ clock }: Engine, x: Exchange, { call, reader, translation }: ForeignStream): Streamed => {
  const answer = x.response!
  if (x.watched) {
    const capture = new Capture(() => {})
    answer.body = copied(answer.body, capture)
    x.onFinish(() => tellUntranslated(x, capture.base64()))
  }
  const framing = framingOf(answer.headers.get("content-type"))
  x.tell({
    type: "llmStreamingTranslation",
    provider: call.endpoint.provider.name,
    inputFormat: call.clientFormat,
    upstreamRouteType: call.upstreamFormat,
    streamFormat: framing === "sse" ? "sse" : "awsEventStream"
  })
  const events = new TranslatedBody(answer.body, translation, framing, reader, clock)
  answer.body = events
  answer.headers.set("content-type", "text/event-stream")
  answer.headers.delete("content-length")
  return { type: "stream", call, events }
}

const tellUntranslated = (x: Exchange, body: string): void =>
  x.tell({ type: "bodySnapshot", stage: "llm response before translation", body })
