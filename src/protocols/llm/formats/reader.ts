/**
 * Reads the members of a client's request that a translation uses. The first member of a wrong type, or that cannot be expressed, is kept as
 * the request's problem and reading goes on; so decoders and encoders need neither exceptions nor a result in every return type.
 */
import { type LlmError, requestRefused } from "./error.ts"
import { isObject, type JsonObject } from "./json.ts"

const path = (at: string, key: string): string => (at === "" ? key : `${at}.${key}`)

const nothing: ReadonlyArray<never> = []

export class RequestReader {
  /** The first thing that was wrong. */
  problem: LlmError | undefined

  /** Records that the request cannot go on. */
  refuse(reason: string, field?: string): void {
    this.problem ??= requestRefused(reason, field)
  }

  private expected(what: string, at: string, key: string): undefined {
    this.refuse(`invalid field: ${path(at, key)}: expected ${what}`, path(at, key))
    return undefined
  }

  /** A member that must be there, whatever its type. */
  required(object: JsonObject, key: string, at = ""): void {
    if (object[key] === undefined || object[key] === null) this.refuse(`missing field: ${path(at, key)}`, path(at, key))
  }

  string(object: JsonObject, key: string, at = ""): string | undefined {
    const value = object[key]
    if (typeof value === "string") return value
    return value === undefined || value === null ? undefined : this.expected("a string", at, key)
  }

  number(object: JsonObject, key: string, at = ""): number | undefined {
    const value = object[key]
    if (typeof value === "number" && Number.isFinite(value)) return value
    return value === undefined || value === null ? undefined : this.expected("a number", at, key)
  }

  boolean(object: JsonObject, key: string, at = ""): boolean | undefined {
    const value = object[key]
    if (typeof value === "boolean") return value
    return value === undefined || value === null ? undefined : this.expected("a boolean", at, key)
  }

  object(object: JsonObject, key: string, at = ""): JsonObject | undefined {
    const value = object[key]
    if (isObject(value)) return value
    return value === undefined || value === null ? undefined : this.expected("an object", at, key)
  }

  /** A list whose elements must be objects; without the member, an empty one. */
  objects(object: JsonObject, key: string, at = ""): ReadonlyArray<JsonObject> {
    const value = object[key]
    if (value === undefined || value === null) return nothing
    if (Array.isArray(value)) {
      const odd = value.findIndex((item) => !isObject(item))
      if (odd < 0) return value
      this.expected("an object", at, `${key}[${odd}]`)
    } else this.expected("a list", at, key)
    return nothing
  }

  /** A string or a list of strings, as a list. */
  strings(object: JsonObject, key: string, at = ""): ReadonlyArray<string> {
    const value = object[key]
    if (value === undefined || value === null) return nothing
    if (typeof value === "string") return [value]
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value
    this.expected("a string or a list of strings", at, key)
    return nothing
  }
}
