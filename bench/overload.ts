/**
 * Whether the proxy stays of use when five times as much is asked of it as it can do: a route with a policy that burns 2 ms of
 * processor time, vegeta at a fixed rate that waits for nobody, the proxy on one core and vegeta on the other.
 *
 * `node bench/overload.ts [--seconds 60] [--times 5] [--check]`; with `--check` a broken goal is a failure.
 */
import { type ChildProcess, fork } from "node:child_process"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { installVegeta, type Shot, shoot } from "./vegeta.ts"

const { values: given } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    times: { type: "string", default: "5" },
    check: { type: "boolean", default: false }
  }
})
const seconds = Number(given.seconds)
const times = Number(given.times)
const pinned = process.platform === "linux" && availableParallelism() > 1
const onCore = (core: number): ReadonlyArray<string> => (pinned ? ["taskset", "--cpu-list", String(core)] : [])

const proxy = (): ChildProcess => {
  const [command, ...before] = [...onCore(0), process.execPath]
  return fork(join(import.meta.dirname, "overload-proxy.ts"), [], {
    execPath: command!,
    execArgv: before,
    env: { ...process.env, HEADGATE_LOG: "off" },
    stdio: ["ignore", "ignore", "ignore", "ipc"]
  })
}

/** Of those that were sent in a part of the time. */
const summary = (shots: ReadonlyArray<Shot>, from: number, to: number) => {
  const part = shots.filter(({ sent }) => sent >= from && sent < to)
  const good = part.filter(({ status }) => status === 200)
  const took = good.map(({ latency }) => latency).sort((a, b) => a - b)
  return {
    sent: part.length,
    good: good.length,
    turnedAway: part.filter(({ status }) => status === 503).length,
    lost: part.filter(({ status }) => status !== 200 && status !== 503).length,
    perSecond: (1000 * good.length) / (to - from),
    p50: took[Math.floor(took.length / 2)] ?? Number.NaN,
    p99: took[Math.floor(took.length * 0.99)] ?? Number.NaN
  }
}
const begin = (shots: ReadonlyArray<Shot>) =>
  shots.reduce((least, { sent }) => Math.min(least, sent), Number.POSITIVE_INFINITY)

console.log(await installVegeta())
const child = proxy()
const port = await new Promise<number>((resolve, reject) => {
  child.once("message", (message: { readonly port: number }) => resolve(message.port))
  child.once("exit", () => reject(new Error("the proxy did not start")))
})
const request = { method: "GET", path: "/" }
const at = (rate: number, duration: number, connections: number, workers?: number) =>
  shoot({ port, request, rate, connections, duration: duration * 1000 }, workers, onCore(1))
try {
  await at(100, 2, 4)
  // As many as it can do: a few clients, each of which asks again when it has its answer.
  const closed = await at(0, 8, 4, 4)
  const peak = summary(closed, begin(closed), begin(closed) + 8000)
  const quiet = await at(Math.round(peak.perSecond / 2), 5, 64)
  const normal = summary(quiet, begin(quiet), begin(quiet) + 5000)
  const flood = await at(Math.round(peak.perSecond * times), seconds, 1000, 4000)
  const over = summary(flood, begin(flood), begin(flood) + seconds * 1000)
  const calm = await at(Math.round(peak.perSecond / 2), 8, 64)
  const ended = begin(flood) + seconds * 1000
  const later = summary(calm, Math.max(begin(calm), ended + 2000), begin(calm) + 8000)

  const ms = (value: number) => `${value.toFixed(0)} ms`
  console.log(`peak                 ${peak.perSecond.toFixed(0)} answers a second`)
  console.log(`half of it           p50 ${ms(normal.p50)}, p99 ${ms(normal.p99)}`)
  const goals: ReadonlyArray<readonly [what: string, value: string, kept: boolean]> = [
    [
      "goodput",
      `${((100 * over.perSecond) / peak.perSecond).toFixed(0)} % of the peak (at least 80 %)`,
      over.perSecond >= 0.8 * peak.perSecond
    ],
    ["p99 of the admitted", `${ms(over.p99)} (at most 250 ms), p50 ${ms(over.p50)}`, over.p99 <= 250],
    ["turned away", `${over.turnedAway} of ${over.sent}, without an answer ${over.lost}`, over.lost < 0.01 * over.sent],
    [
      "2 s later",
      `p99 ${ms(later.p99)}, turned away ${later.turnedAway + later.lost} of ${later.sent}`,
      later.turnedAway + later.lost === 0 && later.p99 <= Math.max(50, 3 * normal.p99)
    ]
  ]
  for (const [what, value, kept] of goals) console.log(`${what.padEnd(20)} ${value}${kept ? "" : "  BROKEN"}`)
  if (given.check && goals.some(([, , kept]) => !kept)) process.exitCode = 1
} finally {
  child.disconnect()
}
