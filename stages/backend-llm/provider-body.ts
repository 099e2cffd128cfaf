/**
 * The bytes that a provider is sent. Where only the model or the request for usage differs from what the client wrote,
 * every other byte stays as it was; a body that readers could understand differently, or that guards have read, is written
 * anew, so that the provider reads what the gateway has read.
 */
import { Buffer } from "node:buffer"
import type { UpstreamFormat } from "../../src/protocols/llm/formats/format.ts"
import { isObject, type JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { isUnambiguous, setMember, setModel, withFirstMember } from "../../src/protocols/llm/models/json-members.ts"

/** Formats whose model stands in the body. */
const modelInBody: ReadonlySet<UpstreamFormat> = new Set([
  "completions",
  "messages",
  "responses",
  "embeddings",
  "rerank",
  "anthropicTokenCount"
])

const streamOptions = "stream_options"

/** What is passed on: its model may stand in the body, or in the path, or nowhere. */
const passedOn: ReadonlySet<UpstreamFormat> = new Set(["detect", "passthrough"])

/**
 * The body as the provider is to read it, before any translation: with its model, and asking a stream for its usage. A client
 * that wants no usage gets it all the same, because a stream that does not tell it cannot be accounted.
 */
export const addressed = (
  body: JsonObject,
  upstream: UpstreamFormat,
  model: string,
  streaming: boolean
): JsonObject => {
  let out = body
  const names = passedOn.has(upstream) ? Object.hasOwn(body, "model") : modelInBody.has(upstream)
  if (names && body["model"] !== model) out = { ...out, model }
  if (upstream === "completions" && streaming) {
    const options = body["stream_options"] ?? {}
    if (isObject(options) && options["include_usage"] !== true)
      out = { ...out, stream_options: { ...options, include_usage: true } }
  }
  return out
}

/**
 * The client's bytes with what `addressed` changed; `undefined` where they cannot be edited.
 * @param read what the bytes were parsed to.
 */
export const edited = (bytes: Buffer, read: JsonObject, addressed: JsonObject): Buffer | undefined => {
  if (!isUnambiguous(bytes, read)) return undefined
  if (read === addressed) return bytes
  let out: Buffer | undefined = bytes
  if (addressed["model"] !== read["model"]) out = setModel(out, String(addressed["model"]))
  if (out !== undefined && addressed[streamOptions] !== read[streamOptions]) {
    const text = JSON.stringify(addressed[streamOptions])
    // Everybody reads the same: a member that was not found is not there.
    const isThere = Object.hasOwn(read, streamOptions)
    out = isThere ? setMember(out, streamOptions, text) : withFirstMember(out, streamOptions, text)
  }
  return out
}

export const written = (body: JsonObject): Buffer => Buffer.from(JSON.stringify(body), "utf8")
