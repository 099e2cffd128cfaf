/**
 * The content of a body for those who look into it: without its content codings, and that of a request in UTF-8. What they have read
 * is what the other side gets, in the one form in which they have read it.
 */
import { type Effect, Exit } from "effect"
import type { BodyAborted } from "../http/body.ts"
import { contentCodings, decoded } from "../http/content-coding.ts"
import { fieldsOfBytes, weakenTag } from "../http/validators.ts"
import {
  type BodyTooLarge,
  type BuffersFull,
  type UnknownCoding,
  type Unreadable,
  unknownCoding,
  unreadable
} from "./errors.ts"
import type { View } from "./view.ts"

type Coded = Pick<View<never, never>, "request" | "requestBody">
export type Readable = Coded & Pick<View<never, never>, "readRequestBody" | "readRequestPrefix">

/** Why the content of a body cannot be had. */
export type ContentFailure = BodyTooLarge | BodyAborted | BuffersFull | Unreadable

/** Takes the codings off the body and its headers; whether there were any. It is decoded when it is read. */
export const undoCodings = (x: Coded): boolean | "unknown" => {
  const { headers } = x.request
  const lines = headers.getAll("content-encoding")
  if (lines.length === 0) return false
  const codings = contentCodings(lines)
  if (codings === "unknown") return codings
  if (codings.length === 0) return false
  x.requestBody = decoded(x.requestBody, codings, "client")
  headers.deleteAll(fieldsOfBytes)
  return true
}

/** The charsets whose texts are UTF-8. */
const readableCharset = /^(?:utf-?8|us-ascii|ascii)$/i
const charsetParameter = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/gi

/** Whether the client says of its body that it is in another charset. Without a word it is UTF-8, or it fails where it is read. */
const isForeign = ({ request }: Coded): boolean => {
  const types = request.headers.getAll("content-type")
  for (const type of types)
    if (type.includes(";"))
      for (const [, quoted, plain] of type.matchAll(charsetParameter))
        if (!readableCharset.test((quoted ?? plain ?? "").trim())) return true
  return false
}

/** The whole content in memory. */
export const readContent = (x: Readable): Effect.Effect<Uint8Array, ContentFailure> => {
  if (isForeign(x)) return Exit.fail(unreadable.charset)
  return undoCodings(x) === "unknown" ? Exit.fail(unreadable.coding) : x.readRequestBody()
}

/** The beginning of the content. What was coded must fit whole: nobody bounds the rest of it. */
export const readContentPrefix = (x: Readable): Effect.Effect<Uint8Array, ContentFailure> => {
  if (isForeign(x)) return Exit.fail(unreadable.charset)
  const coded = undoCodings(x)
  if (coded === "unknown") return Exit.fail(unreadable.coding)
  return coded ? x.readRequestBody() : x.readRequestPrefix()
}

export type ReadableAnswer = Pick<View<never, never>, "response" | "readResponseBody" | "readResponsePrefix">

/** Why the content of an answer cannot be had. */
export type AnswerFailure = BodyTooLarge | BodyAborted | BuffersFull | UnknownCoding

/** Takes the codings off the body of an answer and its headers; whether there were any. */
const undoAnswerCodings = ({ response }: ReadableAnswer): boolean | "unknown" => {
  if (response === undefined) return false
  const codings = contentCodings(response.headers.getAll("content-encoding"))
  if (codings === "unknown") return codings
  if (codings.length === 0) return false
  response.body = decoded(response.body, codings, "backend")
  response.headers.deleteAll(fieldsOfBytes)
  weakenTag(response.headers)
  return true
}

/** The whole content of an answer in memory. */
export const readAnswerContent = (x: ReadableAnswer): Effect.Effect<Uint8Array, AnswerFailure> =>
  undoAnswerCodings(x) === "unknown" ? Exit.fail(unknownCoding) : x.readResponseBody()

/** The beginning of it. What was coded must fit whole: nobody bounds the rest of it. */
export const readAnswerPrefix = (x: ReadableAnswer): Effect.Effect<Uint8Array, AnswerFailure> => {
  const coded = undoAnswerCodings(x)
  if (coded === "unknown") return Exit.fail(unknownCoding)
  return coded ? x.readResponseBody() : x.readResponsePrefix()
}
