/** Expressions against the two libraries: the rules of real policies in one alternating run, as ratios to the fastest of the others. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { celEnv, parse, plan } from "@bufbuild/cel"
import { strings } from "@bufbuild/cel/ext"
import { Environment } from "@marcbachmann/cel-js"
import * as Result from "effect/Result"
import { type Bindings, compile } from "../src/cel/expression.ts"

const claims = {
  iss: "https://issuer.example",
  sub: "alice",
  realm_access: { roles: ["viewer", "ops-eu", "admin"] },
  team: "blue"
}
const headers = { authorization: "Bearer x", "user-agent": "curl/8", accept: "*/*", "x-tenant": "acme" }

/** What each engine reads: the same facts in the form that costs it least, made outside of the measurement. */
const ours: Bindings = {
  request: { method: "GET", path: "/mcp/weather", headers: Object.entries(headers).flat() },
  jwt: { rest: claims },
  llm: { requestModel: "gpt-5" },
  mcp: { tool: { name: "get_weather", target: "weather" } }
}
const theirs = {
  request: { method: "GET", path: "/mcp/weather", headers },
  jwt: claims,
  llm: { requestModel: "gpt-5" },
  mcp: { tool: { name: "get_weather", target: "weather" } }
}

interface Rule {
  readonly name: string
  readonly source: string
  readonly regex: boolean
}

const rules: ReadonlyArray<Rule> = [
  { name: "membership", source: `'admin' in jwt.realm_access.roles && request.path.startsWith("/mcp")`, regex: false },
  {
    name: "conjunction",
    source: `jwt.sub == "alice" && mcp.tool.name in ["get_weather","list_cities"] && mcp.tool.target != "admin"`,
    regex: false
  },
  {
    name: "macro",
    source: `jwt.realm_access.roles.exists(r, r == "admin" || r.startsWith("ops-")) && has(jwt.team)`,
    regex: false
  },
  { name: "concatenation", source: `jwt.sub + ":" + llm.requestModel`, regex: false },
  {
    name: "headers",
    source: `has(request.headers.authorization) || request.headers["x-tenant"] == "acme" && !(request.method in ["DELETE","PATCH"])`,
    regex: false
  },
  { name: "regex", source: `request.path.matches("^/mcp/[a-z]+$")`, regex: true },
  { name: "missing key", source: `jwt.nope == "x"`, regex: false }
]

type Evaluate = () => unknown

const evaluators = (source: string): Readonly<Record<"headgate" | "marcbachmann" | "bufbuild", Evaluate>> => {
  const compiled = Result.getOrThrow(compile(source, { phase: "log" }))
  const lenient = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true
  }).parse(source)
  const planned = plan(celEnv({ funcs: strings }), parse(source))
  return {
    headgate: () => compiled.evaluate(ours),
    marcbachmann: () => {
      try {
        return lenient(theirs)
      } catch (error) {
        return error
      }
    },
    bufbuild: () => planned(theirs as never)
  }
}

/** Nanoseconds of one call, the best of many short runs: the noise of a shared machine only ever adds. */
const measure = (evaluate: Evaluate, calls: number): number => {
  const start = process.hrtime.bigint()
  for (let i = 0; i < calls; i++) sink = evaluate()
  return Number(process.hrtime.bigint() - start) / calls
}
let sink: unknown

const best = (evaluators: Readonly<Record<string, Evaluate>>): Record<string, number> => {
  const times: Record<string, number> = {}
  for (let round = 0; round < 12; round++)
    for (const [name, evaluate] of Object.entries(evaluators)) {
      const time = measure(evaluate, name === "bufbuild" ? 4_000 : 20_000)
      if (round > 1) times[name] = Math.min(times[name] ?? Number.POSITIVE_INFINITY, time)
    }
  return times
}

const round = (value: number) => Math.round(value * 100) / 100

const main = () => {
  const results = rules.map(({ name, source, regex }) => {
    const times = best(evaluators(source))
    const fastest = Math.min(times["marcbachmann"]!, times["bufbuild"]!)
    const ratio = times["headgate"]! / fastest
    return {
      name,
      regex,
      ...Object.fromEntries(Object.entries(times).map(([engine, time]) => [engine, Math.round(time)])),
      ratio: round(ratio),
      allowed: regex ? 2.5 : 1
    }
  })
  console.table(results)
  mkdirSync(join(import.meta.dirname, "results"), { recursive: true })
  writeFileSync(join(import.meta.dirname, "results", "cel.json"), `${JSON.stringify({ results }, undefined, 2)}\n`)
}

main()

export { sink }
