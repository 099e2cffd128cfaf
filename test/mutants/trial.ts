/** Whether any test notices a mutant: the tests that reach it are run over it, the likeliest first, until one fails. */
import { dirname, matchesGlob } from "node:path"
import { alone } from "../../vitest.config.ts"
import type { Mutant } from "./mutations.ts"
import type { Ended, Tree } from "./tree.ts"

/** What the tests do when no mutant is awake. */
export interface Baseline {
  /** The test files that reach each mutant. */
  readonly reached: ReadonlyMap<number, ReadonlySet<string>>
  /** How long each file takes, in milliseconds. */
  readonly durations: ReadonlyMap<string, number>
  /** Files that judge the text of the sources, or fail by themselves: they judge no mutant. */
  readonly failing: ReadonlySet<string>
  /** What a single test may take, in milliseconds. */
  readonly testMillis: number
}

export interface Verdict {
  readonly fate: "failed test" | "out of time" | "types" | "survived" | "not reached"
  /** The test that failed first, and what it said. */
  readonly by: string
  readonly message: string
  /** The test files that were run, and those for which there was no time. */
  readonly tests: ReadonlyArray<string>
  readonly untried: ReadonlyArray<string>
}

export const isKilled = ({ fate }: Pick<Verdict, "fate">): boolean => fate !== "survived" && fate !== "not reached"

const hasOwnProcess = (file: string): boolean => alone.some((pattern) => matchesGlob(file, pattern))

/** Tests beside the code know it best, then cases and laws; of all others the fastest come first. */
const orderOf = (mutant: Mutant, { durations }: Baseline) => {
  const weight = (file: string): number => {
    const beside = [dirname(file), dirname(dirname(file))].includes(dirname(mutant.file))
    const known = beside || /(^|\/)(cases|laws)\.test\.ts$/.test(file)
    return (durations.get(file) ?? 0) * (known ? 0.1 : 1)
  }
  return (one: string, other: string) => weight(one) - weight(other)
}

/** @param patience for how many milliseconds of tests, as they take by themselves. */
export const tryMutant = async (
  tree: Tree,
  id: number,
  mutant: Mutant,
  baseline: Baseline,
  patience: number
): Promise<Verdict> => {
  const { reached, durations, failing, testMillis } = baseline
  const tests: Array<string> = []
  const untried: Array<string> = []
  let sum = 0
  for (const file of [...(reached.get(id) ?? [])]
    .filter((file) => !failing.has(file))
    .toSorted(orderOf(mutant, baseline))) {
    const millis = durations.get(file) ?? 0
    if (tests.length > 0 && sum + millis > patience) untried.push(file)
    else {
      tests.push(file)
      sum += millis
    }
  }
  const verdict = (fate: Verdict["fate"], failure?: Ended["failures"][number]): Verdict => ({
    fate,
    by: failure === undefined ? "" : `${failure.file} ${failure.test}`.trim(),
    message: failure?.message.slice(0, 400) ?? "",
    tests,
    untried
  })
  for (const isolate of [false, true]) {
    const files = tests.filter((file) => hasOwnProcess(file) === isolate)
    if (files.length === 0) continue
    // What takes longer than this hangs, even on a busy machine.
    const limit = 60_000 + 3 * sum
    const { kind, failures } = await tree.run({ awake: id, files, bail: true, isolate, millis: testMillis, limit })
    if (kind === "out of time") return verdict("out of time")
    if (kind === "failed") return verdict("failed test", failures[0])
  }
  if (await tree.refusedByTypes(mutant)) return verdict("types")
  return verdict(tests.length + untried.length > 0 ? "survived" : "not reached")
}
