/**
 * Two mistakes in one file are told in one run, in the order of the text, and nothing else: neither hides the other, and what only follows
 * from one of them is no mistake of its own.
 */
import { globSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { parse, stringify } from "yaml"
import { formatPath, type Path } from "../../spec/config/path.ts"
import type { Problem } from "../../spec/config/problem.ts"
import { type Shape, shapeOf } from "../../spec/config/shape.ts"
import { language } from "../../src/check/check.ts"
import { findings } from "../../src/main/configuration/findings.ts"
import { environmentOf } from "../fences.ts"

const folder = resolve(import.meta.dirname, "../../examples")

interface File {
  readonly name: string
  readonly content: unknown
  readonly env: Readonly<Record<string, string>>
}

const files: ReadonlyArray<File> = globSync("*/config.yaml", { cwd: folder })
  .sort()
  .map((name) => {
    const text = readFileSync(join(folder, name), "utf8").replace(/^# yaml-language-server.*$/m, "")
    return { name, content: parse(text), env: environmentOf(text) }
  })

const kinds = ["unknown key", "wrong type", "bad reference", "bad pattern", "bad expression", "unserved"] as const

/** A mistake that can be made at a place of a file. */
interface Mistake {
  readonly kind: (typeof kinds)[number]
  /** What is written anew, with what was there before at hand. */
  readonly path: Path
  readonly value: (before: unknown) => unknown
}

const put = (value: unknown, [step, ...rest]: Path, made: (before: unknown) => unknown): unknown => {
  if (step === undefined) return made(value)
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? put(item, rest, made) : item))
  const before = value as Readonly<Record<string, unknown>> | undefined
  return { ...before, [step]: put(before?.[step], rest, made) }
}

/** Every mistake that can be made in a value, by the shape that it has. */
function* mistakesIn(value: unknown, shape: Shape | undefined, path: Path): Generator<Mistake> {
  if (shape === undefined) return
  const key = path.at(-1)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* mistakesIn(item, shape.item(index), [...path, index])
    if (key === "rules" && path.includes("authorization"))
      yield {
        kind: "bad expression",
        path,
        value: (rules) => [...(rules as ReadonlyArray<unknown>), "request.nothing == 1"]
      }
    return
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value)
    if (shape.keys.size > 0 && !shape.open)
      yield { kind: "unknown key", path, value: (before) => ({ ...(before as object), "not-a-key": 1 }) }
    if (path.length > 0 && shape.keys.has("authorization") && !entries.some(([name]) => name === "authorization"))
      yield {
        kind: "bad expression",
        path: [...path, "authorization"],
        value: () => ({ rules: ["request.nothing == 1"] })
      }
    if (shape.keys.has("retry") && !entries.some(([name]) => name === "retry"))
      yield { kind: "unserved", path: [...path, "retry"], value: () => ({ attempts: 2 }) }
    if (shape.keys.has("matches") && shape.keys.has("backends"))
      yield {
        kind: "bad pattern",
        path: [...path, "matches"],
        value: () => [{ path: { regex: `(${path.join("-")}` } }]
      }
    if (shape.keys.has("gateways") && path.length > 0)
      yield { kind: "bad reference", path: [...path, "gateways"], value: () => "not-a-gateway" }
    if (shape.keys.has("backends") && path.length > 0)
      yield { kind: "bad reference", path: [...path, "backends"], value: () => [{ backend: "/not-a-backend" }] }
    if (path.length > 1) yield { kind: "wrong type", path, value: () => 17 }
    for (const [name, inner] of entries) yield* mistakesIn(inner, shape.property(name), [...path, name])
    return
  }
  if (shape.keys.size === 0 && !shape.open) yield { kind: "wrong type", path, value: () => ({ "not-a-key": 1 }) }
}

const shape = shapeOf(language.schema.ast)

/** What is told of a problem that does not depend on what stands above it. */
const sentence = ({ path, message, severity }: Problem) => `${severity} ${path}: ${message}`

const told = (content: unknown, env: File["env"]) =>
  Effect.map(findings({ name: "file", text: stringify(content), env }), (problems) => ({
    problems,
    sentences: new Set(problems.map(sentence))
  }))

const isWithin = (path: Path, other: Path) => other.every((step, index) => path[index] === step)
const areApart = (one: Mistake, other: Mistake) => !isWithin(one.path, other.path) && !isWithin(other.path, one.path)

const choice = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

const isInOrder = (problems: ReadonlyArray<Problem>) =>
  problems.every(({ line, column }, index) => {
    const before = problems[index - 1]
    return before === undefined || before.line < line || (before.line === line && before.column <= column)
  })

const made: ReadonlyArray<ReadonlyArray<ReadonlyArray<Mistake>>> = files.map(({ content }) => [
  ...Map.groupBy(mistakesIn(content, shape, []), ({ kind }) => kind).values()
])

const pick = (byKind: ReadonlyArray<ReadonlyArray<Mistake>>, number: number): Mistake => {
  const ofKind = byKind[number % byKind.length]!
  return ofKind[Math.floor(number / byKind.length) % ofKind.length]!
}

describe("two mistakes in one file", () => {
  it.live(
    "are both told, and nothing else",
    () =>
      Effect.gen(function* () {
        const seen = new Map<string, number>()
        const drawn = yield* Arbitrary.sampleEffect(Arbitrary.schema(Schema.Tuple([choice, choice, choice])), {
          count: 300,
          seed: 11
        })
        for (const [which, first, second] of drawn) {
          const { name, content, env } = files[which % files.length]!
          const one = pick(made[which % files.length]!, first)
          const other = pick(made[which % files.length]!, second)
          if (!areApart(one, other)) continue
          const before = yield* told(content, env)
          const withOne = put(content, one.path, one.value)
          const ofOne = yield* told(withOne, env)
          const ofOther = yield* told(put(content, other.path, other.value), env)
          const news = (all: ReadonlySet<string>) => all.difference(before.sentences)
          // A mistake that nobody could notice is none.
          if (news(ofOne.sentences).size === 0 || news(ofOther.sentences).size === 0) continue
          const both = yield* told(put(withOne, other.path, other.value), env)
          const place = ({ kind, path }: Mistake) => `${kind} at ${formatPath(path)}`
          const pair = `${name}: ${place(one)}, ${place(other)}`
          const either = ofOne.sentences.union(ofOther.sentences)
          assert.deepStrictEqual([...news(either).difference(both.sentences)], [], `hidden in ${pair}`)
          assert.deepStrictEqual([...news(both.sentences).difference(either)], [], `added in ${pair}`)
          assert.isTrue(isInOrder(both.problems), `the order of ${pair}`)
          for (const { kind } of [one, other]) seen.set(kind, (seen.get(kind) ?? 0) + 1)
        }
        // The law bites: enough pairs of every kind.
        for (const kind of kinds) assert.isAtLeast(seen.get(kind) ?? 0, 30, kind)
      }),
    120_000
  )
})
