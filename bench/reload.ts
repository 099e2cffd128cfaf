/**
 * What a reload of a large file costs those who are served meanwhile: how long the loop stands still at the longest, beside
 * the same load without a reload; then the time until the new file is in force, and memory.
 */
import { type Load, type ProxyProcess, startProxy } from "./processes.ts"
import { headgate, type Ports, quiet, type Scenario } from "./scenarios.ts"

const mebibyte = 1024 * 1024
const rate = 500
const connections = 32
/** Milliseconds of load at a time; the last one may end after the reload. */
const slice = 500
const patience = 120_000

export interface ReloadRound {
  /** Milliseconds that the loop stood still at the longest. */
  readonly pause: number
  /** Of that, what the thread itself worked: the machine may have been busy with something else. */
  readonly busy: number
  /** The same without a reload, for as long. */
  readonly quietPause: number
  /** Milliseconds from the writing of the file until a request was served by it. */
  readonly time: number
  /** Milliseconds, of requests that were due while the file was read. */
  readonly p99: number
  readonly quietP99: number
  readonly errors: number
}

export interface ReloadCost {
  readonly routes: number
  /** Bytes of the file. */
  readonly size: number
  readonly budget: number
  readonly rounds: ReadonlyArray<ReloadRound>
  /** Megabytes: with the first file in force, at the most, and after the last reload. */
  readonly rss: { readonly before: number; readonly peak: number; readonly after: number }
}

/** Names, hosts, conditions and policies, as in a file that grew over years; each route with a backend of its own. */
const route = (i: number, generation: number, { upstream }: Ports) => `- name: service-${i}
  hostnames: ["*.team${i % 100}.example"]
  matches:
  - path: {pathPrefix: /services/${i}}
    headers: [{name: x-version, value: {exact: "${generation}"}}]
  policies:
    requestHeaderModifier: {set: {x-service: service-${i}}}
    timeout: {requestTimeout: 30s}
  backends: [{host: "127.0.0.1:${upstream}"}]
`

const configuration = (routes: number, generation: number, ports: Ports) => `${quiet}
gateways: {default: {port: ${ports.proxy}}}
routes:
${Array.from({ length: routes - 2 }, (_, i) => route(i, generation, ports)).join("")}
- {name: load, matches: [{path: {exact: /load}}], backends: [{host: "127.0.0.1:${ports.upstream}"}]}
- name: generation
  matches: [{path: {exact: /generation/${generation}}}]
  policies: {directResponse: {status: 204}}
`

const served = async (port: number, generation: number): Promise<boolean> => {
  const answer = await fetch(`http://127.0.0.1:${port}/generation/${generation}`)
  await answer.body?.cancel()
  return answer.status === 204
}

const request = "GET /load HTTP/1.1\r\nhost: bench.example\r\n\r\n"

const p99 = (latencies: ReadonlyArray<number>): number =>
  latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)] ?? Number.NaN

/** Keeps up the load until something is over. */
const loadedUntil = async (load: Load, proxy: ProxyProcess, over: Promise<unknown>) => {
  let going = true
  const ended = over.finally(() => {
    going = false
  })
  const latencies: Array<number> = []
  let errors = 0
  await proxy.pauses()
  while (going) {
    const result = await load.run({ port: proxy.port, connections, duration: slice, requests: [request], rate })
    latencies.push(...result.latencies)
    errors += result.errors
  }
  await ended
  const { longest, busiest } = await proxy.pauses()
  return { pause: longest, busy: busiest, p99: p99(latencies), errors }
}

const wait = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

/** Reloads a file of that many routes again and again. */
export const measureReload = async (
  load: Load,
  upstream: number,
  routes: number,
  rounds: number
): Promise<ReloadCost> => {
  const text = (generation: number, port: number) => configuration(routes, generation, { proxy: port, upstream })
  const scenario: Scenario = {
    name: "reload",
    ...headgate((ports) => text(0, ports.proxy)),
    request: { method: "GET", path: "/load" }
  }
  const proxy = await startProxy(scenario, upstream)
  try {
    await load.run({ port: proxy.port, connections, duration: 2000, requests: [request], rate })
    const before = await proxy.usage()
    const measured: Array<ReloadRound> = []
    for (let generation = 1; generation <= rounds; generation++) {
      let time = 0
      const reloaded = async () => {
        const start = performance.now()
        await proxy.write("config.yaml", text(generation, proxy.port))
        while (!(await served(proxy.port, generation))) {
          if (performance.now() - start > patience) throw new Error("the file was not reloaded")
          await wait(20)
        }
        time = performance.now() - start
        // What was replaced is closed, and collected.
        await wait(1000)
      }
      const during = await loadedUntil(load, proxy, reloaded())
      const idle = await loadedUntil(load, proxy, wait(time + 1000))
      measured.push({
        pause: during.pause,
        busy: during.busy,
        quietPause: idle.pause,
        time,
        p99: during.p99,
        quietP99: idle.p99,
        errors: during.errors + idle.errors
      })
    }
    const after = await proxy.usage()
    return {
      routes,
      size: Buffer.byteLength(text(0, proxy.port)),
      budget: 20,
      rounds: measured,
      rss: { before: before.rss / mebibyte, peak: after.peak / mebibyte, after: after.rss / mebibyte }
    }
  } finally {
    await proxy.stop()
  }
}
