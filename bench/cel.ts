/** Expressions against the two libraries: the rules of real policies in one alternating run, as ratios to the fastest of the others. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
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

/** Kept, so that no call can be optimised away. */
let last: unknown

/** Nanoseconds of one call, in time of the processor: waiting for a busy machine does not count. */
const measure = (evaluate: Evaluate, calls: number): number => {
  const before = process.threadCpuUsage()
  for (let i = 0; i < calls; i++) last = evaluate()
  const { user, system } = process.threadCpuUsage(before)
  return ((user + system) * 1_000) / calls
}

/** Enough for some tens of milliseconds: the clock of the processor is coarse. */
const calls: Readonly<Record<string, number>> = { headgate: 300_000, marcbachmann: 80_000, bufbuild: 12_000 }

/** Rounds that count; the first two only warm up. */
const rounds = 10

/** Short runs that take turns: of every engine the time of each round. */
const race = (evaluators: Readonly<Record<string, Evaluate>>): ReadonlyArray<Readonly<Record<string, number>>> => {
  const times: Array<Readonly<Record<string, number>>> = []
  for (let round = -2; round < rounds; round++) {
    const entries = Object.entries(evaluators).map(
      ([name, evaluate]) => [name, measure(evaluate, calls[name]!)] as const
    )
    if (round >= 0) times.push(Object.fromEntries(entries))
  }
  assert(last !== undefined)
  return times
}

const others = ["marcbachmann", "bufbuild"]
const ratioOf = (times: Readonly<Record<string, number>>) =>
  times["headgate"]! / Math.min(...others.map((name) => times[name]!))

const round = (value: number) => Math.round(value * 100) / 100

/**
 * What it costs to have an engine at all, in a process of its own: processor time and memory of the import, and of 500 compiled rules. The
 * sources here are TypeScript: their import includes taking the types away, which a release does not do.
 */
const loads = {
  headgate: `const { compile } = await import("./src/cel/expression.ts"); const make = (s) => compile(s, { phase: "log" })`,
  marcbachmann: `const { Environment } = await import("@marcbachmann/cel-js"); const e = new Environment({ unlistedVariablesAreDyn: true }); const make = (s) => e.parse(s)`,
  bufbuild: `const { celEnv, parse, plan } = await import("@bufbuild/cel"); const e = celEnv(); const make = (s) => plan(e, parse(s))`
}

interface Load {
  readonly importMs: number
  readonly importMb: number
  readonly compileUs: number
  readonly ruleKb: number
}

const load = (code: string): Load => {
  const source = rules[2]!.source
  const script = `
    const heap = () => { gc(); return process.memoryUsage().heapUsed }
    const now = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000 }
    const before = heap(); const start = now()
    ${code}
    const importMs = now() - start; const importMb = (heap() - before) / 2 ** 20
    const kept = Array.from({ length: 500 }, () => make(${JSON.stringify(source)}))
    const held = heap(); const from = now(); const more = Array.from({ length: 500 }, () => make(${JSON.stringify(source)}))
    const compileUs = (now() - from) * 2
    console.log(JSON.stringify({ importMs, importMb, compileUs, ruleKb: (heap() - held) / 500 / 1024, rules: kept.length + more.length }))`
  const runs = Array.from({ length: 3 }, () => {
    const { stdout } = spawnSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", script], {
      cwd: join(import.meta.dirname, ".."),
      encoding: "utf8"
    })
    return JSON.parse(stdout) as Load
  })
  const least = (of: keyof Load) => round(Math.min(...runs.map((run) => run[of])))
  return {
    importMs: least("importMs"),
    importMb: least("importMb"),
    compileUs: least("compileUs"),
    ruleKb: least("ruleKb")
  }
}

const results = rules.map(({ name, source, regex }) => {
  const times = race(evaluators(source))
  // The noise of a shared machine only ever adds, so the best of the rounds is the time; the spread is that of the single rounds.
  const best = Object.fromEntries(
    ["headgate", ...others].map((engine) => [engine, Math.min(...times.map((each) => each[engine]!))])
  )
  const ratios = times.map(ratioOf).sort((a, b) => a - b)
  return {
    rule: name,
    ...Object.fromEntries(Object.entries(best).map(([engine, time]) => [engine, Math.round(time)])),
    ratio: round(ratioOf(best)),
    spread: `${round(ratios[0]!)}–${round(ratios.at(-1)!)}`,
    allowed: regex ? 2.5 : 1
  }
})
console.info(
  `nanoseconds for an evaluation, the best of ${rounds} rounds, and ours as a ratio to the faster of the others`
)
console.table(results)
const costs = Object.fromEntries(Object.entries(loads).map(([engine, code]) => [engine, load(code)]))
console.info("cost of the import, and of compiling a rule")
console.table(costs)
mkdirSync(join(import.meta.dirname, "results"), { recursive: true })
writeFileSync(join(import.meta.dirname, "results", "cel.json"), `${JSON.stringify({ results, costs }, undefined, 2)}\n`)
process.exitCode = results.every(({ ratio, allowed }) => ratio <= allowed) ? 0 : 1
