/**
 * `npm run mutants`: changes the program in small ways, one at a time, and tells which changes no test notices. A seeded
 * sample of each folder, of the policies that decide, and the mutants of `written.yaml`.
 *
 * `npm run mutants -- [--seed 1] [--share 1] [--lanes 1] [--patience 120] [--report <file>] [--again <report>] [<part>…]`:
 * `--share 0.1` draws a tenth of the sample, `--lanes` is how many are tried at a time, `--patience` for how many seconds of
 * tests each, and `--again` tries only what survived in an earlier report. With parts of names only those test files judge.
 *
 * A mutant is killed when a test fails, when tests do not end, or when types refuse it, which are a check like the tests. Fails
 * below 95 % killed, when a written mutant survives, and when a listed survivor does not.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import type { Mutant } from "./mutations.ts"
import { draw, type Group, isSame, root, survivors, unfounded } from "./sample.ts"
import { Tree } from "./tree.ts"
import { type Baseline, isKilled, tryMutant, type Verdict } from "./trial.ts"

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    share: { type: "string", default: "1" },
    lanes: { type: "string", default: "1" },
    patience: { type: "string", default: "120" },
    report: { type: "string" },
    again: { type: "string" }
  }
})
const goal = 0.95

/** What became of a mutant. */
interface Tried extends Omit<Mutant, "begins">, Verdict {
  readonly group: string
  /** Why it may survive, where that is listed. */
  readonly reason: string | undefined
}

interface Report {
  readonly seed: number
  readonly tried: ReadonlyArray<Tried>
}

const began = performance.now()
const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`
const short = (code: string): string => {
  const line = code.replaceAll(/\s+/g, " ")
  return line.length > 100 ? `${line.slice(0, 99)}…` : line || "nothing"
}
const told = ({ file, line, operator, code, becomes }: Omit<Mutant, "begins">): string =>
  `${file}:${line} ${operator}: ${short(code)} → ${short(becomes)}`

const baseless = unfounded()
for (const { file, code } of baseless)
  console.error(`test/mutants/survivors.yaml: no mutant of ${file} changes this: ${short(code)}`)
if (baseless.length > 0) process.exit(2)

const earlier = given.again === undefined ? undefined : (JSON.parse(readFileSync(given.again, "utf8")) as Report)
const isWanted = (mutant: Mutant): boolean =>
  earlier === undefined || earlier.tried.some((tried) => !isKilled(tried) && isSame(tried, mutant))
const groups = draw(Number(given.seed), Number(given.share)).map(
  ({ name, mutants }): Group => ({ name, mutants: mutants.filter(isWanted) })
)
const mutants = new Map(groups.flatMap((group) => group.mutants).entries())
console.log(`seed ${given.seed}: ${groups.map((group) => `${group.mutants.length} ${group.name}`).join(", ")}`)

// A signal must leave nothing behind either.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1))

const lanes = Array.from({ length: Math.max(1, Number(given.lanes)) }, () => new Tree(mutants))

const recorded = async (tree: Tree): Promise<Baseline> => {
  if (await tree.refusedByTypes()) throw new Error("types refuse the tree as it is: run npm run check")
  const files = globSync("{bench,layers,spec,src,stages,test}/**/*.test.ts", { cwd: root })
    .filter((file) => !file.includes("node_modules"))
    .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
    .toSorted()
  // One file after another and each by itself, or nobody would know which of them reached a mutant.
  const run = { awake: -1, files, bail: false, isolate: true, millis: 120_000, limit: 2 * 3_600_000 }
  const { kind, failures, slowest } = await tree.run(run)
  if (kind === "out of time") throw new Error("the tests do not end")
  console.log(`${files.length} test files in ${seconds()}, and these judge no mutant, since they fail without one:`)
  for (const { file, test, message } of failures) console.log(`  ${file} ${test}: ${message.split("\n")[0]}`)
  const failing = new Set(failures.map(({ file }) => file))
  return { ...tree.recorded(), failing, testMillis: Math.max(30_000, 4 * slowest) }
}
const baseline = await recorded(lanes[0]!)

const listed = survivors()
const tried: Array<Tried> = []
const queue = [...mutants]
const lane = async (tree: Tree): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [id, mutant] = next
    const { begins: _, ...shown } = mutant
    const verdict = await tryMutant(tree, id, mutant, baseline, Number(given.patience) * 1000)
    const group = groups.find(({ mutants }) => mutants.includes(mutant))!.name
    tried.push({ ...shown, ...verdict, group, reason: listed.find((one) => isSame(one, mutant))?.reason })
    const { fate, by } = verdict
    console.log(`${tried.length}/${mutants.size} ${seconds()} ${fate}${by === "" ? "" : ` (${by})`}: ${told(mutant)}`)
    const report: Report = { seed: Number(given.seed), tried }
    if (given.report !== undefined) writeFileSync(given.report, JSON.stringify(report, undefined, 1))
  }
}
await Promise.all(lanes.map(lane))
for (const tree of lanes) tree[Symbol.dispose]()

const rate = (list: ReadonlyArray<Tried>): string => {
  const killed = list.filter(isKilled).length
  return `${killed} of ${list.length} killed, ${((100 * killed) / Math.max(1, list.length)).toFixed(1)} %`
}
console.log()
for (const { name } of groups) console.log(`${name}: ${rate(tried.filter(({ group }) => group === name))}`)
console.log(`all: ${rate(tried)}, in ${seconds()}`)
for (const fate of ["failed test", "out of time", "types"] as const)
  console.log(`  by ${fate}: ${tried.filter((one) => one.fate === fate).length}`)
const survived = tried.filter((one) => !isKilled(one))
if (survived.length > 0) console.log("survivors:")
for (const one of survived)
  console.log(
    `  ${told(one)}\n    ${one.reason ?? (one.fate === "not reached" ? "no test reaches it" : `no reason is listed; ${one.tests.length} test files passed, ${one.untried.length} were not tried`)}`
  )
const stale = listed.filter((survivor) => {
  const own = tried.filter((one) => isSame(survivor, one))
  return own.length > 0 && own.every(isKilled)
})
for (const { file, code } of stale)
  console.log(`test/mutants/survivors.yaml: ${file}: a test notices this: ${short(code)}`)
const again = survived.some(({ group }) => group === "as written")
const share = (tried.length - survived.length) / Math.max(1, tried.length)
process.exit(share >= goal && stale.length === 0 && !again ? 0 : 1)
