/** A whole Headgate in the test's own process: configuration text in; port, access log and metrics out. */

import { Exit, Layer, ManagedRuntime, Scope } from "effect"
import * as ConsoleLog from "../../../layers/log/console.ts"
import * as Prometheus from "../../../layers/metrics/prometheus.ts"
import { standard } from "../../../src/main/configuration/distribution.ts"
import { defaultPortOptions, ports } from "../../../src/main/configuration/ports.ts"
import { type ConfigurationSource, fromText } from "../../../src/main/configuration/source.ts"
import { run } from "../../../src/main/proxy/run.ts"
import { freePort } from "../../free-ports.ts"

export interface Headgate {
  readonly port: number
  /** Its address without a path. */
  readonly url: string
  /** The lines of the access log, parsed. */
  readonly requests: ReadonlyArray<Readonly<Record<string, unknown>>>
  /** The other log lines. */
  readonly messages: ReadonlyArray<string>
  /** The next line of the access log that holds; requests are logged when their answer is over. */
  readonly logged: (holds: (line: Readonly<Record<string, unknown>>) => boolean) => Promise<Record<string, unknown>>
  /** Sum of the samples of a family (without prefix) whose labels include these. */
  readonly metric: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number>
  readonly scrape: () => Promise<string>
  readonly stop: () => Promise<void>
}

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** Waits until something is there. */
export const eventually = async <A>(look: () => A | undefined | Promise<A | undefined>, what: string): Promise<A> => {
  for (const start = performance.now(); performance.now() - start < 20_000; ) {
    const found = await look()
    if (found !== undefined) return found
    await sleep(15)
  }
  throw new Error(`waited in vain for ${what}`)
}

/** Starts on a free port, which the configuration is told. */
export const startHeadgate = async (
  configuration: (port: number) => string | ConfigurationSource
): Promise<Headgate> => {
  const port = await freePort()
  const requests: Array<Record<string, unknown>> = []
  const messages: Array<string> = []
  const log = ConsoleLog.layer({
    filter: "info",
    format: "json",
    write: (text) => {
      for (const line of text.split("\n").filter((line) => line !== "")) {
        const parsed = JSON.parse(line) as Record<string, unknown>
        if (parsed["scope"] === "request") requests.push(parsed)
        else messages.push(line)
      }
    },
    now: () => Date.now()
  })
  const runtime = ManagedRuntime.make(
    Layer.provideMerge(ports(defaultPortOptions), Layer.mergeAll(log, Prometheus.layer()))
  )
  const scope = await runtime.runPromise(Scope.make())
  const given = configuration(port)
  const running = await runtime.runPromise(
    Scope.provide(
      run({
        distribution: standard,
        source: typeof given === "string" ? fromText(given) : given,
        env: { ADMIN_ADDR: "off", READINESS_ADDR: "off", STATS_ADDR: "127.0.0.1:0" },
        host: "127.0.0.1"
      }),
      scope
    )
  )
  const scrape = async () => (await fetch(`http://127.0.0.1:${running.statsPort}/metrics`)).text()
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests,
    messages,
    logged: (holds) => eventually(() => requests.find(holds), "a line of the access log"),
    metric: async (name, labels = {}) => {
      let sum = 0
      for (const line of (await scrape()).split("\n")) {
        const sample = /^headgate_(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)
        if (sample?.[1] !== name) continue
        if (Object.entries(labels).every(([key, value]) => sample[2]?.includes(`${key}="${value}"`) === true))
          sum += Number(sample[3])
      }
      return sum
    },
    scrape,
    stop: async () => {
      await runtime.runPromise(Scope.close(scope, Exit.void))
      await runtime.dispose()
    }
  }
}
