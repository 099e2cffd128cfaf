import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Result, Schema } from "effect"
import { schemas } from "../../stages/schemas.ts"
import { explain } from "../config/explain.ts"
import { formatPath } from "../config/path.ts"
import { standalone } from "../standalone.ts"
import { document, editorSchema, type Node } from "./json-schema.ts"

const file = standalone(schemas)
const { root, definitions } = document(file)
const sections = Object.entries(definitions["Standalone"]!["properties"] as Record<string, Node>)
const decodeFile = Schema.decodeUnknownResult(file, { errors: "all", onExcessProperty: "error" })

/** What the decoder refuses and JSON Schema cannot say, by the words of the refusal. */
const beyondJsonSchema: ReadonlyArray<RegExp> = [
  /^must not be more than maxTokens$/,
  /^only the last (entry|target) may have no condition$/,
  /^must be more than that of the tier before$/,
  /^another (target|provider) has this name$/,
  // Where an MCP server is.
  /^host and backend exclude each other$/,
  /^cannot be used with backend$/,
  /^expected exactly one of host, backend$/,
  /^port and path come together$/,
  /^expected a host name, since port and path are given$/,
  /^invalid scheme$/,
  /^expected an http or https URL, or host:port$/,
  /^a target that names a backend cannot have policies/,
  // What goes with which way of authenticating.
  /^method \w+ requires \w+$/,
  /^cannot be used with method \w+$/,
  /^cannot be used with grantType jwtBearer$/,
  /^use crossAppAccess for this kind of token$/,
  /^is set by the proxy$/,
  /^expected at least 1s$/,
  // What a guard looks at.
  /looks at systemPrompt and messages only$/
]

/** A reproducible source of choices. */
const choices = (seed: number) => {
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

type Choices = ReturnType<typeof choices>

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

const refs = new Map<string, Node>()
const resolve = (node: Node): Node => {
  if (typeof node["$ref"] !== "string") return node
  const name = node["$ref"].replace("#/$defs/", "")
  if (!refs.has(name)) refs.set(name, definitions[name]!)
  return refs.get(name)!
}

/** A value that mostly follows a schema: only what stands between fields is sometimes missed. */
const sample = (given: Node, choose: Choices, depth: number): unknown => {
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

/** Changes one value somewhere. */
const mutate = (value: unknown, choose: Choices): unknown => {
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

const ajv = new Ajv2020({ strict: false, validateFormats: false, unicodeRegExp: true })
const validate = ajv.compile(editorSchema(file, "config.schema.json"))

const compare = (value: unknown): "accepted" | "refused" | "beyond" => {
  const accepts = validate(value)
  const result = decodeFile(value)
  if (Result.isSuccess(result)) {
    if (!accepts)
      assert.fail(
        `decoded, but refused by the JSON Schema: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`
      )
    return "accepted"
  }
  if (!accepts) return "refused"
  const findings = explain(result.failure.issue, () => undefined)
  const told = findings.filter(({ message }) => !beyondJsonSchema.some((pattern) => pattern.test(message)))
  const lines = told.map(({ path, message }) => `${formatPath(path)}: ${message}`)
  assert.deepStrictEqual(lines, [], `accepted by the JSON Schema, but not decoded: ${JSON.stringify(value)}`)
  return "beyond"
}

describe("the JSON Schema of the file", () => {
  it("is a valid schema in which every reference leads somewhere", () => {
    assert.isTrue(ajv.validateSchema(editorSchema(file, "another.schema.json")))
    const text = JSON.stringify({ root, definitions })
    for (const [, name] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) assert.property(definitions, name!)
    assert.notInclude(text, "x-recursion")
  })

  it("accepts what the decoder accepts, for generated files and their mutations", () => {
    const counts = { accepted: 0, refused: 0, beyond: 0 }
    for (let seed = 1; seed <= 3000; seed++) {
      const choose = choices(seed * 7919)
      const [key, node] = choose.pick(sections)
      const value = { [key]: sample(node, choose, 0) }
      counts[compare(value)]++
      for (let times = 0; times < 3; times++) counts[compare(mutate(value, choose))]++
    }
    // The law must bite on both sides.
    assert.isAbove(counts.accepted, 500, JSON.stringify(counts))
    assert.isAbove(counts.refused, 500, JSON.stringify(counts))
  })

  it("what is decoded can be written back and means the same", () => {
    let times = 0
    for (let seed = 1; seed <= 3000; seed++) {
      const choose = choices(seed * 15_485_863)
      const [key, node] = choose.pick(sections)
      const decoded = decodeFile({ [key]: sample(node, choose, 0) })
      if (Result.isFailure(decoded)) continue
      times++
      const written = Schema.encodeUnknownResult(file)(decoded.success)
      const again = decodeFile(Result.getOrThrow(written))
      assert.deepStrictEqual(again, decoded, JSON.stringify(Result.getOrThrow(written)))
    }
    assert.isAbove(times, 1000)
  })

  it("holds for every policy by itself", () => {
    const policies = definitions["RoutePolicies"]!["properties"] as Record<string, Node>
    const backend = definitions["BackendPolicies"]!["properties"] as Record<string, Node>
    const counts = { accepted: 0, refused: 0, beyond: 0 }
    const reached = new Set<string>()
    for (let seed = 1; seed <= 60; seed++)
      for (const [place, all] of [
        ["route", policies],
        ["backend", backend]
      ] as const)
        for (const [name, node] of Object.entries(all)) {
          const choose = choices(seed * 104_729 + name.length)
          const config = sample(node, choose, 1)
          const route =
            place === "route"
              ? { policies: { [name]: config } }
              : { backends: [{ host: "a:1", policies: { [name]: config } }] }
          const value = { routes: [route] }
          const outcome = compare(value)
          counts[outcome]++
          if (outcome === "accepted") reached.add(name)
          counts[compare(mutate(value, choose))]++
        }
    assert.deepStrictEqual(
      Object.keys({ ...policies, ...backend }).filter((name) => !reached.has(name)),
      []
    )
    assert.isAbove(counts.accepted, counts.refused / 4, JSON.stringify(counts))
  })
})
