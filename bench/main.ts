/**
 * Measures what a request costs: CPU time of the proxy process per request, as a ratio to the base, in alternating
 * bursts; then latency at a fixed rate, start-up time and memory. Last, how long the loop stands still while a large file
 * is reloaded. Prints tables and writes `bench/results/<time>.json`.
 *
 * `node bench/main.ts [--rounds 15] [--burst 1000] [--reloads 5] [--only <part of a name>] [--log file|null] [--check]`;
 * with `--check` a broken budget is a failure. The access log is written into a file unless it is `--log null`: then none is made.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { cpus } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { accessLog, type Load, type ProxyProcess, startLoad, startOrigin, startProxy } from "./processes.ts"
import { measureReload, type ReloadCost } from "./reload.ts"
import { base, bytesOf, type Scenario, scenarios } from "./scenarios.ts"
import { quantile, type Spread, spread } from "./spread.ts"

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    burst: { type: "string", default: "1000" },
    rate: { type: "string", default: "2000" },
    reloads: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    log: { type: "string", default: "file" },
    check: { type: "boolean", default: false }
  }
})
const rounds = Number(given.rounds)
const burst = Number(given.burst)
const rate = Number(given.rate)
const log = accessLog(given.log)
const connections = 32
const mebibyte = 1024 * 1024
const reloadOfMany = "reload of 10,000 routes"

interface Row {
  readonly name: string
  readonly budget: number | undefined
  /** CPU time per request as a ratio to the base: the median of the rounds, and the quartles around it. */
  readonly ratio: Spread
  /** Microseconds of CPU time per request. */
  readonly micros: number
  readonly baseMicros: number
  readonly requests: number
  readonly errors: number
  /** Milliseconds at the fixed rate, from when a request was due. */
  readonly latency: { readonly p50: number; readonly p99: number }
  readonly baseLatency: { readonly p50: number; readonly p99: number }
  /** Milliseconds until the process accepts. */
  readonly startup: number
  readonly baseStartup: number
  /** Megabytes after the load. */
  readonly rss: number
  readonly baseRss: number
}

/** One burst: CPU microseconds per request. */
const cost = async (load: Load, proxy: ProxyProcess, requests: ReadonlyArray<string>, duration: number) => {
  const before = await proxy.usage()
  const done = await load.run({ port: proxy.port, connections, duration, requests, rate: undefined })
  // What is in flight when a burst ends belongs to it: a session would meet its own open request in the next one.
  await setTimeout(20)
  const after = await proxy.usage()
  const micros = (after.cpu - before.cpu) / Math.max(1, done.requests)
  return { micros, requests: done.requests, errors: done.errors, rss: after.rss }
}

/** Latencies at the fixed rate, in slices that take turns. */
const latency = async (load: Load, proxies: ReadonlyArray<ProxyProcess>, requests: ReadonlyArray<string>) => {
  const all = proxies.map((): Array<number> => [])
  for (let slice = 0; slice < 4; slice++)
    for (const [i, { port }] of proxies.entries())
      all[i]!.push(...(await load.run({ port, connections, duration: burst, requests, rate })).latencies)
  return all.map((values) => {
    const sorted = values.toSorted((a, b) => a - b)
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
  })
}

const measure = async (load: Load, scenario: Scenario, upstream: number): Promise<Row> => {
  const reference = await startProxy(base(scenario.request), upstream)
  const proxy = await startProxy(scenario, upstream, log)
  try {
    const texts = ((await scenario.begin?.(proxy.port, connections)) ?? [scenario.request]).map(bytesOf)
    // What the compiler has not yet seen is not what is measured.
    for (const one of [reference, proxy]) await cost(load, one, texts, 2 * burst)
    const ratios: Array<number> = []
    const micros: Array<number> = []
    const baseMicros: Array<number> = []
    let requests = 0
    let errors = 0
    let rss = 0
    let baseRss = 0
    for (let round = 0; round < rounds; round++) {
      // Who goes first changes, so that a drift of the machine favours nobody.
      const order = round % 2 === 0 ? [reference, proxy] : [proxy, reference]
      const costs = new Map<ProxyProcess, Awaited<ReturnType<typeof cost>>>()
      for (const one of order) costs.set(one, await cost(load, one, texts, burst))
      const [ours, theirs] = [costs.get(proxy)!, costs.get(reference)!]
      ratios.push(ours.micros / theirs.micros)
      micros.push(ours.micros)
      baseMicros.push(theirs.micros)
      requests += ours.requests
      errors += ours.errors
      rss = ours.rss
      baseRss = theirs.rss
    }
    const [atRate, baseAtRate] = await latency(load, [proxy, reference], texts)
    return {
      name: scenario.name,
      budget: scenario.budget,
      ratio: spread(ratios),
      micros: spread(micros).median,
      baseMicros: spread(baseMicros).median,
      requests,
      errors,
      latency: atRate!,
      baseLatency: baseAtRate!,
      startup: proxy.startup,
      baseStartup: reference.startup,
      rss: rss / mebibyte,
      baseRss: baseRss / mebibyte
    }
  } finally {
    await Promise.all([reference.stop(), proxy.stop()])
  }
}

const cell = (value: number, digits: number): string => value.toFixed(digits)

const origin = await startOrigin()
const load = startLoad()
const rows: Array<Row> = []
let reload: ReloadCost | undefined
try {
  for (const scenario of scenarios) {
    if (!scenario.name.includes(given.only)) continue
    console.error(`measuring ${scenario.name} …`)
    const own = scenario.answer === undefined ? undefined : await startOrigin(scenario.answer)
    rows.push(await measure(load, scenario, (own ?? origin).port))
    await own?.stop()
  }
  if (reloadOfMany.includes(given.only)) {
    console.error(`measuring ${reloadOfMany} …`)
    reload = await measureReload(load, origin.port, 10_000, Number(given.reloads))
  }
} finally {
  await Promise.all([origin.stop(), load.stop()])
}

const table = rows.map((row) => ({
  scenario: row.name,
  "× base": cell(row.ratio.median, 2),
  quartiles: `${cell(row.ratio.low, 2)}–${cell(row.ratio.high, 2)}`,
  budget: row.budget ?? "",
  µs: cell(row.micros, 1),
  "base µs": cell(row.baseMicros, 1),
  errors: row.errors,
  "p50 ms": cell(row.latency.p50, 2),
  "p99 ms": cell(row.latency.p99, 2),
  "base p50": cell(row.baseLatency.p50, 2),
  "base p99": cell(row.baseLatency.p99, 2),
  "start ms": cell(row.startup, 0),
  "base start": cell(row.baseStartup, 0),
  "rss MB": cell(row.rss, 0),
  "base rss": cell(row.baseRss, 0)
}))
if (table.length > 0) console.table(table)

// The budget is for the pause by the clock. What the thread itself worked tells how much of it other programs made.
const longestPause = spread(reload?.rounds.map(({ pause }) => pause) ?? [])
const busiest = spread(reload?.rounds.map(({ busy }) => busy) ?? [])
if (reload !== undefined) {
  const quietPause = spread(reload.rounds.map(({ quietPause }) => quietPause))
  const time = spread(reload.rounds.map(({ time }) => time))
  const range = ({ median, low, high }: Spread, digits: number) =>
    `${cell(median, digits)} (${cell(low, digits)}–${cell(high, digits)})`
  console.table([
    {
      [reloadOfMany]: `${cell(reload.size / mebibyte, 1)} MB of text`,
      "longest pause ms": range(longestPause, 1),
      "busy ms": range(busiest, 1),
      budget: reload.budget,
      "without reload ms": range(quietPause, 1),
      "time ms": range(time, 0),
      "p99 ms": range(spread(reload.rounds.map(({ p99 }) => p99)), 1),
      errors: reload.rounds.reduce((sum, { errors }) => sum + errors, 0),
      "rss MB": cell(reload.rss.before, 0),
      "peak MB": cell(reload.rss.peak, 0),
      "after MB": cell(reload.rss.after, 0)
    }
  ])
}

const folder = join(import.meta.dirname, "results")
await mkdir(folder, { recursive: true })
const time = new Date().toISOString()
const file = join(folder, `${time.replaceAll(":", "-")}.json`)
await writeFile(
  file,
  `${JSON.stringify({ time, node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, origin: origin.name, log, rounds, burst, rate, connections, rows, reload }, null, 2)}\n`
)
console.log(`written to ${file}`)

const broken = rows.flatMap(({ name, ratio, budget, errors }) => [
  ...(errors > 0 ? [`${name}: ${errors} requests failed`] : []),
  ...(budget !== undefined && ratio.median > budget ? [`${name}: ${cell(ratio.median, 2)}, over ${budget}`] : [])
])
if (reload !== undefined && longestPause.median > reload.budget)
  broken.push(`${reloadOfMany}: the loop stood still for ${cell(longestPause.median, 1)} ms, over ${reload.budget}`)
for (const what of broken) console.log(what)
if (given.check && broken.length > 0) process.exitCode = 1
