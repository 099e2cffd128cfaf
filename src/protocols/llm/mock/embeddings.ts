/** The mock as OpenAI embeddings: unit vectors that depend on the text alone. */
import { Buffer } from "node:buffer"
import { elements, type JsonObject } from "../formats/json.ts"
import { estimateTokens } from "../tokens/estimate.ts"
import { hash, randomFrom } from "./random.ts"
import type { MockReply, MockSettings } from "./settings.ts"

const defaultDimensions = 256
const maxDimensions = 4096
/** As many as OpenAI takes. */
const maxInputs = 2048

const vectorOf = (text: string, dimensions: number, seed: number): Float32Array => {
  const random = randomFrom(hash(text, seed))
  const vector = Float32Array.from({ length: dimensions }, () => random() * 2 - 1)
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((x) => x / length)
}

/** Clients of OpenAI's own library ask for base64 of little-endian floats by default. */
const encoded = (vector: Float32Array, format: unknown): unknown => {
  if (format !== "base64") return Array.from(vector)
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((x, i) => bytes.writeFloatLE(x, i * 4))
  return bytes.toString("base64")
}

/** A text, several, a list of tokens or several of them. */
const inputsOf = (input: unknown): ReadonlyArray<string> => {
  if (typeof input === "string") return [input]
  const list = elements(input)
  if (list.length > 0 && list.every((item) => typeof item === "number")) return [list.join(" ")]
  return list.map((item) => (typeof item === "string" ? item : JSON.stringify(item)))
}

const tooMany = JSON.stringify({
  error: {
    message: `At most ${maxInputs} inputs can be embedded at once`,
    type: "invalid_request_error",
    param: "input",
    code: "too_many_inputs"
  }
})

export const embeddings = (settings: MockSettings, body: JsonObject): MockReply => {
  const asked = body["dimensions"]
  const dimensions =
    typeof asked === "number" && Number.isInteger(asked) && asked > 0 && asked <= maxDimensions
      ? asked
      : defaultDimensions
  const inputs = inputsOf(body["input"])
  if (inputs.length > maxInputs) return { type: "json", status: 400, afterMs: settings.latencyMs, body: tooMany }
  const tokens = estimateTokens(inputs)
  const reply = {
    object: "list",
    data: inputs.map((text, index) => ({
      object: "embedding",
      index,
      embedding: encoded(vectorOf(text, dimensions, settings.seed), body["encoding_format"])
    })),
    model: typeof body["model"] === "string" ? body["model"] : "mock",
    usage: { prompt_tokens: tokens, total_tokens: tokens }
  }
  return { type: "json", status: 200, afterMs: settings.latencyMs, body: JSON.stringify(reply) }
}
