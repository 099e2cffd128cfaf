/** The entry of the translations: from the two formats and the provider's quirks, once a configuration, to what happens to one request. */
import { Result } from "effect"
import { type LlmError, requestRefused, responseUnreadable } from "../formats/error.ts"
import type { ClientFormat, UpstreamFormat } from "../formats/format.ts"
import { isObject, type JsonObject } from "../formats/json.ts"
import { RequestReader } from "../formats/reader.ts"
import type { HeaderLookup, SseEvent, UpstreamEvent } from "../formats/stream.ts"
import type { BodyTranslation } from "./body-translation.ts"
import { bodyTranslations } from "./body-translations.ts"
import type { Call, ClientCodec, Exchange, Quirks, StreamDecoder, StreamEncoder, UpstreamCodec } from "./codec.ts"
import { clientCodecs, upstreamCodecs } from "./codecs.ts"
import { decodeGoogleError } from "./google-error.ts"
import { nativeError, nativeRequest } from "./native/native.ts"
import { completedEmbeddings, providerBody } from "./native/provider-body.ts"
import type { Delta, Usage } from "./reply.ts"
import { type PairRules, pairRules } from "./rules.ts"

/** The translation of one streamed answer. */
export interface StreamTranslation {
  /** The client's events for one event of the provider. */
  push(event: UpstreamEvent): ReadonlyArray<SseEvent>
  /** The provider's stream ended in order: what is left to say. */
  end(): ReadonlyArray<SseEvent>
  /** The provider's stream broke off: what the client can be told before its body is aborted. */
  abort(): ReadonlyArray<SseEvent>
  /** What the provider has counted so far, in its own convention. */
  readonly usage: Usage | undefined
  /** What the provider said went wrong inside the stream. */
  readonly error: string | undefined
}

/** One request and its answer. `request` comes first: the answer's translation may need what it saw. */
export interface Translation {
  /** The body for the provider. A native body that needs no change is returned as it is, so that its bytes can be sent. */
  request(body: unknown): Result.Result<JsonObject, LlmError>
  /** Whether `response` has anything to do; where it has not, the bytes of a whole answer can be forwarded as they come. */
  readonly readsAnswers: boolean
  /** The body for the client, of a 2xx answer that was not streamed. */
  response(body: unknown, header?: HeaderLookup): Result.Result<unknown, LlmError>
  /** The events for the client, of a streamed 2xx answer; `undefined` = forward the bytes. */
  stream(header?: HeaderLookup): StreamTranslation | undefined
  /** The client's error body for the provider's: parsed JSON, or its text as a string where it is none. */
  error(status: number, body: unknown): Result.Result<unknown, LlmError>
}

/** What a pair of formats does to its requests. Made once a configuration; `open` once a request. */
export interface Translator {
  /** `native`: nothing is translated, and streams are forwarded byte for byte. */
  readonly kind: "native" | "translated"
  readonly open: (call: Call) => Translation
}

const notAnObject = Result.fail(requestRefused("request body must be a JSON object"))

const native = (client: ClientFormat, upstream: UpstreamFormat, quirks: Quirks): Translator => {
  const readsAnswers = client === "embeddings" && quirks.bareEmbeddings === true
  return {
    kind: "native",
    open: (call) => ({
      request: (body) =>
        isObject(body)
          ? Result.succeed(providerBody(nativeRequest(body, client, quirks), client, upstream, quirks))
          : notAnObject,
      readsAnswers,
      response: (body) => Result.succeed(readsAnswers && isObject(body) ? completedEmbeddings(body, call.model) : body),
      stream: () => undefined,
      error: (status, body) => Result.succeed(nativeError(client, status, body))
    })
  }
}

const unreadable = (body: unknown) =>
  Result.fail(responseUnreadable(body === undefined ? "body is not JSON" : "body is not a JSON object"))

class Streamed implements StreamTranslation {
  usage: Usage | undefined
  error: string | undefined
  private readonly decoder: StreamDecoder
  private readonly encoder: StreamEncoder

  constructor(decoder: StreamDecoder, encoder: StreamEncoder) {
    this.decoder = decoder
    this.encoder = encoder
  }

  push(event: UpstreamEvent): ReadonlyArray<SseEvent> {
    return this.pass(this.decoder.push(event))
  }

  end(): ReadonlyArray<SseEvent> {
    return [...this.pass(this.decoder.end()), ...this.encoder.end()]
  }

  abort(): ReadonlyArray<SseEvent> {
    return this.pass([{ type: "error", kind: "api_error", message: "Stream processing error" }])
  }

  private pass(deltas: ReadonlyArray<Delta>): ReadonlyArray<SseEvent> {
    for (const delta of deltas) {
      if (delta.type === "usage") this.usage = delta.usage
      else if (delta.type === "error") this.error ??= delta.message
    }
    return this.encoder.push(deltas)
  }
}

const chat = (
  client: ClientFormat,
  upstream: UpstreamFormat,
  [from, to, rules]: readonly [ClientCodec, UpstreamCodec, PairRules],
  quirks: Quirks
): Translator => ({
  kind: "translated",
  open: (call) => {
    const exchange: Exchange = { call, quirks, rules, toolNames: undefined }
    return {
      request: (body) => {
        if (!isObject(body)) return notAnObject
        const reader = new RequestReader()
        const encoded = to.encodeRequest(from.decodeRequest(body, reader), exchange, reader)
        return reader.problem === undefined
          ? Result.succeed(providerBody(encoded, client, upstream, quirks))
          : Result.fail(reader.problem)
      },
      readsAnswers: true,
      response: (body) =>
        isObject(body)
          ? Result.map(to.decodeResponse(body, exchange), (reply) => from.encodeResponse(reply, exchange))
          : unreadable(body),
      stream: (header) => new Streamed(to.streamDecoder(exchange, header), from.streamEncoder(exchange)),
      error: (status, body) => {
        // OpenAI's two formats share their errors, but Google answers in its own shape even there.
        if (rules.sameErrors && decodeGoogleError(body) === undefined) return Result.succeed(body)
        const error = to.decodeError(body)
        return error === undefined
          ? Result.fail(responseUnreadable("unknown error body"))
          : Result.succeed(from.encodeError(status, error))
      }
    }
  }
})

const single = (translation: BodyTranslation, quirks: Quirks): Translator => ({
  kind: "translated",
  open: (call) => {
    let request: JsonObject = {}
    return {
      request: (body) => {
        if (!isObject(body)) return notAnObject
        request = body
        const reader = new RequestReader()
        const encoded = translation.encodeRequest(body, reader, call, quirks)
        return reader.problem === undefined ? Result.succeed(encoded) : Result.fail(reader.problem)
      },
      readsAnswers: true,
      response: (body, header) =>
        isObject(body) ? translation.decodeResponse(body, request, call, header) : unreadable(body),
      stream: () => undefined,
      error: (_status, body) => Result.succeed(translation.encodeError(body))
    }
  }
})

/**
 * What happens between a client that speaks one format and a provider that speaks another (or the same). Fails with 400
 * `unsupported conversion: …` for pairs that have no translation.
 */
export const translator = (
  client: ClientFormat,
  upstream: UpstreamFormat,
  quirks: Quirks = {}
): Result.Result<Translator, LlmError> => {
  if (client === upstream || upstream === "passthrough") return Result.succeed(native(client, upstream, quirks))
  const rules = pairRules[client]?.[upstream]
  const [from, to] = [clientCodecs[client], upstreamCodecs[upstream]]
  if (rules !== undefined && from !== undefined && to !== undefined)
    return Result.succeed(chat(client, upstream, [from, to, rules], quirks))
  const translation = bodyTranslations[client]?.[upstream]
  return translation === undefined
    ? Result.fail(requestRefused(`unsupported conversion: ${client} to ${upstream}`))
    : Result.succeed(single(translation, quirks))
}
