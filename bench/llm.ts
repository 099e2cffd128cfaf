/**
 * What calls of models cost: a stream beside the base that relays the same bytes, a translated chat beside one that is not,
 * and for every pair of streamed formats what an event costs beyond relaying it. One proxy and one base serve all of it;
 * bursts of each take turns in every round.
 *
 * `node bench/llm.ts [--rounds 9] [--burst 500] [--only <part of a name>] [--check]`; with `--check` a broken budget is a
 * failure.
 */
import { parseArgs } from "node:util"
import { type ProxyProcess, startLoad, startModels, startProxy } from "./processes.ts"
import { base, bytesOf, headgate, type Ports, quiet, type Request } from "./scenarios.ts"
import { type Spread, spread } from "./spread.ts"

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    burst: { type: "string", default: "500" },
    only: { type: "string", default: "" },
    check: { type: "boolean", default: false }
  }
})
const rounds = Number(given.rounds)
const burst = Number(given.burst)
const connections = 32
/** Pieces of text in a stream. */
const deltas = 50

/** A request of the base takes the path that the proxy's call takes, so that both relay the same answer. */
const models = ({ proxy, upstream }: Ports) => {
  const at = `http://127.0.0.1:${upstream}`
  const custom = (format: string) => `{custom: {formats: [{type: ${format}}]}}`
  return `${quiet}
llm:
  port: ${proxy}
  models:
  - {name: openai, provider: openai, params: {baseUrl: "${at}/v1", apiKey: bench}}
  - {name: completions, provider: ${custom("completions")}, params: {baseUrl: "${at}/v1", apiKey: bench}}
  - {name: responses, provider: ${custom("responses")}, params: {baseUrl: "${at}/v1", apiKey: bench}}
  - {name: claude, provider: anthropic, params: {baseUrl: "${at}/v1", apiKey: bench}}
  - {name: gemini-x, provider: gemini, params: {baseUrl: "${at}", apiKey: bench}}
  - {name: nova, provider: bedrock, params: {awsRegion: r, baseUrl: "${at}", apiKey: bench}}
`
}

type Client = "completions" | "messages" | "responses"
const paths: { readonly [C in Client]: string } = {
  completions: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses"
}

const ask = (client: Client, model: string, stream: boolean, path = paths[client]): Request => {
  const said = "x".repeat(500)
  const prompt = client === "responses" ? { input: said } : { messages: [{ role: "user", content: said }] }
  const limit = client === "messages" ? { max_tokens: 1000 } : {}
  return {
    method: "POST",
    path,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, stream, ...prompt, ...limit })
  }
}

interface Case {
  readonly name: string
  readonly of: "proxy" | "base"
  readonly request: Request
}

interface Comparison {
  readonly name: string
  readonly ours: Case
  readonly reference: Case
  readonly budget?: number
  /** Whether what an event costs is told. */
  readonly events?: true
}

const native: Case = { name: "chat", of: "proxy", request: ask("completions", "openai", false) }
const relay = (path: string): Case => ({
  name: `base ${path}`,
  of: "base",
  request: ask("completions", "x", true, path)
})
const pair = (client: Client, upstream: string, model: string, path: string): Comparison => ({
  name: `stream ${client} ← ${upstream}`,
  ours: { name: `${client} ← ${upstream}`, of: "proxy", request: ask(client, model, true) },
  reference: relay(path),
  events: true
})

const gemini = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
const all: ReadonlyArray<Comparison> = [
  {
    name: "LLM streamed",
    ours: { name: "streamed", of: "proxy", request: ask("completions", "openai", true) },
    reference: relay(paths.completions),
    events: true
  },
  {
    name: "LLM translated, × untranslated",
    ours: { name: "translated", of: "proxy", request: ask("completions", "claude", false) },
    reference: native,
    budget: 1.3
  },
  pair("completions", "messages", "claude", paths.messages),
  pair("completions", "generateContent", "gemini-x", gemini),
  pair("completions", "converse", "nova", "/model/nova/converse-stream"),
  pair("messages", "messages", "claude", paths.messages),
  pair("messages", "completions", "openai", paths.completions),
  pair("messages", "responses", "responses", paths.responses),
  pair("messages", "converse", "nova", "/model/nova/converse-stream"),
  pair("responses", "responses", "openai", paths.responses),
  pair("responses", "completions", "completions", paths.completions),
  pair("responses", "converse", "nova", "/model/nova/converse-stream")
]
const comparisons = all.filter(({ name }) => name.includes(given.only))

/** Each case once, however often it is compared. */
const cases = [
  ...new Map(comparisons.flatMap(({ ours, reference }) => [ours, reference]).map((c) => [c.name, c])).values()
]

const origin = await startModels(deltas)
const load = startLoad()
const scenario = { name: "models", ...headgate(models), request: native.request }
const processes = {
  proxy: await startProxy(scenario, origin.port),
  base: await startProxy(base(native), origin.port)
}
let errors = 0

/** CPU microseconds per request. */
const cost = async (process: ProxyProcess, request: string, duration: number): Promise<number> => {
  const before = await process.usage()
  const done = await load.run({ port: process.port, connections, duration, requests: [request], rate: undefined })
  errors += done.errors
  return ((await process.usage()).cpu - before.cpu) / Math.max(1, done.requests)
}

const measured = new Map<string, Array<number>>(cases.map(({ name }) => [name, []]))
try {
  for (const { of, request } of cases) await cost(processes[of], bytesOf(request), burst)
  for (let round = 0; round < rounds; round++)
    for (const { name, of, request } of round % 2 === 0 ? cases : cases.toReversed())
      measured.get(name)!.push(await cost(processes[of], bytesOf(request), burst))
} finally {
  await Promise.all([processes.proxy.stop(), processes.base.stop(), origin.stop(), load.stop()])
}

const digits = (value: number, places = 2): string => value.toFixed(places)
const quartiles = ({ low, high }: Spread, places = 2): string => `${digits(low, places)}–${digits(high, places)}`

const rows = comparisons.map(({ name, ours, reference, budget, events }) => {
  const [own, other] = [measured.get(ours.name)!, measured.get(reference.name)!]
  const ratio = spread(own.map((micros, round) => micros / other[round]!))
  const perEvent = spread(own.map((micros, round) => (micros - other[round]!) / deltas))
  return {
    name,
    ratio,
    perEvent: events && perEvent,
    micros: spread(own).median,
    reference: spread(other).median,
    budget
  }
})
console.table(
  rows.map(({ name, ratio, perEvent, micros, reference, budget }) => ({
    case: name,
    "× reference": digits(ratio.median),
    quartiles: quartiles(ratio),
    budget: budget ?? "",
    µs: digits(micros, 1),
    "reference µs": digits(reference, 1),
    "µs per event": perEvent === undefined ? "" : digits(perEvent.median),
    "per event": perEvent === undefined ? "" : quartiles(perEvent)
  }))
)
console.log(
  `${rounds} rounds of ${burst} ms, ${connections} connections, ${deltas} pieces of text in a stream, ${errors} errors`
)
const broken = rows.filter(({ ratio, budget }) => budget !== undefined && ratio.median > budget)
for (const { name, ratio, budget } of broken) console.log(`over budget: ${name} (${digits(ratio.median)} of ${budget})`)
if (given.check && (broken.length > 0 || errors > 0)) process.exitCode = 1
