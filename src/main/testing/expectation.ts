/**
 * What a data file expects of a value: objects by the members that it names, everything else exactly, and what no file can
 * foresee by YAML tags: `!matches <pattern>`, `!integer`, `!exactly {…}` for an object without further members, and
 * `!base64 <text>`.
 */
import { isDeepStrictEqual } from "node:util"
import { type CollectionTag, parseDocument, type ScalarTag, type Schema, YAMLMap } from "yaml"

class Matches {
  readonly pattern: RegExp
  constructor(source: string) {
    this.pattern = new RegExp(source)
  }
}
class Exactly {
  readonly members: Readonly<Record<string, unknown>>
  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members
  }
}
const integer = Symbol("integer")

const scalar = (tag: string, resolve: (text: string) => unknown): ScalarTag => ({ tag, resolve })

/** A mapping of a document that becomes an `Exactly`. */
class ExactMap extends YAMLMap {
  override toJSON(_: unknown, context?: Parameters<YAMLMap["toJSON"]>[1]) {
    return new Exactly(Object.fromEntries(super.toJSON<Map<string, unknown>>(_, context, Map)))
  }
}

const exact: CollectionTag = {
  tag: "!exactly",
  collection: "map",
  resolve: (node) => {
    if (!(node instanceof YAMLMap)) throw new TypeError("!exactly takes a mapping")
    const map = new ExactMap(node.schema as Schema)
    map.items = node.items
    return map
  }
}

const customTags = [
  scalar("!matches", (text) => new Matches(text)),
  scalar("!integer", () => integer),
  scalar("!base64", (text) => Buffer.from(text).toString("base64")),
  exact
]

/** Reads a data file. */
export const readExpectations = (text: string): unknown => {
  const document = parseDocument(text, { customTags })
  if (document.errors.length > 0) throw document.errors[0]
  return document.toJS()
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const show = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value))

/** What is not as expected, each with its path; empty when all is well. */
export const differences = (expected: unknown, actual: unknown, path = "$"): ReadonlyArray<string> => {
  if (expected === integer) return Number.isInteger(actual) ? [] : [`${path}: expected an integer, got ${show(actual)}`]
  if (expected instanceof Matches)
    return typeof actual === "string" && expected.pattern.test(actual)
      ? []
      : [`${path}: expected ${expected.pattern}, got ${show(actual)}`]
  if (expected instanceof Exactly) {
    const further = isObject(actual) ? Object.keys(actual).filter((key) => !Object.hasOwn(expected.members, key)) : []
    return [
      ...differences(expected.members, actual, path),
      ...further.map((key) => `${path}.${key}: expected nothing, got ${show((actual as typeof expected.members)[key])}`)
    ]
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [`${path}: expected a list, got ${show(actual)}`]
    if (expected.length !== actual.length) return [`${path}: expected ${expected.length} items, got ${show(actual)}`]
    return expected.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`))
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return [`${path}: expected an object, got ${show(actual)}`]
    return Object.entries(expected).flatMap(([key, value]) => differences(value, actual[key], `${path}.${key}`))
  }
  return isDeepStrictEqual(expected, actual) ? [] : [`${path}: expected ${show(expected)}, got ${show(actual)}`]
}
