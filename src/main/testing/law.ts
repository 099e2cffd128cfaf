/** What a law is: a sentence, and a check over generated cases, which any test runner can run. One whose cases do not bite is broken, too. */
import { Arbitrary, Data, Effect, Result, type Schema } from "effect"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { Registry } from "../../pipeline/registry.ts"
import type { AnySlot } from "../../pipeline/stage.ts"
import type { Case, Subject } from "./case.ts"
import type { Played } from "./play.ts"

/** A law does not hold: for which case, and how. */
export class LawBroken extends Data.TaggedError("LawBroken")<{ readonly law: string; readonly detail: string }> {
  override get message() {
    return `${this.law}: ${this.detail}`
  }
}

export interface Law {
  /** A sentence that states what holds. */
  readonly name: string
  readonly check: Effect.Effect<void, LawBroken>
}

/** What is wrong with a case, and whether the case had anything to say about the law. */
export interface Finding {
  readonly problems: ReadonlyArray<string>
  readonly bit: boolean
}

type Examine = (one: Case) => Effect.Effect<Finding, unknown>

/** The same cases each time: a law that holds by luck is none. */
const seed = 1

/** A law over the cases of a subject. */
export const law = (name: string, subject: Pick<Subject, "cases">, runs: number, examine: Examine): Law => {
  const broken = (detail: string) => new LawBroken({ law: name, detail })
  const check = Effect.gen(function* () {
    let bites = 0
    const result = yield* Arbitrary.checkEffect(
      subject.cases,
      (one) =>
        Effect.gen(function* () {
          const found = yield* Effect.result(examine(one))
          // A configuration that does not compile says nothing here; how many do is a law of its own.
          if (Result.isFailure(found)) return true
          if (found.success.bit) bites++
          if (found.success.problems.length > 0) return yield* Effect.fail(found.success.problems.join("\n"))
          return true
        }),
      { runs, seed }
    )
    const failure = Arbitrary.formatCheckFailure(result)
    if (failure !== undefined) return yield* broken(failure)
    if (bites === 0) return yield* broken("no generated case has anything to say about it")
  })
  return { name, check }
}

export const show = (value: unknown) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v))

/** What a client and the backend get to see. */
export const seen = ({ status, headers, body, failure, error, received }: Played) => ({
  status,
  headers,
  body,
  failure,
  error,
  received
})

/** Everything of an exchange that a node may change, but bodies, which have a law of their own. */
export const imprint = (x: Exchange, slots: ReadonlyArray<AnySlot>): string =>
  show([
    x.request.method,
    x.request.scheme,
    x.request.authority,
    x.request.pathAndQuery,
    x.request.headers.flat,
    x.answerHeaders.flat,
    x.response?.status,
    x.response?.headers.flat,
    x.facts === undefined ? [] : [...x.facts],
    slots.map((slot) => x.get(slot) !== undefined)
  ]) ?? ""

/** What configurations of a policy of the registry are written in. */
export const schemaOf = (registry: Pick<Registry, "byName">, name: string): Schema.Codec<unknown, unknown> =>
  registry.byName.get(name)!.schema
