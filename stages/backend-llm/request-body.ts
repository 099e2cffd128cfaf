/** The body of a model request: read whole, and judged by whether everybody who reads it finds the same in it. */
import { Buffer, isUtf8 } from "node:buffer"
import { Effect, Exit } from "effect"
import { type StageError, undoCodings } from "../../src/policy/policy.ts"
import { doubtOf } from "../../src/policy/terminal.ts"
import { isObject, type JsonObject, parseJson } from "../../src/protocols/llm/formats/json.ts"
import type { Exchange } from "./exchange.ts"
import { unknownCoding } from "./readings.ts"

/** How a client is told that its body cannot be read. */
export interface BodyFailures {
  readonly tooLarge: StageError
  readonly unreadable: StageError
  readonly undecodable: StageError
}

/** The whole body of a request, decompressed. */
export const readBody = (
  x: Exchange,
  { tooLarge, unreadable, undecodable }: BodyFailures
): Effect.Effect<Buffer, StageError> => {
  const coded = undoCodings(x)
  if (coded === "unknown") return Exit.fail(unknownCoding(x.request.headers.getAll("content-encoding").join(", ")))
  const broken = coded ? undecodable : unreadable
  return Effect.mapEager(
    Effect.mapErrorEager(x.readRequestBody(), (error) =>
      error._tag === "BodyTooLarge" ? tooLarge : error._tag === "BuffersFull" ? error : broken
    ),
    (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  )
}

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** Whether an expression that reads these variables looks into the body of a model request. */
export const readsModelRequest = (roots: ReadonlySet<string>): boolean => roots.has("llmRequest") || roots.has("llm")

/** Why the body is no JSON object in which everybody finds the same; `undefined` where it is one. */
const doubtAbout = (bytes: Buffer) => {
  if (!isUtf8(bytes)) return "text"
  const text = bytes.toString("utf8")
  const json = parseJson(text)
  return isObject(json) ? doubtOf(text, json) : "text"
}

/** Whether everybody who reads the body finds the same in it: what decides by it must not see another one than the provider. */
export const isSound = (bytes: Buffer): boolean => doubtAbout(bytes) === undefined

/** The same for guards, who may misread an escaped name: what they have read is what is sent. */
export const isGuardable = (bytes: Buffer): boolean => {
  const doubt = doubtAbout(bytes)
  return doubt === undefined || doubt === "escapes"
}
