/** Generated files expand without a defect, and everything in the normalised form knows where it was written. */
import { assert, describe, it } from "@effect/vitest"
import { stringify } from "yaml"
import { document, type Node } from "../../../spec/generate/json-schema.ts"
import { choices, mutate, sampler } from "../../../spec/generate/samples.ts"
import { standalone } from "../../../spec/standalone.ts"
import { schemas } from "../../../stages/schemas.ts"
import { lint } from "../lint/lint.ts"
import { reader } from "../read.ts"

const described = document(standalone(schemas))
const sample = sampler(described)
const sections = Object.entries(described.definitions["Standalone"]!["properties"] as Record<string, Node>)
const read = reader(schemas)

/** Every place that a part of the normalised form says of itself. */
const placesIn = (value: unknown, into: Array<ReadonlyArray<string | number>> = []) => {
  if (typeof value !== "object" || value === null) return into
  for (const [key, inner] of Object.entries(value))
    if (key === "path" && Array.isArray(inner)) into.push(inner)
    else placesIn(inner, into)
  return into
}

describe("laws of the normalised form", () => {
  it("every generated file is expanded or refused, each problem at a place of its own, and no part loses its place", () => {
    const seen = { expanded: 0, refused: 0, places: 0, warnings: 0 }
    for (let seed = 1; seed <= 1500; seed++) {
      const choose = choices(seed * 86_028_121)
      const [key, node] = choose.pick(sections)
      const ported = key === "binds" || key === "gateways" ? {} : { gateways: { default: { port: 80 } } }
      const right = { ...ported, [key]: sample(node, choose) }
      const config = choose.chance(0.3) ? mutate(right, choose) : right
      const text = stringify(config)
      const result = read({ name: "config.yaml", text, env: {} })
      const lines = text.split("\n")
      const problems = result.ok ? lint(result.value) : result.problems
      for (const { line, column } of problems) {
        assert.isAtMost(line, lines.length)
        assert.isAtMost(column, lines[line - 1]!.length + 1)
      }
      if (!result.ok) {
        assert.isNotEmpty(problems, text)
        seen.refused++
        continue
      }
      seen.expanded++
      seen.warnings += problems.length
      const { normalised, positions } = result.value
      for (const path of placesIn(normalised)) {
        // What a section leaves out and has all the same is at the section, or nowhere.
        if (path.length <= 1) continue
        assert.isTrue(positions.has(path), `seed ${seed}: ${path.join(".")} in\n${text}`)
        seen.places++
      }
    }
    assert.isAbove(seen.expanded, 600, JSON.stringify(seen))
    assert.isAbove(seen.refused, 200, JSON.stringify(seen))
    assert.isAbove(seen.places, 1000, JSON.stringify(seen))
    assert.isAbove(seen.warnings, 100, JSON.stringify(seen))
  })
})
