/**
 * The answer of a model on its way back: usage is read from a copy, guards look at what is whole, and what is not in the
 * client's format is translated. A native answer that no guard reads passes byte for byte.
 */
import { Buffer } from "node:buffer"
import { Effect, Exit, Result } from "effect"
import { type BodyObserver, isSource, observe } from "../../src/http/body.ts"
import type { Answer } from "../../src/http/message.ts"
import { defaultBodyLimit, type Exchange } from "../../src/pipeline/exchange.ts"
import { next, respond, type StageError, type Verdict } from "../../src/pipeline/stage.ts"
import { isObject, parseJson } from "../../src/protocols/llm/models/json.ts"
import { type UsageFormat, usageMembers } from "../../src/protocols/llm/usage/members.ts"
import { readResponse } from "../../src/protocols/llm/usage/read.ts"
import { framingOf, StreamObserver } from "../../src/protocols/llm/usage/stream.ts"
import { addFacts, type StreamFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { eventReaders, type StreamFormat } from "../../src/protocols/llm/usage/stream-observers.ts"
import { runGuards } from "./guards.ts"
import { succeeded } from "./models.ts"
import { LlmFailed } from "./refused.ts"
import { failureOf, guardAnswer, isGuarded, type Prepared, type Router } from "./request.ts"
import { TranslatedBody } from "./translated-body.ts"

type Outcome = Effect.Effect<Verdict, StageError>

const guardFailed = new LlmFailed({ side: "response", status: 503, detail: "prompt guard failed", reason: "Guardrail" })
const invalid = new LlmFailed({ side: "response", status: 502, detail: "body is not JSON", reason: "UpstreamFailure" })

const usageFormat = (format: string): UsageFormat =>
  Object.hasOwn(usageMembers, format) ? (format as UsageFormat) : "detect"
const streamFormat = (format: string): StreamFormat =>
  Object.hasOwn(eventReaders, format) ? (format as StreamFormat) : "detect"

const isStream = ({ headers }: Answer): boolean => {
  const type = headers.get("content-type") ?? ""
  return type.includes("text/event-stream") || type.includes("application/vnd.amazon.eventstream")
}

/** Handles the answer to a prepared call. Settling is tied to the end of the exchange, however that comes. */
export const answered = (router: Router, x: Exchange, prepared: Prepared): Outcome => {
  const answer = x.response!
  const { model, facts } = prepared
  x.variables.llm = undefined
  model.responseHeaders?.apply(answer.headers)
  if (!succeeded(answer)) return prepared.translated ? translatedError(x, prepared) : next
  if (isStream(answer)) {
    watchStream(router, answer, prepared)
    if (!prepared.translated || !isSource(answer.body)) return next
    const stream = prepared.translation.stream((name) => answer.headers.get(name))
    if (stream === undefined) return next
    x.note("llmStreamingTranslation", {
      provider: model.provider.name,
      inputFormat: prepared.clientFormat,
      upstreamRouteType: prepared.upstreamFormat,
      streamFormat: framingOf(answer.headers.get("content-type")) === "sse" ? "sse" : "awsEventStream"
    })
    answer.body = new TranslatedBody(answer.body, stream, framingOf(answer.headers.get("content-type")))
    answer.headers.set("content-type", "text/event-stream")
    answer.headers.delete("content-length")
    return next
  }
  const guards = isGuarded(prepared.clientFormat) ? model.guards.response : []
  if (!prepared.translated && guards.length === 0) {
    answer.body = observe(answer.body, readingCopy(prepared.upstreamFormat, facts))
    return next
  }
  return Effect.flatMapEager(x.readResponseBody(), (bytes): Outcome => {
    const json = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"))
    addFacts(facts, readResponse(usageFormat(prepared.upstreamFormat), json))
    const translated = prepared.translation.response(json, (name) => answer.headers.get(name))
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const body = translated.success
    if (guards.length === 0) return replace(answer, body)
    if (!isObject(body) || !isGuarded(prepared.clientFormat)) return Exit.fail(invalid)
    const guarded = runGuards(guards, x, prepared.clientFormat, body, (outcome) => router.guarded("Response", outcome))
    return Effect.flatMapEager(guarded, (outcome): Outcome => {
      if (outcome.type === "failed") return Exit.fail(guardFailed)
      if (outcome.type === "answered") return respond(guardAnswer(outcome.answer))
      return outcome.type === "changed"
        ? replace(answer, outcome.body)
        : prepared.translated
          ? replace(answer, body)
          : next
    })
  })
}

const replace = (answer: Answer, body: unknown): typeof next => {
  answer.body = JSON.stringify(body)
  answer.headers.set("content-type", "application/json")
  answer.headers.delete("content-length")
  answer.headers.delete("content-encoding")
  return next
}

const translatedError = (x: Exchange, prepared: Prepared): Outcome =>
  Effect.flatMapEager(x.readResponseBody(), (bytes) => {
    const answer = x.response!
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")
    const translated = prepared.translation.error(answer.status, parseJson(text) ?? text)
    return Result.isFailure(translated) ? Exit.fail(failureOf(translated.failure)) : replace(answer, translated.success)
  })

/** Reads the usage of a stream from a copy of its bytes. */
const watchStream = ({ clock }: Router, answer: Answer, { upstreamFormat, facts }: Prepared): void => {
  const observer = new StreamObserver(streamFormat(upstreamFormat), framingOf(answer.headers.get("content-type")))
  const copy = () => Object.assign(facts, observer.facts)
  answer.body = observe(answer.body, {
    data: (chunk) => {
      observer.push(chunk, clock())
      copy()
    },
    end: () => {
      observer.end(clock())
      copy()
    }
  })
}

/** Reads the usage of a whole answer from a copy of its bytes, as long as it is not larger than a body may be. */
const readingCopy = (format: string, facts: StreamFacts): BodyObserver => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  return {
    data: (chunk) => {
      size += chunk.length
      if (size <= defaultBodyLimit) chunks.push(chunk.slice())
      else chunks.length = 0
    },
    end: () => {
      if (size === 0 || size > defaultBodyLimit) return
      addFacts(facts, readResponse(usageFormat(format), parseJson(Buffer.concat(chunks).toString("utf8"))))
    }
  }
}
