import { assert, describe, it } from "@effect/vitest"
import { withoutAnchors } from "./anchors.ts"

describe("anchors", () => {
  it.each([
    ["^ab$", "ab"],
    ["ab", "ab"],
    ["a\\$", "a\\$"],
    ["a\\\\$", "a\\\\"],
    ["a\\\\\\$", "a\\\\\\$"],
    ["^*a", "^*a"],
    ["^(?i)a$", "^(?i)a"],
    ["^\\Qa$", "^\\Qa$"]
  ])("%s needs no more anchors than %s", (source, bare) => {
    assert.strictEqual(withoutAnchors(source), bare)
  })
})
