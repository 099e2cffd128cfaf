import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Result, Schema } from "effect"
import { schemas } from "../../stages/schemas.ts"
import { explain } from "../config/explain.ts"
import { formatPath } from "../config/path.ts"
import { standalone } from "../standalone.ts"
import { document, editorSchema, type Node } from "./json-schema.ts"
import { choices, mutate, sampler } from "./samples.ts"

const file = standalone(schemas)
const written = document(file)
const { root, definitions } = written
const sample = sampler(written)
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
  // Where Azure judges content.
  /^expected a host name, as name\.cognitiveservices\.azure\.com, or an http or https URL$/,
  // What goes with which way of authenticating.
  /^method \w+ requires \w+$/,
  /^cannot be used with method \w+$/,
  /^cannot be used with grantType jwtBearer$/,
  /^use crossAppAccess for this kind of token$/,
  /^is set by the proxy$/,
  /^expected at least 1s$/,
  // Sizes may be texts with a unit.
  /^expected \d+ to \d+ bytes$/,
  // What a guard looks at.
  /looks at systemPrompt and messages only$/
]

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

  it("describes every field", () => {
    const silent = Object.entries(definitions).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Node>)
        .filter(([, node]) => typeof node["description"] !== "string")
        .map(([key]) => `${name}.${key}`)
    )
    assert.deepStrictEqual(silent, [])
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
