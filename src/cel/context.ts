/**
 * The context of an evaluation written as JSON, as traces show it and people write it: every variable an object by the declarations of
 * `phases.ts`. Where JSON lacks a form: bytes are a text, or `{ "base64": … }`; a timestamp is RFC 3339, a duration a text such as `1.5s`;
 * headers are an object of texts, or lists of them where a name has several lines.
 */
import { Buffer } from "node:buffer"
import * as Result from "effect/Result"
import type { Bindings } from "./bindings.ts"
import { fromJson } from "./json.ts"
import { variables } from "./phases.ts"
import { type FieldType, isStruct, type ScalarKind, type Struct } from "./schema.ts"
import { parseDuration, parseTimestamp } from "./time.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (json: unknown): json is Json => typeof json === "object" && json !== null && !Array.isArray(json)
const isText = (json: unknown): json is string => typeof json === "string"
const isTexts = (json: unknown): json is ReadonlyArray<string> => Array.isArray(json) && json.every(isText)

/** What the host would hold for a field; `undefined` where the JSON is not of its form. */
const readers: Readonly<Record<ScalarKind, readonly [form: string, read: (json: unknown) => unknown]>> = {
  string: ["a text", (json) => (isText(json) ? json : undefined)],
  strings: ["a list of texts", (json) => (isTexts(json) ? json : undefined)],
  secret: ["a text", (json) => (isText(json) ? json : undefined)],
  int: ["an integer", (json) => (Number.isSafeInteger(json) ? json : undefined)],
  double: ["a number", (json) => (typeof json === "number" ? json : undefined)],
  bool: ["true or false", (json) => (typeof json === "boolean" ? json : undefined)],
  bytes: [
    'a text, or { "base64": … }',
    (json) =>
      isText(json)
        ? new Uint8Array(Buffer.from(json))
        : isObject(json) && isText(json["base64"])
          ? new Uint8Array(Buffer.from(json["base64"], "base64"))
          : undefined
  ],
  timestamp: ["a time as 2026-01-31T12:00:00Z", (json) => (isText(json) ? parseTimestamp(json)?.millis : undefined)],
  duration: [
    "a duration as 1.5s",
    (json) => {
      const duration = isText(json) ? parseDuration(json) : undefined
      return duration && Number(duration.nanos) / 1e6
    }
  ],
  headers: [
    "an object of texts, or lists of them",
    (json) =>
      isObject(json) && Object.values(json).every((lines) => isText(lines) || isTexts(lines))
        ? Object.entries(json as Readonly<Record<string, string | ReadonlyArray<string>>>).flatMap(([name, lines]) =>
            (isText(lines) ? [lines] : lines).flatMap((line) => [name.toLowerCase(), line])
          )
        : undefined
  ],
  json: ["any JSON", (json) => json],
  value: ["any JSON", fromJson]
}

/** The context, or everything in it that no variable has, or has in another form. */
export const contextOf = (json: unknown): Result.Result<Bindings, ReadonlyArray<string>> => {
  const problems: Array<string> = []

  const read = (type: FieldType, value: unknown, path: string): unknown => {
    if (value === null) return null
    if (isStruct(type)) return readStruct(type, value, path)
    const [form, reader] = readers[type]
    const held = reader(value)
    if (held === undefined) problems.push(`${path}: expected ${form}`)
    return held
  }

  const readStruct = ({ fields, rest }: Struct, value: unknown, path: string): Json | undefined => {
    if (!isObject(value)) {
      problems.push(`${path}: expected an object`)
      return undefined
    }
    const known: Record<string, unknown> = {}
    const further: Array<readonly [string, unknown]> = []
    for (const [name, inner] of Object.entries(value)) {
      if (Object.hasOwn(fields, name)) known[name] = read(fields[name]!.type, inner, `${path}.${name}`)
      else if (rest !== undefined) further.push([name, read(rest, inner, `${path}.${name}`)])
      else problems.push(`${path}.${name}: no such field; it has ${Object.keys(fields).sort().join(", ")}`)
    }
    return rest === undefined ? known : { ...known, rest: Object.fromEntries(further) }
  }

  if (!isObject(json)) return Result.fail(["expected an object of variables"])
  const bindings: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) {
    if (Object.hasOwn(variables, name))
      bindings[name] = read(variables[name as keyof typeof variables].struct, value, name)
    else problems.push(`${name}: no such variable; there are ${Object.keys(variables).sort().join(", ")}`)
  }
  // Every property was read by the declaration that its type comes from.
  return problems.length > 0 ? Result.fail(problems) : Result.succeed(bindings as Bindings)
}
