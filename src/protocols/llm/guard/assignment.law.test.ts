/** What the tables of paths say holds for the walker, as a second and slower reader of the same rows understands them. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type Choices, choices } from "../../../../spec/generate/samples.ts"
import { isObject, type JsonObject } from "../formats/json.ts"
import { type Assignments, contentScopes, looksLike, type Place, type Skip, skips } from "./assignment.ts"
import { shownChoices } from "./choices.ts"
import { shownConversation } from "./conversation.ts"
import { applyRegexGuard } from "./evaluate.ts"
import { defaultRejection } from "./outcome.ts"
import { compileRegexGuard } from "./regex-guard.ts"
import {
  assigned,
  type Document,
  documents,
  type GuardedFormat,
  guardedFormats,
  places,
  TextUnreadable
} from "./texts.ts"

type Location = ReadonlyArray<string | number>

const everything = new Set(contentScopes)
const guard = Result.getOrThrow(compileRegexGuard([{ pattern: "swordfish" }]))
const look = (action: "mask" | "reject", format: GuardedFormat, document: Document, body: JsonObject) =>
  applyRegexGuard(guard, action, defaultRejection, format, document, body, everything)

const stepsOf = (path: string): ReadonlyArray<string> =>
  path.split(/(?=[[{])|\.(?![^[]*\])(?![^{]*\})/).filter((step) => step !== "")
const conditionOf = (step: string): readonly [member: string, values: ReadonlyArray<string>] => {
  const [member = "", values = ""] = step.slice(1, -1).split("=")
  return [member, values.split("|")]
}
const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Something that a path speaks of, and nothing else. */
const sampleOf = (choose: Choices, steps: ReadonlyArray<string>, leaf: unknown): unknown => {
  const [step, ...rest] = steps
  if (step === undefined) return leaf
  if (step === "[]") return [sampleOf(choose, rest, leaf)]
  if (step === "**") return { properties: { a: sampleOf(choose, rest, leaf) } }
  if (step === "*") return { any: sampleOf(choose, rest, leaf) }
  if (!step.startsWith("[") && !step.startsWith("{")) return { [step]: sampleOf(choose, rest, leaf) }
  const [member, values] = conditionOf(step)
  const value = choose.pick(values)
  const inner = sampleOf(choose, rest, leaf)
  const object = {
    ...(isObject(inner) ? inner : { said: inner }),
    [member]: value === "true" ? true : value.replace("*", "some")
  }
  return step.startsWith("[") ? [object] : object
}

const together = (a: unknown, b: unknown): unknown => {
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b]
  if (!isObject(a) || !isObject(b)) return b
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return Object.fromEntries(
    names.map((name) => [name, name in a && name in b ? together(a[name], b[name]) : (a[name] ?? b[name])])
  )
}

const bodyOf = (choose: Choices, { rows, parts = {} }: Assignments): JsonObject => {
  const paths = [...Object.keys(rows), ...Object.keys(parts).map((path) => `${path}[].text`)]
  let body: unknown = { aside: { deep: ["v"] } }
  for (let i = 0; i < 8; i++) body = together(body, sampleOf(choose, stepsOf(choose.pick(paths)), "v"))
  return body as JsonObject
}

const stringsIn = function* (value: unknown, at: Location = []): Generator<Location> {
  if (typeof value === "string") yield at
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* stringsIn(item, [...at, i])
  else if (isObject(value)) for (const key of Object.keys(value)) yield* stringsIn(value[key], [...at, key])
}

const put = (value: unknown, [key, ...rest]: Location, leaf: unknown): unknown => {
  if (key === undefined) return leaf
  if (Array.isArray(value)) return value.map((item: unknown, i) => (i === key ? put(item, rest, leaf) : item))
  return { ...(value as JsonObject), [key]: put((value as JsonObject)[key], rest, leaf) }
}

const fulfils = (value: unknown, step: string): boolean => {
  const [member, values] = conditionOf(step)
  const found = isObject(value) ? String(value[member]) : ""
  return values.some((wanted) => (wanted.startsWith("*") ? found.endsWith(wanted.slice(1)) : found === wanted))
}

/** Whether a row speaks of a location; `whole`: of all below its path as well. */
const speaksOf = (
  steps: ReadonlyArray<string>,
  value: unknown,
  at: Location,
  names: (name: string) => ReadonlyArray<string>,
  whole: boolean
): boolean => {
  const [step, ...rest] = steps
  const [key, ...below] = at
  if (step === undefined) return whole || at.length === 0 || (at.length === 1 && typeof key === "number")
  if (step.startsWith("{")) return fulfils(value, step) && speaksOf(rest, value, at, names, whole)
  if (key === undefined || typeof value !== "object" || value === null) return false
  if (step === "**") {
    const last = typeof at.at(-1) === "number" ? at.at(-2) : at.at(-1)
    return last === rest[0]
  }
  const inner = (value as JsonObject)[key as string]
  if (step.startsWith("["))
    return (
      typeof key === "number" && (step === "[]" || fulfils(inner, step)) && speaksOf(rest, inner, below, names, whole)
    )
  return (
    (step === "*" ? typeof key === "string" : names(step).includes(String(key))) &&
    speaksOf(rest, inner, below, names, whole)
  )
}

/** The reasons for which a string is left alone. */
const reasonsFor = ({ rows, snakeCase }: Assignments, body: JsonObject, at: Location): ReadonlyArray<Skip> =>
  Object.entries(rows).flatMap(([path, assignment]) =>
    assignment in skips &&
    speaksOf(stepsOf(path), body, at, (name) => (snakeCase ? [name, snake(name)] : [name]), assignment === "echo")
      ? [assignment as Skip]
      : []
  )

const textAt = (body: unknown, at: Location): string =>
  String(at.reduce((value, key) => (value as JsonObject)[key as string], body))

const seeds = Array.from({ length: 400 }, (_, i) => i + 1)

describe("what guards read", () => {
  for (const format of guardedFormats)
    for (const document of documents)
      it(`a word anywhere in the ${document} of ${format} is found, unless it stands where a row leaves it alone and looks like that`, () => {
        const table = assigned[format][document]
        const seen = { found: 0, left: 0 }
        for (const seed of seeds) {
          const choose = choices(seed * 7_919)
          const plain = bodyOf(choose, table)
          const at = choose.pick([...stringsIn(plain)])
          const body = put(
            plain,
            at,
            choose.pick(["swordfish", "my swordfish", "https://swordfish.example"])
          ) as JsonObject
          const text = textAt(body, at)
          const left = reasonsFor(table, body, at).some((reason) => looksLike[reason](text))
          const message = `${JSON.stringify(body)} at ${at.join(".")}`
          assert.strictEqual(look("reject", format, document, body).type, left ? "pass" : "reject", message)
          const masked = look("mask", format, document, body)
          if (left) assert.strictEqual(masked.type, "pass", message)
          else if (masked.type !== "mask") assert.fail(message)
          else assert.notInclude(JSON.stringify(masked.body), "swordfish", message)
          seen[left ? "left" : "found"]++
        }
        assert.isAbove(seen.found, 40)
        if (document !== "error") assert.isAbove(seen.left, 40)
      })

  for (const format of guardedFormats)
    for (const document of ["request", "answer"] as const)
      it(`so it is for guards that are shown lists, but for calls of tools: the ${document} of ${format}`, () => {
        const table = assigned[format][document]
        let shown = 0
        for (const seed of seeds) {
          const choose = choices(seed * 104_729)
          const plain = bodyOf(choose, table)
          const at = choose.pick([...stringsIn(plain)])
          const body = put(plain, at, choose.pick(["swordfish", "my swordfish"])) as JsonObject
          const list = document === "request" ? shownConversation(format, body) : shownChoices(format, document, body)
          if (list instanceof TextUnreadable) return assert.fail(JSON.stringify(body))
          const scopes = new Set(["systemPrompt", "messages"] as const)
          const read = document === "answer" ? everything : scopes
          const found =
            applyRegexGuard(guard, "reject", defaultRejection, format, document, body, read).type === "reject"
          if (!found) continue
          shown++
          assert.include(JSON.stringify(list), "swordfish", `${JSON.stringify(body)} at ${at.join(".")}`)
        }
        assert.isAbove(shown, 40)
      })

  for (const format of guardedFormats)
    for (const document of ["request", "answer"] as const)
      it(`a word that is split over parts is found, whatever stands between them: the ${document} of ${format}`, () => {
        const { parts = {}, values = [] } = assigned[format][document]
        assert.isNotEmpty(Object.keys(parts))
        for (const path of Object.keys(parts).filter((path) => !values.includes(path)))
          for (const seed of seeds.slice(0, 20)) {
            const choose = choices(seed * 1_299_709)
            const between = choose.pick([[], [{ type: "image" }], [{ type: "text", text: "" }], [""]])
            const list = [{ type: "text", text: "a sword" }, ...between, { type: "text", text: "fish b" }]
            const body = sampleOf(choose, stepsOf(path), list) as JsonObject
            assert.strictEqual(look("reject", format, document, body).type, "reject", JSON.stringify(body))
            const masked = look("mask", format, document, body)
            if (masked.type !== "mask") return assert.fail(JSON.stringify(body))
            assert.include(JSON.stringify(masked.body), "a <masked> b")
            assert.notInclude(JSON.stringify(masked.body), '"fish b"')
          }
      })

  it("cases within cases share the places that they lead to", () => {
    const found = new Set<Place>()
    const visit = (place: Place | undefined): void => {
      if (place === undefined || found.has(place)) return
      found.add(place)
      const { members, any, items, cases } = place
      for (const next of [...members.values(), any, items]) visit(next)
      for (const { places } of cases) for (const next of places.values()) visit(next)
    }
    for (const format of guardedFormats) for (const document of documents) visit(places()[format][document])
    // Each for itself, they are more than a hundred thousand.
    assert.isBelow(found.size, 10_000)
  })
})
