/**
 * `npm run attack`: every suite of attacks with many generated cases, and a report. `npm run attack -- smuggling
 * --count 1000 --seed 7` runs the suites of one class or name, with so many generated cases, drawn from that seed.
 */
import { parseArgs } from "node:util"
import { Effect } from "effect"
import type { AttackClass } from "./attack.ts"
import { suites } from "./suites.ts"

const { values, positionals } = parseArgs({
  options: { count: { type: "string" }, seed: { type: "string" } },
  allowPositionals: true
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const wanted = suites.filter(
  (suite) => positionals.length === 0 || positionals.includes(suite.class) || positionals.includes(suite.name)
)
if (wanted.length === 0) {
  console.error(`no such class or suite; there are: ${suites.map(({ name }) => name).join(", ")}`)
  process.exit(2)
}

let failed = 0
/** How many cases of each class held. */
const held = new Map<AttackClass, number>()
/** What nobody caught would have ended the gateway: it is a breach of whichever suite is running. */
const uncaught: Array<unknown> = []
process.on("uncaughtException", (error) => uncaught.push(error))
process.on("unhandledRejection", (error) => uncaught.push(error))

// A gateway that cannot be closed any more leaves nothing to wait for: the process would end here and there, with 0.
process.exitCode = 1
let running: string | undefined
process.on("exit", () => {
  if (running !== undefined) console.log(`  FAILED ${running} did not come to its end`)
})

console.log(`seed ${seed}`)
console.log(["class", "suite", "cases", "generated", "failures", "seconds"].join("\t"))
for (const suite of wanted) {
  running = suite.name
  const count = suite.many === 0 ? 0 : Number(values.count ?? suite.many)
  const { cases, generated, breaches, seconds } = await Effect.runPromise(suite.run(count, seed))
  const failures = breaches.length + uncaught.length
  failed += failures
  held.set(suite.class, (held.get(suite.class) ?? 0) + cases + generated - breaches.length)
  console.log([suite.class, suite.name, cases, generated, failures, seconds.toFixed(1)].join("\t"))
  for (const { title, reason } of breaches) console.log(`  FAILED ${title}: ${reason}`)
  for (const error of uncaught.splice(0)) console.log("  UNCAUGHT", error)
}
running = undefined
for (const [kind, passed] of held) console.log(`${kind}: ${passed} passed`)
const passed = [...held.values()].reduce((sum, each) => sum + each, 0)
console.log(`${held.size} classes, ${wanted.length} suites: ${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
