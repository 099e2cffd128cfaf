/**
 * The answer of a provider as it comes in: what it says of the health of the endpoint, and the reading of what it used, from a copy. Where
 * nobody else has to read it, it passes byte for byte.
 */
import { Buffer } from "node:buffer"
import { Effect, Exit } from "effect"
import { type Answer, type BodyObserver, observe as copied } from "../../src/policy/policy.ts"
import { contentCodings, decoded, defaultBodyLimit, type Left, type Passage } from "../../src/policy/terminal.ts"
import { type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { StreamTranslation } from "../../src/protocols/llm/translate/translator.ts"
import { type UsageFormat, usageMembers } from "../../src/protocols/llm/usage/members.ts"
import { readResponse } from "../../src/protocols/llm/usage/read.ts"
import { framingOf, StreamReader } from "../../src/protocols/llm/usage/stream.ts"
import { addFacts } from "../../src/protocols/llm/usage/stream-facts.ts"
import { eventReaders, type StreamFormat } from "../../src/protocols/llm/usage/stream-observers.ts"
import { forwarded } from "./classify.ts"
import type { Engine } from "./engine.ts"
import type { EventBody } from "./event-body.ts"
import type { Exchange } from "./exchange.ts"
import { ObservedStream } from "./observed-stream.ts"
import { LlmFailed } from "./refused.ts"
import type { Prepared } from "./translate.ts"

/** An answer or an error that is in memory. */
export interface Whole {
  readonly type: "whole"
  readonly call: Prepared
  readonly document: "answer" | "error"
  readonly bytes: Uint8Array
  readonly text: string
  /** What it was parsed to; of an error that is no JSON, its text. */
  readonly received: unknown
  /** What the client is told. */
  readonly told: unknown
}

/** A stream in the client's words, which is decoded once: whoever stands behind it is told its events. */
export interface Streamed {
  readonly type: "stream"
  readonly call: Prepared
  /** The body of the answer. */
  readonly events: EventBody
}

/** A stream in the provider's words. */
export interface ForeignStream {
  readonly type: "foreign stream"
  readonly call: Prepared
  readonly reader: StreamReader
  readonly translation: StreamTranslation
}

/** A piece of a stream in the client's words, when the phases are over: as an answer with its text, if it can be read. */
export interface Piece {
  readonly type: "piece"
  readonly call: Prepared
  readonly told: JsonObject | undefined
}

/** What came of a call, and who has to read it still: of what passes, nobody. */
export type Observed = Whole | Streamed | ForeignStream | Piece | { readonly type: "passing"; readonly call: Prepared }

const unreadable = (encoding: string) =>
  new LlmFailed({
    side: "response",
    status: 502,
    detail: `unsupported content encoding: ${encoding}`,
    reason: "UpstreamFailure"
  })

export const usageFormat = (format: string): UsageFormat =>
  Object.hasOwn(usageMembers, format) ? (format as UsageFormat) : "detect"
const streamFormat = (format: string): StreamFormat =>
  Object.hasOwn(eventReaders, format) ? (format as StreamFormat) : "detect"

const succeeded = ({ status }: Answer): boolean => status >= 200 && status < 300

const isStream = ({ headers }: Answer): boolean => {
  const type = headers.get("content-type") ?? ""
  return type.includes("text/event-stream") || type.includes("application/vnd.amazon.eventstream")
}

const isJson = ({ headers }: Answer): boolean => headers.get("content-type")?.includes("json") ?? true

/** Whether guards read the answer of a call. */
export const isGuarded = ({ conversation, endpoint }: Prepared): boolean =>
  conversation !== undefined && endpoint.guards.response.length > 0

export const observe =
  (engine: Engine) =>
  (x: Exchange, call: Prepared, passage: Passage): Left<Observed> => {
    const answer = x.response!
    const { endpoint, clientFormat, facts } = call
    endpoint.watched.answered(x, passage, call.underWay)
    // Expressions of the answer know the call, but not the prompt.
    x.variables.llmRequest = undefined
    endpoint.responseHeaders?.apply(answer.headers)
    const success = succeeded(answer)
    if (success) call.answered = isStream(answer) ? "stream" : "whole"
    const opaque = forwarded.has(clientFormat)
    if (success || !opaque) {
      const failed = decode(answer, call)
      if (failed !== undefined) return Exit.fail(failed)
    }
    if (!success) return opaque ? Exit.succeed({ type: "passing", call }) : whole(x, call, "error")
    if (isStream(answer)) {
      const reader = new StreamReader(streamFormat(call.upstreamFormat))
      call.facts = reader.facts
      const translation = call.translated ? call.translation.stream((name) => answer.headers.get(name)) : undefined
      if (translation !== undefined) return Exit.succeed({ type: "foreign stream", call, reader, translation })
      const framing = framingOf(answer.headers.get("content-type"))
      const events = new ObservedStream(answer.body, framing, reader, engine.clock)
      answer.body = events
      return Exit.succeed({ type: "stream", call, events })
    }
    if (!call.translation.readsAnswers && !isGuarded(call)) {
      if (isJson(answer)) answer.body = copied(answer.body, readingCopy(call))
      return Exit.succeed({ type: "passing", call })
    }
    return Effect.mapEager(whole(x, call, "answer"), (read) => {
      addFacts(facts, readResponse(usageFormat(call.upstreamFormat), read.received))
      return read
    })
  }

/** Undoes the content codings of an answer; a failure where they are not known. */
const decode = (answer: Answer, { upstreamFormat }: Prepared): LlmFailed | undefined => {
  const encoding = answer.headers.getAll("content-encoding")
  const codings = contentCodings(encoding)
  if (codings === "unknown")
    // What is forwarded unread may be anything; whoever must be read may not.
    return upstreamFormat === "passthrough" ? undefined : unreadable(encoding.join(", "))
  if (codings.length > 0) {
    answer.body = decoded(answer.body, codings, "backend")
    answer.headers.delete("content-encoding")
    answer.headers.delete("content-length")
  }
  return undefined
}

const whole = (x: Exchange, call: Prepared, document: Whole["document"]) =>
  Effect.mapEager(x.readResponseBody(), (bytes): Whole => {
    const text = textOf(bytes)
    const json = parseJson(text)
    const received = document === "error" ? (json ?? text) : json
    return { type: "whole", call, document, bytes, text, received, told: received }
  })

const textOf = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("utf8")

/** Reads the usage of a whole answer from a copy of its bytes, as long as it is not larger than a body may be. */
const readingCopy = (call: Prepared): BodyObserver => {
  const { upstreamFormat, facts } = call
  const converses = call.conversation !== undefined
  const chunks: Array<Uint8Array> = []
  let size = 0
  return {
    data: (chunk) => {
      size += chunk.length
      if (converses) call.passed = size
      if (size <= defaultBodyLimit) chunks.push(chunk)
      else chunks.length = 0
    },
    end: (failure) => {
      if (failure !== undefined) return
      facts.complete = true
      if (size === 0 || size > defaultBodyLimit) return
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      addFacts(facts, readResponse(usageFormat(upstreamFormat), parseJson(textOf(bytes))))
    }
  }
}
