/** Collects what keeps a configuration from being compiled, so that all of it is told in one go. */
import { Effect } from "effect"
import type { ConfigProblem } from "../pipeline/stage.ts"

/** What compiling needs is known where the registry is; inside it is whatever the policies ask for. */
// biome-ignore lint/suspicious/noExplicitAny: the registry's own type says which services these are.
export type Compiling<A> = Effect.Effect<A, ReadonlyArray<ConfigProblem>, any>

export class Problems {
  readonly #found = new Map<string, ConfigProblem>()

  get list(): ReadonlyArray<ConfigProblem> {
    return [...this.#found.values()]
  }

  /** What several routes share is compiled for each of them, and told once. */
  add(problem: ConfigProblem): void {
    const key = JSON.stringify([problem.path, problem.message])
    if (!this.#found.has(key)) this.#found.set(key, problem)
  }

  /** Runs a compilation; its problems are collected, and `undefined` stands for its result. */
  collect<A, R>(effect: Effect.Effect<A, ReadonlyArray<ConfigProblem>, R>): Effect.Effect<A | undefined, never, R> {
    return Effect.catch(effect, (problems) =>
      Effect.sync(() => {
        for (const problem of problems) this.add(problem)
        return undefined
      })
    )
  }
}
