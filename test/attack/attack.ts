/**
 * The form that every attack on the gateway takes: a suite of cases as data, what they are tried on, and how one finds out
 * whether it held. One form, so that `npm test` runs all of them briefly, `npm run attack` for long, and both count them.
 *
 * To add a suite: write its cases as data in a file of this folder, `attack({ … })` with a `trial` that fails, in whatever
 * way, when the gateway gave way, and add it to the list in `suites.ts`. `open` starts what is attacked, once for all cases,
 * in a scope of its own. A trial leaves what it attacks as it found it, or opens its own. Cases that follow a pattern are
 * drawn from an `Arbitrary`: `few` of them in `npm test`, `many` in `npm run attack`.
 */
import { type Arbitrary, Cause, Effect, Exit, type Scope } from "effect"
import { sampleEffect } from "effect/Arbitrary"

/** The classes of attacks that the gateway is held against. */
export const attackClasses = [
  "smuggling",
  "header and path spelling",
  "request forgery by the server",
  "rebinding and cross-site calls",
  "tokens",
  "key-set exhaustion",
  "event streams",
  "decompression",
  "slow and flooding clients",
  "regular expressions and expression cost",
  "sessions and ids",
  "configuration as code",
  "secrets",
  "fail-open",
  "budgets",
  "prototypes, duplicates, big numbers"
] as const
export type AttackClass = (typeof attackClasses)[number]

export interface AttackCase {
  /** What is tried, in words. */
  readonly title: string
}

/** Fails, dies or runs into its time limit when the gateway gave way. */
export type Trial<Case> = (one: Case) => Effect.Effect<unknown, unknown, Scope.Scope>

export interface AttackParts<Case extends AttackCase> {
  readonly class: AttackClass
  readonly name: string
  /** What holds when no case fails, in one sentence. */
  readonly proves: string
  readonly cases: ReadonlyArray<Case>
  /** Cases without end: how many of them are tried in every test run, and how many when somebody attacks for long. */
  readonly generated?:
    | { readonly cases: Arbitrary.Arbitrary<Case>; readonly few: number; readonly many: number }
    | undefined
  /** Starts what is attacked, and yields how one case is tried on it. */
  readonly open: Effect.Effect<Trial<Case>, unknown, Scope.Scope>
  /** Milliseconds that one trial may take. Default 20 seconds. */
  readonly patience?: number | undefined
  /** How many are tried at once, where they do not disturb each other. Default 1. */
  readonly together?: number | undefined
}

/** A case that the gateway did not withstand. */
export interface Breach {
  readonly title: string
  readonly reason: string
}

export interface AttackReport {
  readonly cases: number
  readonly generated: number
  readonly breaches: ReadonlyArray<Breach>
  readonly seconds: number
}

/** A suite whose kind of case nobody else needs to know. */
export interface Suite {
  readonly class: AttackClass
  readonly name: string
  readonly proves: string
  readonly titles: ReadonlyArray<string>
  readonly few: number
  readonly many: number
  /** Tries every case, then as many generated ones. The same seed draws the same ones. */
  readonly run: (count: number, seed: number) => Effect.Effect<AttackReport>
}

export const attack = <Case extends AttackCase>(parts: AttackParts<Case>): Suite => {
  const { cases, generated, open, patience = 20_000, together = 1 } = parts
  return {
    class: parts.class,
    name: parts.name,
    proves: parts.proves,
    titles: cases.map(({ title }) => title),
    few: generated?.few ?? 0,
    many: generated?.many ?? 0,
    run: (count, seed) =>
      Effect.gen(function* () {
        const begun = performance.now()
        const trial = yield* open
        const drawn = generated === undefined ? [] : yield* sampleEffect(generated.cases, { count, seed })
        const breaches: Array<Breach> = []
        const tried = (one: Case) =>
          Effect.suspend(() => trial(one)).pipe(
            Effect.timeoutOrElse({
              duration: patience,
              orElse: () => Effect.fail(new Error(`not over within ${patience} ms`))
            }),
            Effect.scoped,
            Effect.exit,
            Effect.map((exit) => {
              if (Exit.isFailure(exit)) breaches.push({ title: one.title, reason: messageOf(Cause.squash(exit.cause)) })
            })
          )
        yield* Effect.forEach([...cases, ...drawn], tried, { concurrency: together, discard: true })
        return { cases: cases.length, generated: drawn.length, breaches, seconds: (performance.now() - begun) / 1000 }
      }).pipe(Effect.scoped, Effect.orDie)
  }
}

const messageOf = (failure: unknown) => (failure instanceof Error ? failure.message : JSON.stringify(failure))
