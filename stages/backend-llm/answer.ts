/**
 * The answer of a model on its way back: usage is read from a copy, guards look at what is whole, and what is not in the
 * client's format is translated. A native answer that no guard reads passes byte for byte.
 */
import { Buffer } from "node:buffer"
import { Effect, Exit, Result } from "effect"
import {
  type Answer,
  type BodyObserver,
  next,
  observe,
  type StageError,
  type Verdict
} from "../../src/policy/policy.ts"
import { Capture, contentCodings, decoded, defaultBodyLimit, doubtOf } from "../../src/policy/terminal.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { GuardedFormat } from "../../src/protocols/llm/guard/texts.ts"
import { GuardWindow } from "../../src/protocols/llm/guard/window.ts"
import type { StreamTranslation } from "../../src/protocols/llm/translate/translator.ts"
import { type UsageFormat, usageMembers } from "../../src/protocols/llm/usage/members.ts"
import { readResponse } from "../../src/protocols/llm/usage/read.ts"
import { framingOf, StreamObserver, StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import { addFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { eventReaders, type StreamFormat } from "../../src/protocols/llm/usage/stream-observers.ts"
import type { Engine } from "./engine.ts"
import type { Exchange } from "./exchange.ts"
import { GuardedStream } from "./guarded-stream.ts"
import { type Guards, judgeText, runGuards } from "./guards.ts"
import { GuardRejected, LlmFailed } from "./refused.ts"
import { failureOf, forwarded, isGuarded, type Prepared } from "./request.ts"
import { TranslatedBody } from "./translated-body.ts"

type Outcome = Effect.Effect<Verdict, StageError>

const guardFailed = new LlmFailed({ side: "response", status: 503, detail: "prompt guard failed", reason: "Guardrail" })
const invalid = new LlmFailed({ side: "response", status: 502, detail: "body is not JSON", reason: "UpstreamFailure" })

const unreadable = (encoding: string | undefined) =>
  new LlmFailed({
    side: "response",
    status: 502,
    detail: `unsupported content encoding: ${encoding}`,
    reason: "UpstreamFailure"
  })

const usageFormat = (format: string): UsageFormat =>
  Object.hasOwn(usageMembers, format) ? (format as UsageFormat) : "detect"
const streamFormat = (format: string): StreamFormat =>
  Object.hasOwn(eventReaders, format) ? (format as StreamFormat) : "detect"

const succeeded = ({ status }: Answer): boolean => status >= 200 && status < 300

const isStream = ({ headers }: Answer): boolean => {
  const type = headers.get("content-type") ?? ""
  return type.includes("text/event-stream") || type.includes("application/vnd.amazon.eventstream")
}

const isJson = ({ headers }: Answer): boolean => headers.get("content-type")?.includes("json") ?? true

/** Handles the answer to a prepared call. Settling is tied to the end of the exchange, however that comes. */
export const answered = (engine: Engine, x: Exchange, prepared: Prepared): Outcome => {
  const answer = x.response!
  const { endpoint, facts } = prepared
  // Expressions of the answer know the call, but not the prompt.
  x.variables.llmRequest = undefined
  endpoint.responseHeaders?.apply(answer.headers)
  const success = succeeded(answer)
  if (success) prepared.answered = isStream(answer) ? "stream" : "whole"
  const opaque = forwarded.has(prepared.clientFormat)
  if (success || !opaque) {
    const encoding = answer.headers.getAll("content-encoding")
    const codings = contentCodings(encoding)
    if (codings === "unknown") {
      // What is forwarded unread may be anything; whoever must be read may not.
      if (prepared.upstreamFormat !== "passthrough") return Exit.fail(unreadable(encoding.join(", ")))
    } else if (codings.length > 0) {
      answer.body = decoded(answer.body, codings, "backend")
      answer.headers.delete("content-encoding")
      answer.headers.delete("content-length")
    }
  }
  if (!success) return opaque ? next : clientsError(engine, x, prepared)
  if (isStream(answer)) {
    const reader = new StreamReader(streamFormat(prepared.upstreamFormat))
    prepared.facts = reader.facts
    const stream = prepared.translated ? prepared.translation.stream((name) => answer.headers.get(name)) : undefined
    if (stream === undefined) watchStream(engine, answer, reader)
    else translateStream(engine, x, answer, prepared, stream, reader)
    const { clientFormat } = prepared
    if (endpoint.guards.streaming && endpoint.guards.response.length > 0 && isGuarded(clientFormat)) {
      // Guards read events as the client does; a framing that is neither its own nor translated cannot be read.
      if (!answer.headers.get("content-type")?.includes("text/event-stream")) return Exit.fail(invalid)
      answer.headers.delete("content-length")
      answer.body = new GuardedStream(
        answer.body,
        new GuardWindow(clientFormat, defaultBodyLimit),
        (text) => judgeText(endpoint.guards.response, x, text, (outcome) => engine.guarded("Response", outcome)),
        engine.fork
      )
    }
    return next
  }
  const guards = isGuarded(prepared.clientFormat) ? endpoint.guards.response : []
  if (!prepared.translation.readsAnswers && guards.length === 0) {
    if (isJson(answer)) answer.body = observe(answer.body, readingCopy(prepared))
    return next
  }
  return Effect.flatMapEager(x.readResponseBody(), (bytes): Outcome => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")
    const json = parseJson(text)
    addFacts(facts, readResponse(usageFormat(prepared.upstreamFormat), json))
    if (prepared.translated && x.watched) tellUntranslated(x, Buffer.from(bytes).toString("base64"))
    const translated = prepared.translation.response(json, (name) => answer.headers.get(name))
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const body = translated.success
    // Some tell the usage in headers, which the translation has read.
    if (facts.usage === undefined) addFacts(facts, readResponse(usageFormat(prepared.clientFormat), body))
    if (guards.length === 0) return body === json ? next : replace(answer, body)
    if (!isObject(body) || !isGuarded(prepared.clientFormat)) return Exit.fail(invalid)
    // Where a member stands twice, the client is given the one that guards have read.
    const same = body === json && doubtOf(text, json) === undefined
    return judged(engine, x, prepared.clientFormat, guards, "answer", body, (clean) =>
      clean === body && same ? next : replace(answer, clean)
    )
  })
}

/** What guards leave of an answer or an error goes on. */
const judged = (
  engine: Engine,
  x: Exchange,
  format: GuardedFormat,
  guards: Guards["response"],
  document: "answer" | "error",
  body: JsonObject,
  goOn: (clean: JsonObject) => Outcome
): Outcome =>
  Effect.flatMapEager(
    runGuards(guards, x, format, document, body, (outcome) => engine.guarded("Response", outcome)),
    (outcome): Outcome => {
      if (outcome.type === "failed") return Exit.fail(guardFailed)
      if (outcome.type === "answered") return Exit.fail(new GuardRejected(outcome.answer))
      return goOn(outcome.type === "changed" ? outcome.body : body)
    }
  )

/** The usage is read from the events that are translated. */
const translateStream = (
  { clock }: Engine,
  x: Exchange,
  answer: Answer,
  prepared: Prepared,
  stream: StreamTranslation,
  reader: StreamReader
): void => {
  if (x.watched) {
    const capture = new Capture(() => {})
    answer.body = observe(answer.body, capture)
    x.onFinish(() => tellUntranslated(x, capture.base64()))
  }
  const framing = framingOf(answer.headers.get("content-type"))
  x.tell({
    type: "llmStreamingTranslation",
    provider: prepared.endpoint.provider.name,
    inputFormat: prepared.clientFormat,
    upstreamRouteType: prepared.upstreamFormat,
    streamFormat: framing === "sse" ? "sse" : "awsEventStream"
  })
  answer.body = new TranslatedBody(answer.body, stream, framing, reader, clock)
  answer.headers.set("content-type", "text/event-stream")
  answer.headers.delete("content-length")
}

const tellUntranslated = (x: Exchange, body: string): void =>
  x.tell({ type: "bodySnapshot", stage: "llm response before translation", body })

const replace = (answer: Answer, body: unknown): typeof next => {
  answer.body = JSON.stringify(body)
  answer.headers.set("content-type", "application/json")
  answer.headers.delete("content-length")
  answer.headers.delete("content-encoding")
  return next
}

/** An error in the shape that the client knows; one that has it already passes as it came. */
const clientsError = (engine: Engine, x: Exchange, prepared: Prepared): Outcome =>
  Effect.flatMapEager(x.readResponseBody(), (bytes) => {
    const answer = x.response!
    if (prepared.translated && x.watched) tellUntranslated(x, Buffer.from(bytes).toString("base64"))
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")
    const body = parseJson(text) ?? text
    const translated = prepared.translation.error(answer.status, body)
    if (Result.isFailure(translated)) return Exit.fail(failureOf(translated.failure))
    const told = translated.success
    const guards = isGuarded(prepared.clientFormat) ? prepared.endpoint.guards.response : []
    if (guards.length === 0 || !isGuarded(prepared.clientFormat)) return told === body ? next : replace(answer, told)
    // What is no JSON object is read as the text that it is.
    const read = isObject(told) ? told : { text: typeof told === "string" ? told : text }
    const same = told === body && (!isObject(told) || doubtOf(text, told) === undefined)
    return judged(engine, x, prepared.clientFormat, guards, "error", read, (clean) => {
      if (clean === read) return same ? next : replace(answer, told)
      return isObject(told) ? replace(answer, clean) : plain(answer, clean["text"])
    })
  })

const plain = (answer: Answer, text: unknown): typeof next => {
  answer.body = typeof text === "string" ? text : ""
  answer.headers.delete("content-length")
  return next
}

/** Reads the usage of a stream from a copy of its bytes. */
const watchStream = ({ clock }: Engine, answer: Answer, reader: StreamReader): void => {
  const observer = new StreamObserver(reader, framingOf(answer.headers.get("content-type")))
  let readable = true
  answer.body = observe(answer.body, {
    data: (chunk) => {
      if (readable) readable = observer.push(chunk, clock()) === undefined
    },
    end: () => {
      if (readable) observer.end(clock())
    }
  })
}

/** Reads the usage of a whole answer from a copy of its bytes, as long as it is not larger than a body may be. */
const readingCopy = (prepared: Prepared): BodyObserver => {
  const { upstreamFormat, facts } = prepared
  const converses = isGuarded(prepared.clientFormat)
  const chunks: Array<Uint8Array> = []
  let size = 0
  return {
    data: (chunk) => {
      size += chunk.length
      if (converses) prepared.passed = size
      if (size <= defaultBodyLimit) chunks.push(chunk)
      else chunks.length = 0
    },
    end: (failure) => {
      if (failure !== undefined) return
      facts.complete = true
      if (size === 0 || size > defaultBodyLimit) return
      addFacts(facts, readResponse(usageFormat(upstreamFormat), parseJson(Buffer.concat(chunks).toString("utf8"))))
    }
  }
}
