/**
 * Secrets in files that are edited by hand: whatever typing, deleting and moving lines makes of a configuration, nothing
 * that is said of it quotes what stood in a place of secrets.
 */
import { createHash } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as ConsoleLog from "../../layers/log/console.ts"
import * as Prometheus from "../../layers/metrics/prometheus.ts"
import { type Node, parseDocument } from "../../spec/config/document.ts"
import { expand } from "../../spec/config/expand.ts"
import { format } from "../../spec/config/format.ts"
import { formatProblems, type Problem, problemFormats } from "../../spec/config/problem.ts"
import { type Shape, shapeOf } from "../../spec/config/shape.ts"
import { check, language } from "../../src/check/check.ts"
import { standard } from "../../src/main/configuration/distribution.ts"
import { defaultPortOptions, ports } from "../../src/main/configuration/ports.ts"
import { makeSnapshot } from "../../src/main/configuration/snapshot.ts"
import { differences, type Side } from "../../src/main/ctl/differences.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { type Dice, dice } from "./messages.ts"

/** A secret as providers make them. A part of it betrays it, too: an edit may hit the secret itself. */
const secretOf = (file: string, index: number) =>
  `sk-live-${createHash("sha256").update(`${file} ${index}`).digest("hex").slice(0, 36)}`
const partsOf = (secret: string): ReadonlyArray<string> => [8, 20, 32].map((at) => secret.slice(at, at + 12))

interface Planted {
  readonly name: string
  readonly text: string
  readonly env: Readonly<Record<string, string>>
  readonly parts: ReadonlyArray<string>
}

const folder = resolve(import.meta.dirname, "../../examples")

/** Everything that the language has a place of secrets for, and that the examples lack. */
const own = `
config:
  session: { key: a }
  xdsAuthToken: b
  sensitiveHeaders: [x-internal]
gateways: { default: { port: 8080 } }
llm:
  gateways: default
  policies:
    apiKey:
      mode: strict
      keys:
      - key: c
        metadata: { user: ada }
      - { key: d, allowedModels: [demo] }
  models:
  - name: demo
    provider: { custom: { formats: [{ type: completions }] } }
    params:
      apiKey: e
      baseUrl: "http://127.0.0.1:1"
mcp:
  gateways: default
  targets:
  - name: files
    stdio:
      cmd: serve
      env:
        KEY: f
        OTHER: g
routes:
- name: keyed
  matches: [{ path: { pathPrefix: /keyed } }]
  policies:
    requestHeaderModifier:
      set:
        authorization: h
        x-internal: i
    backendAuth:
      key: j
  backends:
  - host: 127.0.0.1:1
- name: signed
  policies:
    backendAuth:
      aws:
        accessKeyId: k
        secretAccessKey: l
  backends: [{ host: "127.0.0.1:1" }]
`

/** Writes secrets wherever the schema has a place for them, by turns as text and as a reference to the environment. */
const plant = (name: string, text: string): Planted => {
  const env: Record<string, string> = {}
  for (const [, variable] of text.matchAll(/\$\{?([A-Z_]+)/g)) env[variable!] = "0a".repeat(32)
  // Without references each place is found where it stands.
  const plain = text.replace(/\$\{?[A-Z_]+(?::-[^}]*)?\}?/g, (reference) => "v".repeat(reference.length))
  const parsed = parseDocument(expand(plain, {}, undefined).text)
  if (!parsed.ok) throw new Error(`${name} cannot be parsed`)
  const places: Array<readonly [number, number]> = []
  const visit = (node: Node, shape: Shape | undefined, key: string): void => {
    for (const [inner, entry] of node.entries ?? []) visit(entry.node, shape?.property(inner), inner)
    node.items?.forEach((item, index) => visit(item, shape?.item(index), key))
    const isSecret =
      shape?.secret === true || (typeof node.scalar === "string" && /^(authorization|x-internal)$/.test(key))
    if (typeof node.scalar === "string" && isSecret) places.push([node.start, node.end])
  }
  visit(parsed.root, shapeOf(language.schema.ast), "")
  let planted = text
  const secrets: Array<string> = []
  for (const [index, [start, end]] of [...places.entries()].reverse()) {
    const secret = secretOf(name, index)
    secrets.push(secret)
    if (index % 2 === 0) planted = `${planted.slice(0, start)}${secret}${planted.slice(end)}`
    else {
      env[`SECRET_${index}`] = secret
      planted = `${planted.slice(0, start)}$SECRET_${index}${planted.slice(end)}`
    }
  }
  return { name, text: planted, env, parts: secrets.flatMap(partsOf) }
}

const corpus: ReadonlyArray<Planted> = [
  plant("own", own),
  ...globSync("*/config.yaml", { cwd: folder })
    .sort()
    .map((file) => plant(file, readFileSync(join(folder, file), "utf8")))
].filter(({ parts }) => parts.length > 0)

type Roll = Dice["below"]

const typed = [
  ..." :{}[],\"'#&*!|>-?%@$~=\n\t",
  ": ",
  "- ",
  "\n  ",
  "{}",
  "[]",
  "null",
  "42",
  "${",
  "$$",
  "? ",
  "!!str ",
  "---\n",
  "&a ",
  "*a"
]

/** What a hand at a keyboard does to a text, near a secret more often than elsewhere. */
const edits: Readonly<Record<string, (text: string, at: number, roll: Roll) => string>> = {
  "characters are deleted": (text, at, roll) => text.slice(0, at) + text.slice(at + 1 + roll(8)),
  "characters are repeated": (text, at, roll) => {
    const end = at + 1 + roll(12)
    return text.slice(0, end) + text.slice(at, end) + text.slice(end)
  },
  "something is typed": (text, at, roll) => text.slice(0, at) + typed[roll(typed.length)] + text.slice(at),
  "a blank is lost": (text, at) => {
    const blank = text.indexOf(" ", at)
    return blank < 0 ? text : text.slice(0, blank) + text.slice(blank + 1)
  },
  "a blank is lost behind a colon": (text, at) => {
    const blank = text.indexOf(": ", at)
    return blank < 0 ? text : text.slice(0, blank + 1) + text.slice(blank + 2)
  },
  "a line is deleted": (text, at) => withLines(text, at, (lines, line) => lines.splice(line, 1)),
  "a line is repeated": (text, at) => withLines(text, at, (lines, line) => lines.splice(line, 0, lines[line]!)),
  "two lines are swapped": (text, at, roll) =>
    withLines(text, at, (lines, line) => {
      const other = roll(lines.length)
      ;[lines[line], lines[other]] = [lines[other]!, lines[line]!]
    }),
  "a line is moved in or out": (text, at, roll) =>
    withLines(text, at, (lines, line) => {
      lines[line] = roll(2) === 0 ? `${" ".repeat(1 + roll(4))}${lines[line]}` : lines[line]!.replace(/^ {1,4}/, "")
    }),
  "two lines are joined": (text, at, roll) =>
    withLines(text, at, (lines, line) => lines.splice(line, 2, lines.slice(line, line + 2).join(" ".repeat(roll(2))))),
  "a value becomes one of another type": (text, at, roll) =>
    withLines(text, at, (lines, line) => {
      lines[line] = lines[line]!.replace(
        /:( .*)?$/,
        `: ${["[]", "{}", "42", "null", "~", "[a", "{ a: b }", "|"][roll(8)]}`
      )
    }),
  "a value is put into a list, or into an object": (text, at, roll) =>
    withLines(text, at, (lines, line) => {
      lines[line] = lines[line]!.replace(/: (.+)$/, (_, value) =>
        roll(2) === 0 ? `: [${value}]` : `: { value: ${value} }`
      )
    }),
  "the rest is cut off": (text, at) => text.slice(0, at)
}
const editNames = Object.keys(edits)

const withLines = (text: string, at: number, change: (lines: Array<string>, line: number) => void): string => {
  const lines = text.split("\n")
  change(lines, Math.min(lines.length - 1, text.slice(0, at).split("\n").length - 1))
  return lines.join("\n")
}

interface Edited extends AttackCase {
  readonly planted: Planted
  readonly text: string
}

const edited = (seed: number): Edited => {
  const roll = dice(seed).below
  const planted = corpus[roll(corpus.length)]!
  let { text } = planted
  const done: Array<string> = []
  for (let times = 1 + roll(3); times > 0; times--) {
    const name = editNames[roll(editNames.length)]!
    const secret = /sk-live-|\$SECRET_/g
    const places = [...text.matchAll(secret)].map((match) => match.index)
    const near = roll(3) > 0 ? places[roll(Math.max(1, places.length))] : undefined
    const at = near === undefined ? roll(text.length + 1) : Math.max(0, near - 24 + roll(48))
    text = edits[name]!(text, at, roll)
    done.push(name)
  }
  return { title: `${planted.name}, edit ${seed}: ${done.join(", ")}`, planted, text }
}

const quiet = Layer.provideMerge(
  ports(defaultPortOptions),
  Layer.merge(ConsoleLog.layer({ filter: "off", format: "text", write: () => {}, now: () => 0 }), Prometheus.layer())
)

/** Whether a text holds what the file has in confidence. */
const betrays = (said: string, { parts }: Planted): string | undefined => parts.find((part) => said.includes(part))

const told = (problems: ReadonlyArray<Problem>): ReadonlyArray<string> =>
  problemFormats.map((name) => formatProblems(name, problems))

const sideOf = (planted: Planted, text: string): Side | undefined => {
  const { config, positions, hidden } = check({ name: "config.yaml", text, env: planted.env })
  return config === undefined || positions === undefined ? undefined : { config, positions, hidden }
}

const open = Effect.gen(function* () {
  const originals = new Map(corpus.map((planted) => [planted, sideOf(planted, planted.text)]))
  const context = yield* Layer.build(quiet)
  const trial: Trial<Edited> = ({ planted, text }) =>
    Effect.gen(function* () {
      const said: Array<string> = []
      const { config, positions, hidden, problems } = check({ name: "config.yaml", text, env: planted.env })
      said.push(...told(problems))
      const formatted = format(text, shapeOf(language.schema.ast))
      if (!formatted.ok) said.push(JSON.stringify(formatted.problems))
      if (config !== undefined && positions !== undefined) {
        const original = originals.get(planted)
        if (original !== undefined) {
          const changes = differences(original, { config, positions, hidden })
          // A secret that was moved to where none belongs is no secret there; what is said of places is.
          said.push(
            JSON.stringify(changes.map(({ fields, ...rest }) => ({ ...rest, at: fields?.map(({ path }) => path) })))
          )
        }
        const snapshot = yield* Effect.exit(
          Effect.provideContext(
            makeSnapshot(standard, { name: "config.yaml", text, env: planted.env }, () => 0.5),
            context
          )
        )
        if (Exit.isSuccess(snapshot)) {
          said.push(JSON.stringify(snapshot.value.graphs()))
          yield* Scope.close(snapshot.value.scope, Exit.void)
        } else said.push(JSON.stringify(snapshot))
      }
      for (const each of said) {
        const part = betrays(each, planted)
        if (part !== undefined) {
          const at = each.indexOf(part)
          return yield* Effect.fail(new Error(`it says ${each.slice(Math.max(0, at - 160), at + 20)} of ${text}`))
        }
      }
    })
  return trial
})

export const mutatedConfigurations = attack<Edited>({
  class: "secrets",
  name: "mutated configurations",
  proves: "no message, graph or difference of a configuration quotes a secret, whatever an edit made of the file",
  cases: editNames.flatMap((name, index) =>
    [1, 2, 3].map((times) => {
      const roll = dice(index * 7 + times).below
      const planted = corpus[0]!
      const places = [...planted.text.matchAll(/sk-live-|\$SECRET_/g)].map((match) => match.index)
      const at = Math.max(0, places[roll(places.length)]! - 6 + roll(8))
      return { title: `${name}, ${times}`, planted, text: edits[name]!(planted.text, at, roll) }
    })
  ),
  generated: {
    cases: Arbitrary.map(
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))),
      edited
    ),
    few: 400,
    many: 100_000
  },
  open
})
