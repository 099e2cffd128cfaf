/** What the management servers offer: the admin interface serves these paths, its index and the reference page list them. */

import { problemFormats } from "../../../spec/config/problem.ts"
import { endpointFields } from "../../../spec/live-endpoints.ts"

interface Endpoint {
  readonly method: "GET" | "POST"
  /** What it answers, or does. */
  readonly about: string
  /** The parameters of the query, with their meaning. */
  readonly parameters?: Readonly<Record<string, string>>
}

export const adminEndpoints = {
  "/config_dump": {
    method: "GET",
    about:
      "The configuration in force, as JSON in its normalised form, and under `endpoints` what `/endpoints` answers; secrets are masked."
  },
  "/endpoints": {
    method: "GET",
    about:
      "How each endpoint does of the services, `ai` backends and models that requests may reach: its health and score, what is under way, and until when it is left alone. JSON, [below](#endpoints)."
  },
  "/config_problems": {
    method: "GET",
    about: "What is wrong with the file as it was read last, and what is doubtful about it.",
    parameters: { format: `one of ${problemFormats.map((format) => `\`${format}\``).join(", ")}; \`json\` by default` }
  },
  "/config.schema.json": { method: "GET", about: "The JSON Schema of the file, for editors." },
  "/trace-event.schema.json": { method: "GET", about: "The JSON Schema of an event of a trace." },
  "/debug/graph": {
    method: "GET",
    about: "The graph of every route, as JSON.",
    parameters: { format: "`mermaid` draws it" }
  },
  "/debug/trace": {
    method: "POST",
    about: "The events of the next request, as server-sent events; ends with the request.",
    parameters: {
      expression: "CEL: the first request for which it is true is watched, instead of the next one",
      follow:
        "goes on with request after request, whose events are numbered; its value is the most events per second, 1 to 100000, 1000 by default"
    }
  },
  "/logging": {
    method: "POST",
    about: "The log level; without parameters it is only told.",
    parameters: {
      level: "a level, or `target=level` with commas between several",
      reset: "goes back to the level of the start first"
    }
  },
  "/memory": { method: "GET", about: "The memory of the process, as JSON." },
  "/quitquitquit": { method: "POST", about: "Ends the process as SIGTERM does: what is under way is answered first." }
} as const satisfies Readonly<Record<`/${string}`, Endpoint>>

export type AdminPath = keyof typeof adminEndpoints

export const adminList: ReadonlyArray<readonly [path: string, endpoint: Endpoint]> = Object.entries(adminEndpoints)

const cell = (text: string) => text.replaceAll("|", "\\|")

const rows = (endpoints: typeof adminList) =>
  endpoints
    .map(([path, { method, about, parameters = {} }]) => {
      const query = Object.entries(parameters).map(([name, meaning]) => `\`?${name}=\`: ${meaning}`)
      return `| \`${method} ${path}\` | ${cell(about)} | ${cell(query.join("; "))} |`
    })
    .join("\n")

const table = (endpoints: typeof adminList) => `| Endpoint | What it answers, or does | Query |
|---|---|---|
${rows(endpoints)}
`

const metrics = { method: "GET", about: "The [metrics](metrics.md) in the Prometheus text format." } as const

export const endpointsPage = (): string => `# Management endpoints

Three servers beside those of the gateways; each is turned off with \`off\`, in \`config\` or by an [environment variable](environment.md).
None has authentication: bind them where only those who may can reach them.

## Admin interface

\`config.adminAddr\`, by default \`localhost:15000\`. Bound to loopback, it answers only to a \`host\` header that names a loopback address;
requests that change something are refused (403) to a page of another origin, and all requests that come through a \`dynamic\` backend. GET endpoints answer HEAD as well, and \`/\` lists them all.

${table(adminList)}
### Endpoints

\`/endpoints\` is a list of backends (\`type\`, \`name\`, \`namespace\`, and \`port\` of a service), each with its \`endpoints\`. \`headgatectl
proxy config endpoints\` shows it as a table. It starts from nothing with the process, and outlives a reload as long as the endpoint is there.

| Field | What it tells |
|---|---|
${endpointFields.map(([name, description]) => `| \`${name}\` | ${cell(description)} |`).join("\n")}

## Stats

\`config.statsAddr\`, by default port 15020 of every address.

${table([
  ["/metrics", metrics],
  ["/stats/prometheus", metrics]
])}
## Readiness

\`config.readinessAddr\`, by default port 15021 of every address.

${table([
  [
    "/healthz/ready",
    {
      method: "GET",
      about:
        "200 `ready` once everything listens; before, 500 with what is pending; 503 from the beginning of a shutdown on, before a port refuses. Other methods are told so (405)."
    }
  ]
])}`
