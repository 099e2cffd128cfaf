/** The guards over what a model says: over an answer or an error that is whole, and over a stream as it passes. */
import { Effect, Exit } from "effect"
import type { Answer } from "../../src/policy/policy.ts"
import { defaultBodyLimit, doubtOf, type Left } from "../../src/policy/terminal.ts"
import { isObject } from "../../src/protocols/llm/formats/json.ts"
import type { GuardedFormat } from "../../src/protocols/llm/guard/texts.ts"
import { GuardWindow } from "../../src/protocols/llm/guard/window.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { GuardedStream } from "./guarded-stream.ts"
import { judgeText, runGuards } from "./guards.ts"
import type { Observed, Streamed, Whole } from "./observe.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"
import { replace } from "./translate-back.ts"

const guardFailed = new LlmFailed({ side: "response", status: 503, detail: "prompt guard failed", reason: "Guardrail" })
const invalid = new LlmFailed({ side: "response", status: 502, detail: "body is not JSON", reason: "UpstreamFailure" })

export const isAnswerGuarded = (_: Exchange, { type, call }: Observed): boolean => {
  const { response, streaming } = call.endpoint.guards
  if (call.conversation === undefined || response.length === 0) return false
  return type === "whole" || (type === "stream" && streaming)
}

export const guardResponse =
  (engine: Engine) =>
  (x: Exchange, observed: Observed): Left<Observed> => {
    const { conversation } = observed.call
    if (conversation === undefined) return Exit.succeed(observed)
    switch (observed.type) {
      case "whole":
        return document(engine, x, conversation, observed)
      case "stream":
        return stream(engine, x, conversation, observed)
      default:
        return Exit.succeed(observed)
    }
  }

const document = (engine: Engine, x: Exchange, format: GuardedFormat, whole: Whole): Left<Whole> => {
  const { call, document, text, received, told } = whole
  if (document === "answer" && !isObject(told)) return Exit.fail(invalid)
  // An error that is no JSON object is read as the text that it is.
  const read = isObject(told) ? told : { text: typeof told === "string" ? told : text }
  const judged = runGuards(call.endpoint.guards.response, x, format, document, read, (outcome) =>
    engine.guarded("Response", outcome)
  )
  return Effect.flatMapEager(judged, (outcome): Left<Whole> => {
    if (outcome.type === "failed") return Exit.fail(guardFailed)
    if (outcome.type === "answered") return Exit.fail(new GuardRejected(outcome.answer))
    const answer = x.response!
    if (outcome.type === "changed") {
      if (isObject(told)) replace(answer, outcome.body)
      else plain(answer, outcome.body["text"])
    }
    // Where a member stands twice, the client is given the one that guards have read.
    else if (told === received && isObject(told) && doubtOf(text, told) !== undefined) replace(answer, told)
    return Exit.succeed(whole)
  })
}

const plain = (answer: Answer, text: unknown): void => {
  answer.body = typeof text === "string" ? text : ""
  answer.headers.delete("content-length")
}

const stream = (engine: Engine, x: Exchange, format: GuardedFormat, streamed: Streamed): Left<Streamed> => {
  const answer = x.response!
  // Guards read events as the client does; a framing that is neither its own nor translated cannot be read.
  if (!answer.headers.get("content-type")?.includes("text/event-stream")) return Exit.fail(invalid)
  answer.headers.delete("content-length")
  const { response } = streamed.call.endpoint.guards
  answer.body = new GuardedStream(
    streamed.events,
    new GuardWindow(format, defaultBodyLimit),
    (text) => judgeText(response, x, text, (outcome) => engine.guarded("Response", outcome)),
    engine.fork
  )
  return Exit.succeed(streamed)
}
