/** Smuggling: pipelines of requests of every kind, cut into packets anywhere. Their law is that of `test/http/pipelines.test.ts`. */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { kinds, type Pipeline, pipelineProxy } from "../http/pipelines.ts"
import { attack } from "./attack.ts"

interface Sequence extends Pipeline {
  readonly title: string
}

const sequence = (names: ReadonlyArray<string>, drawnCuts: ReadonlyArray<number>): Sequence => {
  const cuts = [...new Set(drawnCuts)].sort((one, other) => one - other)
  return {
    title: `${names.join(" + ")}${cuts.length === 0 ? "" : `, cut at ${cuts}`}`,
    requests: names.map((name) => kinds.find((kind) => kind.name === name)!),
    cuts
  }
}

export const pipelines = attack<Sequence>({
  class: "smuggling",
  name: "pipelines",
  proves: "each request gets its own answer or the connection closes, and nothing is answered that was not asked",
  cases: kinds.map(({ name }) => sequence([name], [])),
  generated: {
    cases: Arbitrary.map(
      Arbitrary.all({
        names: Arbitrary.array(Arbitrary.schema(Schema.Literals(kinds.map(({ name }) => name))), {
          minLength: 2,
          maxLength: 5
        }),
        cuts: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600 }))), {
          maxLength: 6
        })
      }),
      ({ names, cuts }) => sequence(names, cuts)
    ),
    few: 100,
    many: 100_000
  },
  open: Effect.map(
    pipelineProxy,
    (send) => (one) =>
      Effect.flatMap(
        Effect.promise(() => send(one)),
        (fault) => (fault === undefined ? Effect.void : Effect.fail(new Error(fault)))
      )
  )
})
