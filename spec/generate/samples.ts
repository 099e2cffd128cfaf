/** Generated configuration files, right and nearly right, for the laws of the language; reproducible from a seed. */
import type { Document, Node } from "./json-schema.ts"

/** A reproducible source of choices. */
export const choices = (seed: number) => {
  let state = seed >>> 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return {
    chance: (share: number) => next() < share,
    below: (bound: number) => Math.floor(next() * bound),
    pick: <A>(from: ReadonlyArray<A>): A => from[Math.floor(next() * from.length)]!
  }
}

export type Choices = ReturnType<typeof choices>

const strings = [
  "a",
  "x",
  "name",
  "a-b",
  "a.b",
  "/",
  "/a",
  "a/b",
  "/name",
  "1s",
  "1h30m",
  "250ms",
  "0",
  "2Mi",
  "500k",
  "50%",
  "*",
  "gpt-*",
  "GET",
  "example.com",
  "*.example.com",
  "example.com:80",
  "127.0.0.1:8080",
  "[::1]:80",
  "unix:/run/x",
  "https://example.com",
  "http://example.com/x?y",
  "https://example.com/callback",
  "https://idp.example.com/realms/x",
  `sha256:${"0a".repeat(32)}`,
  "0a".repeat(32),
  "off",
  "localhost:15000",
  "0.15",
  "x-header",
  ":path",
  ":status",
  "arn:aws:x",
  "urn:ietf:params:oauth:token-type:id-jag",
  "",
  " ",
  "A B",
  "1d",
  "-1s",
  "ftp://x",
  "é"
]

export type Sample = (node: Node, choose: Choices, depth?: number) => unknown

/** Makes values that mostly follow a part of a schema: only what stands between fields is sometimes missed. */
export const sampler = ({ definitions }: Document): Sample => {
  const resolve = (node: Node): Node =>
    typeof node["$ref"] === "string" ? definitions[node["$ref"].replace("#/$defs/", "")]! : node

  const sample: Sample = (given, choose, depth = 0) => {
    const node = resolve(given)
    if (Array.isArray(node["enum"])) return choose.pick(node["enum"])
    if ("const" in node) return node["const"]
    const alternatives = node["anyOf"] ?? node["oneOf"]
    if (Array.isArray(alternatives) && node["type"] === undefined)
      return sample(choose.pick(alternatives as Array<Node>), choose, depth)
    switch (node["type"]) {
      case "string":
        return sampleString(node, choose)
      case "integer":
      case "number": {
        const minimum = (node["minimum"] as number | undefined) ?? 0
        const maximum = (node["maximum"] as number | undefined) ?? minimum + 10
        return node["type"] === "integer"
          ? minimum + choose.below(maximum - minimum + 1)
          : choose.pick([minimum, maximum, (minimum + maximum) / 2])
      }
      case "boolean":
        return choose.chance(0.5)
      case "null":
        return null
      case "array": {
        const minimum = (node["minItems"] as number | undefined) ?? 0
        const length = depth > 6 ? minimum : minimum + choose.below(2)
        return Array.from({ length }, () => sample(node["items"] as Node, choose, depth + 1))
      }
      case "object":
        return sampleObject(node, choose, depth)
      default:
        return choose.pick([null, 1, "a", {}, []])
    }
  }

  const sampleString = (node: Node, choose: Choices): string => {
    const patterns = [
      node,
      ...((node["allOf"] as Array<Node> | undefined) ?? []),
      ...((node["anyOf"] as Array<Node> | undefined) ?? [])
    ]
      .map((each) => each["pattern"])
      .filter((pattern) => typeof pattern === "string")
    const fitting = strings.filter(
      (each) => patterns.length === 0 || patterns.some((pattern) => new RegExp(pattern, "u").test(each))
    )
    return choose.pick(fitting.length > 0 && !choose.chance(0.02) ? fitting : strings)
  }

  const sampleObject = (node: Node, choose: Choices, depth: number): unknown => {
    const properties = (node["properties"] ?? {}) as Record<string, Node>
    const wanted = new Set((node["required"] ?? []) as Array<string>)
    const oneOf = ((node["oneOf"] ?? []) as Array<Node>).flatMap((each) => (each["required"] ?? []) as Array<string>)
    if (oneOf.length > 0) wanted.add(choose.pick(oneOf))
    for (const key of Object.keys(properties))
      if (!oneOf.includes(key) && choose.chance(depth > 6 ? 0.02 : depth > 3 ? 0.15 : 0.3)) wanted.add(key)
    const rest = node["additionalProperties"]
    const extra =
      typeof rest === "object" && choose.chance(0.5)
        ? [[sampleKey(node, choose), sample(rest as Node, choose, depth + 1)]]
        : []
    return Object.fromEntries([
      ...extra,
      ...[...wanted].filter((key) => key in properties).map((key) => [key, sample(properties[key]!, choose, depth + 1)])
    ])
  }

  const sampleKey = (node: Node, choose: Choices): string => {
    const names = node["propertyNames"] as Node | undefined
    return names === undefined ? choose.pick(["a", "default"]) : sampleString(resolve(names), choose)
  }

  return sample
}

/** Changes one value somewhere. */
export const mutate = (value: unknown, choose: Choices): unknown => {
  const other = () => choose.pick<unknown>([null, true, -1, 0, 1.5, 70_000, "", "x", "/", [], {}, { a: 1 }, ["x"]])
  if (Array.isArray(value)) {
    if (value.length === 0 || choose.chance(0.2)) return choose.chance(0.5) ? other() : [...value, other()]
    const at = choose.below(value.length)
    return value.map((each, index) => (index === at ? mutate(each, choose) : each))
  }
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value)
    if (keys.length === 0 || choose.chance(0.15))
      return { ...value, [choose.pick(["unknown", "host", "name", "policies", "mode"])]: other() }
    const key = choose.pick(keys)
    const { [key]: chosen, ...rest } = value as Record<string, unknown>
    if (choose.chance(0.15)) return rest
    return { ...rest, [key]: mutate(chosen, choose) }
  }
  return other()
}
