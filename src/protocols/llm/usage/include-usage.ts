/** Asks an OpenAI-style stream for the chunk that holds its usage, without which a stream cannot be accounted. */
import { type JsonObject, withMember } from "../formats/json.ts"

const includeUsage = { include_usage: true } as const

/**
 * The request with `stream_options` added when it streams and says nothing about them; otherwise the very same object. A client that
 * sent `stream_options` of its own has decided. The extra chunk is passed on to the client.
 */
export const requestUsageChunk = (body: JsonObject): JsonObject =>
  body["stream"] === true && (body["stream_options"] === undefined || body["stream_options"] === null)
    ? withMember(body, "stream_options", includeUsage)
    : body
