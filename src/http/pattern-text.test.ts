import { assert, describe, it } from "@effect/vitest"
import { literalBeginning, withoutAnchors } from "./pattern-text.ts"

describe("what the text of a pattern shows", () => {
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

  it.each([
    ["/api/.*", "/api/", ".*"],
    ["/a\\.b", "/a.b", ""],
    ["/ab*", "/a", "b*"],
    [".*", "", ".*"],
    ["/a|b", "", "/a|b"],
    ["/a(b|c)", "/a", "(b|c)"],
    ["/a[|^]b", "/a", "[|^]b"],
    ["/a[]|]b", "/a", "[]|]b"],
    ["/a[^]|]b", "/a", "[^]|]b"],
    ["/a[[:digit:]|]", "/a", "[[:digit:]|]"],
    ["/a(?i)b", "", "/a(?i)b"],
    ["/a.\\bb", "", "/a.\\bb"]
  ])("%s begins with %s", (source, literal, rest) => {
    assert.deepStrictEqual(literalBeginning(source), { literal, rest })
  })
})
