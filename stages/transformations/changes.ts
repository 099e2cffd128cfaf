/**
 * The changes of one message, compiled: metadata, replace, add, set, remove, body, each of which sees what those before it have
 * made. Nothing of it can fail once what the expressions read is in memory: what cannot be had is left out, and told to who watches.
 */
import { Effect, Result } from "effect"
import {
  CelError,
  type CelValue,
  type ConfigPath,
  type ConfigProblem,
  compileExpression,
  type Expression,
  fieldsOfBytes,
  type HeaderList,
  settled,
  slots,
  weakenTag
} from "../../src/policy/policy.ts"
import type { Message, Seen } from "./message.ts"
import type { Changes } from "./schema.ts"
import { bodyOf, headerText, isFraming, linesOf, plainText, type Unusable } from "./values.ts"

/** Compiled changes. */
export interface Compiled {
  readonly apply: (x: Seen) => void
  /** How many there are: where there is none nothing has to run. */
  readonly changes: number
  readonly expressions: ReadonlyArray<Expression>
}

/** One change; why it could not be made. */
type Change = (x: Seen) => Unusable | undefined

/** What a change is called where it is told that it was not made: `set x-user`. */
type Named = readonly [name: string, change: Change]

/** @param path of the changes below the configuration of the policy. */
export const compileChanges = (
  { metadata, replace, add, set, remove, body }: Changes,
  message: Message,
  phase: Parameters<typeof compileExpression>[1],
  path: ConfigPath
): Effect.Effect<Compiled, ReadonlyArray<ConfigProblem>> =>
  Effect.gen(function* () {
    const problems: Array<ConfigProblem> = []
    const expressions: Array<Expression> = []
    const compiled = function* (source: string, ...part: ConfigPath) {
      const result = yield* Effect.result(compileExpression(source, phase, [...path, ...part]))
      if (Result.isFailure(result)) {
        problems.push(...result.failure)
        return undefined
      }
      expressions.push(result.success)
      return result.success
    }
    const changes: Array<Named> = []

    const kept: Array<readonly [key: string, value: Expression]> = []
    for (const [key, source] of Object.entries(metadata ?? {})) {
      const value = yield* compiled(source, "metadata", key)
      if (value !== undefined) kept.push([key, value])
    }
    if (kept.length > 0) changes.push(["metadata", keeping(kept)])

    if (replace !== undefined) {
      const map = yield* compiled(replace, "replace")
      if (map !== undefined) changes.push(["replace", replacing(message, map)])
    }

    for (const [does, fields] of [
      ["add", add],
      ["set", set]
    ] as const)
      for (const [written, source] of Object.entries(fields ?? {})) {
        const value = yield* compiled(source, does, written)
        const name = written.toLowerCase()
        if (isFraming(name)) problems.push({ path: [...path, does, written], message: `${name} ${ownAffair}` })
        if (value !== undefined) changes.push([`${does} ${name}`, writing(message, does, name, value)])
      }

    const removed = new Set((remove ?? []).map((name) => name.toLowerCase()))
    if (removed.size > 0)
      changes.push([
        "remove",
        (x) => {
          message.headers(x).deleteAll(removed)
          return undefined
        }
      ])

    if (body !== undefined) {
      const content = yield* compiled(body, "body")
      const named = new Set(Object.keys({ ...add, ...set }).map((name) => name.toLowerCase()))
      if (content !== undefined)
        changes.push(["body", rewriting(message, content, fieldsOfBytes.difference(named), !named.has("etag"))])
    }

    if (problems.length > 0) return yield* Effect.fail(problems)
    return { expressions, changes: changes.length, apply: applying(message, changes) }
  })

const ownAffair = "says how a message is sent, which the proxy decides itself"

/** Makes the changes one after the other. What was not made is told only where somebody wants to know. */
const applying =
  ({ name }: Message, changes: ReadonlyArray<Named>) =>
  (x: Seen): void => {
    let failed: Record<string, string> | undefined
    for (const [what, change] of changes) {
      const reason = change(x)
      if (reason === undefined || !x.watched) continue
      failed ??= {}
      failed[what] = reason.because
    }
    if (failed !== undefined) x.note("transformation", { message: name, failed })
  }

/** What fails is skipped. What others have set before stays, unless it has the same name. */
const keeping =
  (entries: ReadonlyArray<readonly [key: string, value: Expression]>): Change =>
  (x) => {
    const rest: Record<string, CelValue> = Object.assign(Object.create(null), x.get(slots.metadata)?.rest)
    x.set(slots.metadata, { rest })
    let failed: Array<string> | undefined
    for (const [key, expression] of entries) {
      const value = expression.evaluate(x.variables)
      if (!(value instanceof CelError)) rest[key] = settled(value)
      else {
        failed ??= []
        failed.push(`${key}: ${value.code}`)
      }
    }
    return failed && { because: failed.join(", ") }
  }

/** All or nothing: headers of which some are missing are nobody's headers. */
const replacing =
  (message: Message, map: Expression): Change =>
  (x) => {
    const lines = linesOf(map.evaluate(x.variables))
    if ("because" in lines) return lines
    const { flat } = message.headers(x)
    const length = message.headers(x).get("content-length")
    flat.length = 0
    for (let i = 0; i < lines.length; i += 2) {
      const name = lines[i]!
      const pseudo = message.pseudo[name]
      if (pseudo === undefined) flat.push(name, lines[i + 1]!)
      else pseudo(x, lines[i + 1]!)
    }
    if (length !== undefined) flat.push("content-length", length)
    return undefined
  }

/** A header that cannot be had is taken out, and a pseudo-header stays. */
const writing = (message: Message, does: "add" | "set", name: string, value: Expression): Change => {
  const pseudo = message.pseudo[name]
  if (pseudo !== undefined)
    return (x) => {
      const text = plainText(value.evaluate(x.variables))
      if (typeof text !== "string") return text
      return pseudo(x, text) ? undefined : nothingForIt
    }
  const write = does === "add" ? adding : setting
  return (x) => {
    const headers = message.headers(x)
    const text = headerText(value.evaluate(x.variables))
    if (typeof text === "string") {
      write(headers, name, text)
      return undefined
    }
    headers.delete(name)
    return text
  }
}

const adding = (headers: HeaderList, name: string, text: string): void => {
  headers.flat.push(name, text)
}
const setting = (headers: HeaderList, name: string, text: string): void => headers.set(name, text)

const nothingForIt: Unusable = { because: "no value that it may have" }

/** @param stale what is said of a body that is not there any more. @param weakens whether its tag is one of them. */
const rewriting =
  (message: Message, content: Expression, stale: ReadonlySet<string>, weakens: boolean): Change =>
  (x) => {
    let failed: Unusable | undefined
    message.setBody(x, () => {
      const value = content.evaluate(x.variables)
      const body = bodyOf(value)
      if (body === undefined) failed = { because: value instanceof CelError ? value.code : "limit" }
      return body === undefined || body.length === 0 ? undefined : body
    })
    const headers = message.headers(x)
    headers.deleteAll(stale)
    if (weakens) weakenTag(headers)
    return failed
  }
