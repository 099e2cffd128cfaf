/**
 * Regular expressions and expressions whose work grows faster than what a client sends: in matches of routes, in rules over
 * headers and bodies, and in guards. Each request has its answer soon, and nobody else waits for it.
 */
import { Effect, Result } from "effect"
import { graphsOf } from "../../src/main/configuration/offline.ts"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"

interface CostCase extends AttackCase {
  /** Where the pattern or the expression stands. */
  readonly place: "path" | "header" | "guard" | "rule" | "refused"
  readonly source: string
  /** What a client sends: the rest of the path, the header `x-text`, the prompt, or the body. */
  readonly text: string
}

/** What fits into a head, and into a body. */
const head = 12_000
const body = 1_500_000

const evil: ReadonlyArray<readonly [pattern: string, part: string, end: string]> = [
  ["(a+)+$", "a", "!"],
  ["^(a|aa)+$", "a", "b"],
  ["(a|a?)+$", "a", "!"],
  ["(.*a){12}", "a", "!"],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", "a", "!"],
  ["(x+x+)+y", "x", ""],
  ["(\\w+\\s?)*$", "a ", "!"],
  ["^([a-zA-Z0-9_.-]+)@(([a-z0-9-]+\\.)+[a-z]{2,})$", "a.", "@"],
  ["(?i)(select|union)\\s+.*from", "select ", "x"],
  ["(a|b)*a(a|b){12}[c-d]", "ab", "!"],
  ["\\p{L}+\\d", "b", "!"],
  ["(?:(?:(?:a?){20}){20})b", "a", "!"]
]

const refusedPatterns = [
  "(?=a)b",
  "(?!a)b",
  "(?<=a)b",
  "(?<!a)b",
  "(a)\\1",
  "(?>a+)b",
  "a{100000}",
  "((a{100}){100}){100}",
  "(?R)",
  "\\Ga",
  "(?(1)a|b)",
  "(",
  "[z-a]",
  "*a"
]

const rules: ReadonlyArray<readonly [title: string, source: string, text: string]> = [
  [
    "nested macros over a list",
    "json(request.body).all(a, json(request.body).all(b, a != b || true))",
    `[${"1,".repeat(5_000)}1]`
  ],
  [
    "macros three deep",
    "json(request.body).exists(a, json(request.body).exists(b, json(request.body).exists(c, a + b + c == -1)))",
    `[${"1,".repeat(900)}1]`
  ],
  [
    "a text that doubles",
    `${"cel.bind(x, string(request.body), ".repeat(1)}(${Array(64).fill("x").join(" + ")}).size() > 0)`,
    "a".repeat(body)
  ],
  [
    "a list that doubles",
    "json(request.body).map(a, json(request.body)).map(b, b.map(c, c)).size() > 0",
    `[${"1,".repeat(2_000)}1]`
  ],
  ["a split into letters", 'string(request.body).split("").size() > 0', "a".repeat(body)],
  ["a replacement that grows", 'string(request.body).replace("a", "aaaaaaaaaaaaaaaa").size() > 0', "a".repeat(body)],
  ["a search in every place", 'string(request.body).contains("aaaaaaaaaaaaaaaaaaaaaaab")', "a".repeat(body)],
  ["a pattern over a body", 'string(request.body).matches("(a+)+$")', `${"a".repeat(body)}!`],
  [
    "a pattern with a bounded repeat over a body",
    'string(request.body).matches("(a|b)*a(a|b){12}[c-d]")',
    "ab".repeat(body / 2)
  ],
  ["JSON of a great depth", "json(request.body) != null", "[".repeat(body / 2) + "]".repeat(body / 2)],
  [
    "JSON of many members",
    "json(request.body).size() > 0",
    `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":1`).join(",")}}`
  ],
  ["JSON of many lists", "json(request.body).size() > 0", `[${"[],".repeat(400_000)}[]]`],
  ["JSON with one long number", "json(request.body) > 0", "9".repeat(body)],
  ["base64 there and back", "string(base64.decode(base64.encode(request.body))).size() > 0", "a".repeat(body)],
  ["a comparison of large values", "json(request.body) == json(request.body)", `[${"[1],".repeat(200_000)}[1]]`],
  ["a join of a join", 'string(request.body).split(",").join(string(request.body)).size() > 0', "a,".repeat(50_000)],
  [
    "a number in the hands of a client",
    "[1].map(x, string(request.body).size()).map(n, string(n)).size() > 0",
    "a".repeat(body)
  ]
]

const cases: ReadonlyArray<CostCase> = [
  ...(["path", "header"] as const).flatMap((place) =>
    evil.map(([source, part, end]) => ({
      title: `${place} ${source}`,
      place,
      source,
      // The end is what the pattern fails at, after all that it might have tried.
      text: `${part
        .repeat(head / part.length)
        .replaceAll(" ", place === "path" ? "%20" : " ")
        .slice(0, head)}${end}`
    }))
  ),
  ...evil.map(([source, part, end]) => ({
    title: `guard ${source}`,
    place: "guard" as const,
    source,
    text: `${part.repeat(200_000 / part.length)}${end}`
  })),
  ...rules.map(([title, source, text]) => ({ title, place: "rule" as const, source, text })),
  ...refusedPatterns.map((source) => ({ title: `no pattern: ${source}`, place: "refused" as const, source, text: "" }))
]

/** Milliseconds of work of this process so far: unlike time, a busy machine does not add to it. */
const worked = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const quoted = (text: string) => JSON.stringify(text)

const routeOf = ({ place, source }: CostCase, index: number): string => {
  const answer = "directResponse: { status: 200 }"
  switch (place) {
    case "path":
      return `- { matches: [{ path: { regex: ${quoted(`/cost-${index}/${source}`)} } }], policies: { ${answer} } }`
    case "header":
      return `- { matches: [{ path: { pathPrefix: /cost-${index} }, headers: [{ name: x-text, value: { regex: ${quoted(source)} } }] }], policies: { ${answer} } }`
    case "rule":
      return `- { matches: [{ path: { pathPrefix: /cost-${index} } }], policies: { authorization: { rules: [${quoted(source)}] }, ${answer} } }`
    default:
      return ""
  }
}

const open = Effect.gen(function* () {
  const models = cases.flatMap(({ place, source }, index) =>
    place === "guard"
      ? [
          `  - { name: cost-${index}, provider: mock, guardrails: { request: [{ regex: { action: reject, rules: [{ pattern: ${quoted(source)} }] } }] } }`
        ]
      : []
  )
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 }, models: { port: 8081 } }
llm:
  gateways: models
  models:
${models.join("\n")}
routes:
- { name: neighbour, gateways: default, matches: [{ path: { pathPrefix: /neighbour } }], policies: { directResponse: { status: 200 } } }
${cases
  .map((one, index) => routeOf(one, index))
  .filter((route) => route !== "")
  .map((route) => route.replace("- { ", "- { gateways: default, "))
  .join("\n")}
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const port = gateway.port(8080)!

  const asked = ({ place, text }: CostCase, index: number) => {
    const path = `/cost-${index}/`
    if (place === "path") return send(port, { path: path + text })
    if (place === "header") return send(port, { path, headers: { "x-text": text } })
    if (place === "rule") return send(port, { method: "POST", path, body: text })
    const messages = [{ role: "user", content: text }]
    return send(gateway.port(8081)!, {
      method: "POST",
      path: "/v1/chat/completions",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: `cost-${index}`, messages })
    })
  }

  const trial: Trial<CostCase> = (one) =>
    Effect.gen(function* () {
      if (one.place === "refused") {
        const text = `gateways: { default: { port: 1 } }\n${routeOf({ ...one, place: "header" }, 0).replace(/^/, "routes:\n")}`
        const compiled = yield* Effect.result(graphsOf({ name: "config.yaml", text, env: {} }))
        if (Result.isSuccess(compiled)) yield* Effect.fail(new Error("the pattern is taken"))
        return
      }
      const index = cases.indexOf(one)
      yield* Effect.promise(async () => {
        const began = worked()
        const all = Promise.all(Array.from({ length: 4 }, () => asked(one, index)))
        let slowest = 0
        let over = false
        const done = all.finally(() => {
          over = true
        })
        while (!over) {
          const from = worked()
          const { status } = await send(port, { path: "/neighbour" })
          if (status !== 200) throw new Error(`the neighbour was answered ${status}`)
          slowest = Math.max(slowest, worked() - from)
        }
        // A guard that cannot tell in time refuses.
        for (const { status, body: said } of await done)
          if (![200, 400, 403, 404, 413, ...(one.place === "guard" ? [503] : [])].includes(status))
            throw new Error(`it was answered ${status} ${said.slice(0, 200)}`)
        const took = worked() - began
        if (slowest > 2_000) throw new Error(`the neighbour waited for ${Math.round(slowest)} ms of work`)
        if (took > 8_000) throw new Error(`the answers took ${Math.round(took)} ms of work`)
      })
    })
  return trial
})

export const expressionCost = attack<CostCase>({
  class: "regular expressions and expression cost",
  name: "patterns and rules that cost",
  proves: "no text makes a pattern or a rule hold up its own answer, or anybody else's",
  cases,
  open
})
