/** Expressions in the configuration of a policy: compiled with it, and evaluated once what they read is in memory. */

import { Context, Effect, Result } from "effect"
import type { Bindings } from "../cel/bindings.ts"
import { type CustomFunctions, noFunctions } from "../cel/custom-functions.ts"
import { CelError, type CelValue, compile, type Expression, isUnreadable, type Phase } from "../cel/expression.ts"
import { undecodable } from "../http/content-coding.ts"
import {
  type AnswerFailure,
  type ContentFailure,
  type Readable,
  type ReadableAnswer,
  readAnswerContent,
  readAnswerPrefix,
  readContent,
  readContentPrefix
} from "./content.ts"
import { BodyTooLarge, type Unreadable, unreadable } from "./errors.ts"
import { type FailedReading, failedReadings } from "./fail-closed.ts"
import { expressionSlots } from "./slots.ts"
import type { AnySlot, ConfigPath, ConfigProblem } from "./stage.ts"

/** The functions of the configuration, which every expression in it may call. */
export const ConfiguredFunctions = Context.Reference<CustomFunctions>("headgate/pipeline/ConfiguredFunctions", {
  defaultValue: () => noFunctions
})

/**
 * Which of the slots that are variables, too, may be read by the expressions of whoever is being compiled, and which they do read.
 * What nobody can have left before would be missing in every request.
 */
export interface SlotReading {
  /** As configuration files name it. */
  readonly by: string
  readonly declared: ReadonlyArray<AnySlot>
  /** Of those, what nobody can have written yet in the phase of the site. */
  readonly early?: ReadonlySet<AnySlot> | undefined
  readonly found: Set<AnySlot>
}

/**
 * Compiles what may hold expressions.
 * @returns with what it compiled to, the slots that it reads: those of expressions only where one reads them.
 */
export const readingSlots = <A, E, R>(
  by: string,
  reads: ReadonlyArray<AnySlot>,
  writes: ReadonlyArray<AnySlot>,
  compiling: Effect.Effect<A, E, R>,
  early?: ReadonlySet<AnySlot>
): Effect.Effect<readonly [compiled: A, reads: ReadonlyArray<AnySlot>], E, R> => {
  const reading: SlotReading = { by, declared: [...reads, ...writes], early, found: new Set() }
  return Effect.map(Effect.provideService(compiling, SlotReading, reading), (compiled) => {
    const found = reads.filter((slot) => reading.found.has(slot) || !isVariable(slot))
    return [compiled, found.length === reads.length ? reads : found]
  })
}

/** Whether expressions know it as a variable. */
export const isVariable = (slot: AnySlot): boolean => expressionSlots.some((each) => each === slot)

/** Without it, expressions may read everything. */
export const SlotReading = Context.Reference<SlotReading | undefined>("headgate/pipeline/SlotReading", {
  defaultValue: () => undefined
})

/** What may not be readable where the body is prepared for an expression. */
export const contentReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    ["a body over the limit, as it is without its content codings", new BodyTooLarge({ side: "request", limit: 0 })],
    ["a body in a content coding that is not known, or in more than four", unreadable.coding],
    ["a body that is not of its content coding", undecodable("client")],
    ["a body whose content type names a charset other than UTF-8", unreadable.charset]
  )

/** What an expression that decides may fail to read once everything is in memory. */
export const expressionReadings = (by: string): ReadonlyArray<FailedReading> =>
  failedReadings(
    by,
    [
      "a text that is not what the expression reads it as: JSON, UTF-8, base64, a number, an address, a time",
      unreadable.value
    ],
    ["JSON with two members of one name", unreadable.value],
    ["a number that is too large, or a division by zero", unreadable.value],
    ["JSON with more than 250 levels, and more work over a body than one evaluation may do", unreadable.size],
    ["more work without a body than one evaluation may do", unreadable.work]
  )

/** Compiles an expression; what is wrong with it is reported at `path`, with the place inside the expression. */
export const compileExpression = (
  source: string,
  phase: Phase,
  path: ConfigPath
): Effect.Effect<Expression, ReadonlyArray<ConfigProblem>> =>
  Effect.flatMap(Effect.all([ConfiguredFunctions, SlotReading]), ([functions, reading]) => {
    const compiled = compile(source, { phase, functions })
    if (Result.isSuccess(compiled)) {
      const early = reading === undefined ? [] : readEarly(compiled.success, reading, phase)
      return early.length === 0
        ? Effect.succeed(compiled.success)
        : Effect.fail(early.map((problem) => ({ path, ...problem })))
    }
    return Effect.fail(
      compiled.failure.map(({ message, line, column, start }) => ({
        path,
        message: `invalid expression: ${message} (at ${line}:${column})`,
        within: { text: source, offset: start }
      }))
    )
  })

/** Phases of expressions that come when all nodes of a request had their turn on its way in. */
const afterwards: ReadonlySet<Phase> = new Set<Phase>(["mcp", "llm", "response", "log"])

/** Notes the slots that an expression reads; those that it reads before anybody can have filled them are problems. */
export const readEarly = ({ source, attributes }: Expression, reading: SlotReading, phase: Phase) =>
  expressionSlots.flatMap((slot) => {
    const { name } = slot
    const { by, declared, early, found } = reading
    if (!attributes.roots.has(name)) return []
    found.add(slot)
    if (declared.includes(slot) && (afterwards.has(phase) || early?.has(slot) !== true)) return []
    const message = `invalid expression: ${name} is not known here, because ${by} runs before whoever could tell it`
    return [{ message, within: { text: source, offset: Math.max(source.search(new RegExp(`\\b${name}\\b`)), 0) } }]
  })

/**
 * The value of an expression that decides about a request. What it reads and cannot read is a refusal by its cause, whatever
 * the expression would have made of it; any other error counts as the place where it stands has it.
 */
export const decided = (expression: Expression, variables: Bindings): CelValue | CelError | Unreadable => {
  const value = expression.decide(variables)
  return value instanceof CelError && isUnreadable(value) ? refusalOf(expression, value.code) : value
}

/** The refusal for what an expression could not read. */
export const refusalOf = ({ attributes }: Expression, code: string): Unreadable => {
  if (code !== "limit") return unreadable.value
  return attributes.requestBody || attributes.requestBodyPrefix ? unreadable.size : unreadable.work
}

/** Brings into memory what an expression reads. */
export type Preparation = (exchange: Readable) => Effect.Effect<unknown, ContentFailure>

/** The variables among the slots that expressions read. */
export const slotsReadBy = (expressions: ReadonlyArray<Expression>): ReadonlyArray<(typeof expressionSlots)[number]> =>
  expressionSlots.filter(({ name }) => expressions.some(({ attributes }) => attributes.roots.has(name)))

/**
 * What must be read before any of these expressions is evaluated; `undefined` when they read no body. A body that cannot be
 * read as text fails the reading, so that a rule over it fails too and does not merely not match.
 */
export const preparation = (expressions: ReadonlyArray<Expression>): Preparation | undefined => {
  if (expressions.some(({ attributes }) => attributes.requestBody)) return readContent
  if (expressions.some(({ attributes }) => attributes.requestBodyPrefix)) return readContentPrefix
  return undefined
}

/** Brings into memory what an expression reads of an answer. */
export type AnswerPreparation = (exchange: ReadableAnswer) => Effect.Effect<unknown, AnswerFailure>

/** The same for the body of the answer, where expressions look at that. */
export const answerPreparation = (expressions: ReadonlyArray<Expression>): AnswerPreparation | undefined => {
  if (expressions.some(({ attributes }) => attributes.responseBody)) return readAnswerContent
  if (expressions.some(({ attributes }) => attributes.responseBodyPrefix)) return readAnswerPrefix
  return undefined
}
