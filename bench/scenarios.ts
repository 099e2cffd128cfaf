/** What is measured: how each proxy is started, which request it gets, and what it may cost in units of the base. */
import { join } from "node:path"

/** Where a proxy is to listen, and where its backend is. */
export interface Ports {
  readonly proxy: number
  readonly upstream: number
}

export interface Scenario {
  readonly name: string
  /** The program, started with the probe preloaded; it has to listen on `ports.proxy` of 127.0.0.1. */
  readonly proxy: (ports: Ports, folder: string) => { readonly command: string; readonly args: ReadonlyArray<string> }
  /** Files that it reads, by name in a folder of its own. */
  readonly files?: (ports: Ports) => Readonly<Record<string, string>>
  readonly request: Request
  /** The most that it may cost, in units of the base (design, 4.7). */
  readonly budget?: number
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const here = import.meta.dirname

const node = (file: string) => (ports: Ports) => ({
  command: process.execPath,
  args: [join(here, file), String(ports.proxy), String(ports.upstream)]
})

/** The proxy itself on a configuration; `config` yields the text of the file. */
export const headgate = (config: (ports: Ports) => string): Pick<Scenario, "proxy" | "files"> => ({
  proxy: (_, folder) => ({
    command: process.execPath,
    args: [join(here, "../src/main/headgate.ts"), "-f", join(folder, "config.yaml")]
  }),
  files: (ports) => ({ "config.yaml": config(ports) })
})

const get: Request = { method: "GET", path: "/anything?some=query", headers: { accept: "application/json" } }
const post: Request = {
  method: "POST",
  path: "/anything",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ filler: "x".repeat(500) })
}

/** A scenario is measured against the base with the same request. */
export const base = (request: Request): Scenario => ({ name: "base", proxy: node("base.ts"), request })

/** Management servers off: another row, or a proxy of the developer, may use their ports. */
const quiet = "config: {adminAddr: off, statsAddr: off, readinessAddr: off, logging: {level: request=warn}}"

const route = (ports: Ports, policies: string) => `${quiet}
gateways: {default: {port: ${ports.proxy}}}
routes:
- policies: ${policies}
  backends: [{host: "127.0.0.1:${ports.upstream}"}]
`

/** As many routes as asked for, of which the request takes the last. */
const manyRoutes = (ports: Ports, count: number) => `${quiet}
gateways: {default: {port: ${ports.proxy}}}
backends: [{name: origin, host: "127.0.0.1:${ports.upstream}"}]
routes:
${Array.from({ length: count - 1 }, (_, i) => `- {matches: [{path: {pathPrefix: /route/${i}}}], backends: [{backend: /origin}]}`).join("\n")}
- {matches: [{path: {pathPrefix: /anything}}], backends: [{backend: /origin}]}
`

export const scenarios: ReadonlyArray<Scenario> = [
  { name: "no policies", ...headgate((ports) => route(ports, "{}")), request: get, budget: 1.1 },
  { name: "no policies, POST 500 bytes", ...headgate((ports) => route(ports, "{}")), request: post, budget: 1.1 },
  { name: "10 routes", ...headgate((ports) => manyRoutes(ports, 10)), request: get },
  { name: "10,000 routes", ...headgate((ports) => manyRoutes(ports, 10_000)), request: get },
  { name: "edge, GET", proxy: node("edge.ts"), request: get, budget: 1.1 },
  { name: "edge, POST 500 bytes", proxy: node("edge.ts"), request: post, budget: 1.1 }
]
