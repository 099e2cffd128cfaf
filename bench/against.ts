/**
 * Compares this checkout with another one, row by row: CPU time per request of both proxies, in alternating bursts of one run.
 * One process differs from the next by some percents, since the compiler decides anew, so each row is measured with several
 * pairs of processes; the interval is that of their means (Student's t over the logarithms).
 *
 * `node bench/against.ts DIR [--pairs 6] [--rounds 6] [--burst 1000] [--only <part of a name>]
 * [--log file|null] [--most 1.03]`; the other checkout has its dependencies installed. The access log is written into a file unless
 * it is `--log null`: then none is made. A row whose interval ends above `--most` is told, and is a failure.
 */
import { join, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { accessLog, type Load, type ProxyProcess, startLoad, startOrigin, startProxy } from "./processes.ts"
import { bytesOf, type Scenario, scenarios } from "./scenarios.ts"

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: "string", default: "6" },
    rounds: { type: "string", default: "6" },
    burst: { type: "string", default: "1000" },
    only: { type: "string", default: "" },
    log: { type: "string", default: "file" },
    most: { type: "string", default: "1.03" }
  }
})
const other = resolve(positionals[0] ?? "")
const { scenarios: others }: { readonly scenarios: ReadonlyArray<Scenario> } = await import(
  join(other, "bench", "scenarios.ts")
)
const burst = Number(given.burst)
const log = accessLog(given.log)
const connections = 32

/** CPU microseconds per request of one burst. */
const cost = async (load: Load, proxy: ProxyProcess, requests: ReadonlyArray<string>, duration: number) => {
  const before = await proxy.usage()
  const done = await load.run({ port: proxy.port, connections, duration, requests, rate: undefined })
  await setTimeout(20)
  const after = await proxy.usage()
  if (done.errors > 0) throw new Error(`${done.errors} requests failed`)
  return (after.cpu - before.cpu) / Math.max(1, done.requests)
}

/** The mean of the logarithms of the ratios of one pair of processes. */
const pair = async (
  load: Load,
  ours: Scenario,
  theirs: Scenario,
  upstream: number,
  oursFirst: boolean
): Promise<number> => {
  // Who starts first may have the better place in the machine.
  const first = await startProxy(oursFirst ? ours : theirs, upstream, log)
  const second = await startProxy(oursFirst ? theirs : ours, upstream, log)
  const proxies = oursFirst ? ([first, second] as const) : ([second, first] as const)
  try {
    const texts: Array<ReadonlyArray<string>> = []
    for (const [i, scenario] of [ours, theirs].entries())
      texts.push(((await scenario.begin?.(proxies[i]!.port, connections)) ?? [scenario.request]).map(bytesOf))
    for (const i of [0, 1]) await cost(load, proxies[i]!, texts[i]!, 2 * burst)
    let sum = 0
    for (let round = 0; round < Number(given.rounds); round++) {
      const micros = [0, 0]
      for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) micros[i] = await cost(load, proxies[i]!, texts[i]!, burst)
      sum += Math.log(micros[0]! / micros[1]!)
    }
    return sum / Number(given.rounds)
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.stop()))
  }
}

/** Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1 on. */
const student = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14]

const origin = await startOrigin()
const load = startLoad()
let slower = false
try {
  for (const ours of scenarios) {
    const theirs = others.find(({ name }) => name === ours.name)
    if (theirs === undefined || !ours.name.includes(given.only)) continue
    const own = ours.answer === undefined ? undefined : await startOrigin(ours.answer)
    const logs: Array<number> = []
    for (let i = 0; i < Number(given.pairs); i++)
      logs.push(await pair(load, ours, theirs, (own ?? origin).port, i % 2 === 0))
    await own?.stop()
    const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length
    const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1)
    const half = (student[logs.length - 2] ?? 2) * Math.sqrt(variance / logs.length)
    const [low, high] = [Math.exp(mean - half), Math.exp(mean + half)]
    const over = high > Number(given.most)
    slower ||= over
    console.log(
      `${ours.name.padEnd(32)} ${Math.exp(mean).toFixed(3)}  (${low.toFixed(3)}–${high.toFixed(3)})${over ? `  ends above ${given.most}` : ""}`
    )
  }
} finally {
  await Promise.all([origin.stop(), load.stop()])
}
if (slower) process.exitCode = 1
