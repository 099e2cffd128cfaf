/**
 * transformations: headers and bodies that are computed by expressions, and values for later ones. A body is read only where an
 * expression looks at it, and otherwise passes as it comes.
 */
import { Effect, Result } from "effect"
import {
  type AnswerFailure,
  answerPreparation,
  type ContentFailure,
  type Expression,
  type Node,
  next,
  policy,
  preparation,
  slots,
  slotsReadBy
} from "../../src/policy/policy.ts"
import { type Compiled, compileChanges } from "./changes.ts"
import { request as ofRequest, response as ofResponse, type Seen } from "./message.ts"
import { type Changes, Transformations } from "./schema.ts"

const { metadata, authorityRewritten } = slots
type Reads = (typeof slots.expressionSlots)[number]
type Writes = typeof metadata | typeof authorityRewritten

const nothing: Compiled = { apply: () => {}, expressions: [], changes: 0 }

export const transformations = policy({
  name: "transformations",
  traceKey: "transformation",
  schema: Transformations,
  sites: ["gateway", "route", "backend"],
  responds: ["response"],
  reads: slots.expressionSlots,
  writes: [metadata, authorityRewritten],
  outcomes: ["next", "fail"],
  maturity: { status: "stable", untrusted: "client+backend" },
  compile: ({ request, response }, { site }) =>
    Effect.gen(function* () {
      const compiled = yield* Effect.result(compileEach(request, response, site))
      if (Result.isFailure(compiled)) return yield* Effect.fail(compiled.failure)
      const [onRequest, onResponse] = compiled.success
      const nodes: Array<Node<Reads, Writes, ContentFailure | AnswerFailure>> = []
      // The body of the request is gone when the answer comes, unless it was kept.
      const before = preparation([...onRequest.expressions, ...onResponse.expressions.filter(readsRequestBody)])
      if (onRequest.changes > 0 || before !== undefined)
        nodes.push({
          name: "transformations",
          phase: "request",
          outcomes: before === undefined ? ["next"] : ["next", "fail"],
          reads: slotsReadBy(onRequest.expressions),
          writes: writesOf(request),
          run: (x) => {
            if (before !== undefined) return Effect.flatMapEager(before(x), () => applied(onRequest, x))
            return applied(onRequest, x)
          }
        })
      if (onResponse.changes > 0) {
        const prepare = answerPreparation(onResponse.expressions)
        nodes.push({
          name: "transformations.response",
          phase: "response",
          outcomes: prepare === undefined ? ["next"] : ["next", "fail"],
          reads: slotsReadBy(onResponse.expressions),
          writes: response?.metadata === undefined ? [] : [metadata],
          run: (x) => {
            // Whoever has left HTTP sends what nobody here can read.
            if (prepare === undefined || x.response?.switched !== undefined) return applied(onResponse, x)
            return Effect.flatMapEager(prepare(x), () => applied(onResponse, x))
          }
        })
      }
      return nodes
    })
})

const applied = ({ apply }: Compiled, x: Seen): typeof next => {
  apply(x)
  return next
}

const readsRequestBody = ({ attributes }: Expression): boolean => attributes.requestBody || attributes.requestBodyPrefix

/** Both, with the problems of both. */
const compileEach = (
  request: Changes | undefined,
  response: Changes | undefined,
  site: Parameters<typeof compileChanges>[2]
) =>
  Effect.gen(function* () {
    const one = yield* Effect.result(request ? compileChanges(request, ofRequest, site, ["request"]) : none)
    const other = yield* Effect.result(response ? compileChanges(response, ofResponse, "response", ["response"]) : none)
    if (Result.isSuccess(one) && Result.isSuccess(other)) return [one.success, other.success] as const
    return yield* Effect.fail([one, other].flatMap((each) => (Result.isFailure(each) ? each.failure : [])))
  })

const none = Effect.succeed(nothing)

/** The names by which the authority is written. */
const authorities = new Set([":authority", "host"])

const writesOf = ({ metadata: values = {}, add = {}, set = {}, replace }: Changes = {}): ReadonlyArray<Writes> => {
  const names = Object.keys({ ...add, ...set })
  const rewrites = replace !== undefined || names.some((name) => authorities.has(name.toLowerCase()))
  return [...(Object.keys(values).length > 0 ? [metadata] : []), ...(rewrites ? [authorityRewritten] : [])]
}
