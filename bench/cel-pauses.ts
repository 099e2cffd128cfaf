/**
 * How long an expression can hold the event loop: the worst of the hostile corpus, on inputs of the size of the body limit, where 5 ms are
 * allowed, and on 10 MB. Processor time, corrected by how slow the machine is meanwhile.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { explain } from "../src/cel/expression.ts"
import { hostileBindings, hostileExpressions, hostileTexts, readsText } from "../src/cel/fixtures/hostile.ts"
import { allowed, pauseOf, slowness } from "../src/cel/fixtures/pause.ts"

const corpus = readFileSync(join(import.meta.dirname, "../src/cel/fixtures/hostile.yaml"), "utf8")
const expressions = Object.values(hostileExpressions(corpus)).flat()
const results = [2, 10].map((megabytes) => {
  const pauses: Array<readonly [millis: number, what: string]> = []
  for (const [name, text] of Object.entries(hostileTexts(megabytes * 2 ** 20))) {
    const bindings = hostileBindings(text)
    const slow = slowness()
    for (const expression of expressions.filter(readsText)) {
      const what = `${expression.source} on ${name}`
      pauses.push([pauseOf(() => expression.evaluate(bindings)) / slow, what])
      if (megabytes === 2) pauses.push([pauseOf(() => explain(expression, bindings)) / slow, `explain ${what}`])
    }
  }
  const slow = slowness()
  const bindings = hostileBindings("")
  for (const expression of expressions.filter((each) => !readsText(each)))
    pauses.push([pauseOf(() => expression.evaluate(bindings)) / slow, expression.source])
  pauses.sort(([a], [b]) => b - a)
  return {
    megabytes,
    evaluations: pauses.length,
    over: pauses.filter(([millis]) => millis > allowed).length,
    worst: pauses.slice(0, 5).map(([millis, what]) => ({ millis: Math.round(millis * 10) / 10, what }))
  }
})
for (const { megabytes, evaluations, over, worst } of results) {
  console.info(`inputs of ${megabytes} MiB: ${evaluations} evaluations, ${over} over 5 ms; the longest:`)
  console.table(worst)
}
mkdirSync(join(import.meta.dirname, "results"), { recursive: true })
writeFileSync(join(import.meta.dirname, "results", "cel-pauses.json"), `${JSON.stringify(results, undefined, 2)}\n`)
process.exitCode = results[0]?.over === 0 ? 0 : 1
