/** What a provider wants different in a body of a format that it speaks otherwise, be the body the client's own or a translation. */
import type { ClientFormat, UpstreamFormat } from "../../formats/format.ts"
import { isObject, type JsonObject } from "../../formats/json.ts"
import type { Quirks } from "../codec.ts"
import { changed, eachObject, ifObject, without } from "./unchanged.ts"

const vertexVersion = "vertex-2023-10-16"

const cacheControl = ifObject((control) => without(control, ["scope"]))

/** Vertex refuses scopes of cache marks, wherever content may bear one. */
const withoutScope = (block: JsonObject): JsonObject =>
  changed(changed(block, "cache_control", cacheControl), "content", eachObject(withoutScope))

const forVertexClaude = (body: JsonObject, keepModel: boolean): JsonObject => {
  const kept = without(body, keepModel ? ["output_format"] : ["output_format", "model"])
  const versioned = Object.hasOwn(kept, "anthropic_version") ? kept : { ...kept, anthropic_version: vertexVersion }
  return ["system", "messages", "tools"].reduce(
    (out, member) => changed(out, member, eachObject(withoutScope)),
    changed(versioned, "cache_control", cacheControl)
  )
}

/** The body as this provider takes it; the very same object when nothing is to change. */
export const providerBody = (
  body: JsonObject,
  client: ClientFormat,
  upstream: UpstreamFormat,
  quirks: Quirks
): JsonObject => {
  switch (upstream) {
    case "completions":
      return quirks.moderation === undefined ? body : { ...body, moderation: quirks.moderation }
    case "responses":
      return quirks.moderation === undefined || client === "messages"
        ? body
        : { ...body, moderation: quirks.moderation }
    case "messages":
    case "anthropicTokenCount":
      return quirks.vertexClaude === true ? forVertexClaude(body, upstream === "anthropicTokenCount") : body
    default:
      return body
  }
}

/** Copilot leaves out of embedding lists what OpenAI clients look for. */
export const completedEmbeddings = (body: JsonObject, model: string): JsonObject => {
  const data = Array.isArray(body["data"]) ? body["data"] : []
  return data.length === 0 || !data.every(isObject)
    ? body
    : { ...body, object: body["object"] ?? "list", model: body["model"] ?? model }
}
