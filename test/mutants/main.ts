/**
 * `npm run mutants`: changes the program in small ways, one at a time, and tells which changes no test notices. A seeded
 * sample of each folder, of the policies that decide, and the mutants of `written.yaml`.
 *
 * `node test/mutants/main.ts [--seed 1] [--share 1] [--lanes 1] [--report <file>] [--again <report>]`: `--share 0.1` draws a
 * tenth of the sample, `--lanes` is how many run at a time, `--again` tries only what survived in an earlier report.
 *
 * A mutant is killed when a test fails, when tests do not end, or when types refuse it, as the test run checks them, too. Of
 * the tests only those are run that reach the mutant, the fastest first, until one fails. Fails below 95 % killed, when a
 * written mutant survives, and when a survivor of `survivors.yaml` does not survive.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import type { Mutant } from "./mutations.ts"
import { draw, type Group, isSame, root, survivors, unfounded } from "./sample.ts"
import { Tree } from "./tree.ts"

const { values: given } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    share: { type: "string", default: "1" },
    lanes: { type: "string", default: "1" },
    report: { type: "string" },
    again: { type: "string" }
  }
})
const goal = 0.95
/** What the tests of one mutant may take together, in milliseconds, where nothing hangs. */
const patience = 240_000

type Fate = "failed test" | "out of time" | "types" | "survived" | "not reached"

/** What became of a mutant. */
interface Tried extends Omit<Mutant, "begins"> {
  readonly group: string
  readonly fate: Fate
  /** The test that failed first. */
  readonly by: string
  readonly message: string
  readonly tests: ReadonlyArray<string>
  readonly reason: string | undefined
}

interface Report {
  readonly seed: number
  readonly durations: Readonly<Record<string, number>>
  readonly tried: ReadonlyArray<Tried>
}

const began = performance.now()
const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`

const baseless = unfounded()
for (const { file, code } of baseless)
  console.error(`test/mutants/survivors.yaml: no mutant of ${file} changes this: ${code}`)
if (baseless.length > 0) process.exit(2)

const earlier = given.again === undefined ? undefined : (JSON.parse(readFileSync(given.again, "utf8")) as Report)
const survived = ({ fate }: Tried): boolean => fate === "survived" || fate === "not reached"
const isWanted = (mutant: Mutant): boolean =>
  earlier === undefined || earlier.tried.some((tried) => survived(tried) && isSame(tried, mutant))

const groups = draw(Number(given.seed), Number(given.share)).map(
  ({ name, mutants }): Group => ({ name, mutants: mutants.filter(isWanted) })
)
const mutants = new Map(groups.flatMap((group) => group.mutants).entries())
const groupOf = (mutant: Mutant): string => groups.find((group) => group.mutants.includes(mutant))!.name
console.log(`seed ${given.seed}: ${groups.map((group) => `${group.mutants.length} ${group.name}`).join(", ")}`)

// A signal must leave nothing behind either.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1))

const lanes = Array.from({ length: Number(given.lanes) }, () => new Tree(mutants))
const [first] = lanes
if (first === undefined) throw new Error("at least one lane is needed")
if (await first.refusedByTypes()) throw new Error("types refuse the tree as it is: run npm run check")

const all = globSync("{bench,layers,spec,src,stages,test}/**/*.test.ts", { cwd: root, exclude: ["**/node_modules"] })
const hour = 3_600_000
const asleep = await first.run({ awake: -1, files: all.toSorted(), bail: false, testMillis: 120_000, millis: hour })
if (asleep.kind === "out of time") throw new Error("the tests do not end")
/** Test files that judge the text of the sources, or fail by themselves: they judge no mutant. */
const failing = new Set(asleep.failures.map(({ file }) => file))
const { reached, durations } = first.recorded()
console.log(`${all.length} test files in ${seconds()}, and without a mutant these fail: ${[...failing].join(", ")}`)
for (const { file, test, message } of asleep.failures) console.log(`  ${file} ${test}: ${message.split("\n")[0]}`)

const testMillis = Math.max(30_000, 4 * asleep.slowest)
const millisSame = (file: string): number => durations.get(file) ?? 0

const tryMutant = async (tree: Tree, id: number, mutant: Mutant): Promise<Tried> => {
  const { begins: _, ...told } = mutant
  const found = (fate: Fate, tests: ReadonlyArray<string>, by = "", message = ""): Tried => ({
    ...told,
    group: groupOf(mutant),
    fate,
    by,
    message,
    tests,
    reason: survivors().find((survivor) => isSame(survivor, mutant))?.reason
  })
  const tests = [...(reached.get(id) ?? [])]
    .filter((file) => !failing.has(file))
    .toSorted((one, other) => millisSame(one) - millisSame(other))
  if (tests.length > 0) {
    const expected = tests.reduce((sum, file) => sum + millisSame(file), 0)
    const millis = 30_000 + Math.min(3 * expected, patience)
    const { kind, failures } = await tree.run({ awake: id, files: tests, bail: true, testMillis, millis })
    const [failure] = failures
    if (kind === "out of time" && 3 * expected <= patience) return found("out of time", tests)
    if (failure !== undefined && kind === "failed")
      return found("failed test", tests, `${failure.file} ${failure.test}`.trim(), failure.message.slice(0, 400))
  }
  if (await tree.refusedByTypes(mutant)) return found("types", tests)
  return found(tests.length > 0 ? "survived" : "not reached", tests)
}

const tried: Array<Tried> = []
const queue = [...mutants]
const lane = async (tree: Tree): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const one = await tryMutant(tree, ...next)
    tried.push(one)
    const where = `${one.file}:${one.line}`
    console.log(
      `${tried.length}/${mutants.size} ${seconds()} ${one.fate}${one.by === "" ? "" : ` (${one.by})`}: ${where} ${one.operator}: ${short(one.code)} → ${short(one.becomes) || "nothing"}`
    )
    if (given.report !== undefined) {
      const report: Report = { seed: Number(given.seed), durations: Object.fromEntries(durations), tried }
      writeFileSync(given.report, JSON.stringify(report, undefined, 1))
    }
  }
}
const short = (code: string): string => {
  const line = code.replaceAll(/\s+/g, " ")
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
await Promise.all(lanes.map(lane))
for (const tree of lanes) tree[Symbol.dispose]()

const isKilled = (one: Tried): boolean => !survived(one)
const rate = (list: ReadonlyArray<Tried>): string => {
  const killed = list.filter(isKilled).length
  return `${killed} of ${list.length} killed, ${((100 * killed) / Math.max(1, list.length)).toFixed(1)} %`
}
console.log()
for (const { name } of groups) console.log(`${name}: ${rate(tried.filter(({ group }) => group === name))}`)
console.log(`all: ${rate(tried)}, in ${seconds()}`)
for (const fate of ["failed test", "out of time", "types"] as const)
  console.log(`  by ${fate}: ${tried.filter((one) => one.fate === fate).length}`)
console.log("survivors:")
for (const one of tried.filter(survived))
  console.log(
    `  ${one.file}:${one.line} ${one.operator}: ${short(one.code)} → ${short(one.becomes) || "nothing"}\n    ${one.reason ?? (one.fate === "not reached" ? "no test reaches it" : "no reason is given")}`
  )
const stale = survivors().filter((survivor) => {
  const own = tried.filter((one) => isSame(survivor, one))
  return own.length > 0 && own.every(isKilled)
})
for (const { file, code } of stale) console.log(`test/mutants/survivors.yaml: ${file} is killed: ${short(code)}`)
const again = tried.filter((one) => one.group === "as written" && survived(one))
const share = tried.filter(isKilled).length / Math.max(1, tried.length)
process.exit(share >= goal && stale.length === 0 && again.length === 0 ? 0 : 1)
