/** Laws of failure modes: what failing open forgives has changed nothing, and without a failure the two modes are the same. */
import { isDeepStrictEqual } from "node:util"
import { Effect, Schema } from "effect"
import type { Exchange } from "../../pipeline/exchange.ts"
import type { Registry } from "../../pipeline/registry.ts"
import type { Step } from "../../pipeline/run.ts"
import { siteNames } from "../../pipeline/site.ts"
import type { AnyPolicy, AnySlot } from "../../pipeline/stage.ts"
import type { Configuration } from "./arbitraries.ts"
import { type Case, playAll, type Subject } from "./case.ts"
import { imprint, type Law, law, schemaOf, seen, show } from "./law.ts"
import type { Played } from "./play.ts"

export const failingOpenChangesNothing = <L extends ReadonlyArray<AnyPolicy>>(
  subject: Subject<L>,
  runs: number
): Law => {
  const slots = subject.registry.policies.flatMap(({ reads, writes }): ReadonlyArray<AnySlot> => [...reads, ...writes])
  return law("a node whose failure is forgiven has changed nothing", subject, runs, (one) =>
    Effect.gen(function* () {
      const problems: Array<string> = []
      let bit = false
      const examined = (step: Step): Step => ({
        ...step,
        run: (view, passage) => {
          // The engine hands its exchange to every node; the view only says how much of it a node may touch.
          const x = view as Exchange
          const before = imprint(x, slots)
          const failed = Effect.sync(() => {
            bit = true
            const after = imprint(x, slots)
            if (after !== before) problems.push(`${step.node} failed, and changed\n  ${before}\nto\n  ${after}`)
          })
          return step.failOpen ? Effect.tapError(step.run(view, passage), () => failed) : step.run(view, passage)
        }
      })
      for (const failing of [false, true])
        yield* playAll(subject, openly(subject.registry, one), false, { failing, step: examined })
      return { problems, bit }
    })
  )
}

const modes = { failOpen: "failClosed", failClosed: "failOpen" } as const

/** The same form with another failure mode wherever one is written. */
const withMode = (form: unknown, mode: "failOpen" | "failClosed"): unknown => {
  if (form === modes[mode]) return mode
  if (Array.isArray(form)) return form.map((each) => withMode(each, mode))
  if (typeof form === "object" && form !== null && !(form instanceof Uint8Array))
    return Object.fromEntries(Object.entries(form).map(([key, value]) => [key, withMode(value, mode)]))
  return form
}

const inMode = (registry: Pick<Registry, "byName">, one: Case, mode: "failOpen" | "failClosed"): Case => {
  const changed = (name: string, { decoded }: Configuration): Configuration => {
    const schema = schemaOf(registry, name)
    const written = withMode(Schema.encodeUnknownSync(schema)(decoded), mode)
    return { written, decoded: Schema.decodeUnknownSync(schema)(written) }
  }
  return {
    ...one,
    attached: Object.fromEntries(
      siteNames.map((site) => [
        site,
        Object.fromEntries(
          Object.entries(one.attached[site] ?? {}).map(([name, config]) => [name, changed(name, config)])
        )
      ])
    )
  }
}

const openly = (registry: Pick<Registry, "byName">, one: Case) => inMode(registry, one, "failOpen")

export const healthHasOneAnswer = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("as long as nothing fails, failing open and failing closed are the same", subject, runs, (one) =>
    Effect.gen(function* () {
      const [open, closed] = yield* Effect.forEach(["failOpen", "failClosed"] as const, (mode) =>
        Effect.map(playAll(subject, inMode(subject.registry, one, mode), true), ({ played }) => played)
      )
      const healthy = (played: Played) => played.stages.every(({ error }) => error === undefined)
      const problems: Array<string> = []
      let bit = false
      for (const [i, answer] of open!.entries()) {
        // What fails once may count differently from then on.
        if (!healthy(answer) || !healthy(closed![i]!)) break
        bit = true
        if (!isDeepStrictEqual(seen(answer), seen(closed![i]!)))
          problems.push(`request ${i}: open ${show(seen(answer))}, closed ${show(seen(closed![i]!))}`)
      }
      return { problems, bit }
    })
  )

export const failingOpenNeverRefuses = <L extends ReadonlyArray<AnyPolicy>>(subject: Subject<L>, runs: number): Law =>
  law("with everything that it asks down, a policy that fails open refuses nothing", subject, runs, (one) =>
    Effect.map(playAll(subject, openly(subject.registry, one), true, { failing: true }), ({ played }) => {
      const stages = played.flatMap((answer) => answer.stages)
      const refused = stages.filter(({ outcome }) => outcome === "failed")
      return {
        problems: refused.map(({ step, error }) => `${step.node} refused: ${error?.message}`),
        bit: stages.some(({ outcome }) => outcome === "failedOpen")
      }
    })
  )
