import { assert, describe, it } from "@effect/vitest"
import { suggestions } from "./suggestions.ts"

describe("suggestions of a configuration", () => {
  it("are the comments that say so, each on one line", () => {
    const text = `# Try: curl a
# About something else.
  # Try: curl b \\
  #   -H 'x: y' \\
  #   -d '{"$HOME": 1}'
gateways: {} # Try: not a line of its own
# Try: curl c`
    assert.deepStrictEqual(suggestions(text), ["curl a", `curl b -H 'x: y' -d '{"$HOME": 1}'`, "curl c"])
  })

  it("are none where nothing is suggested", () => {
    assert.deepStrictEqual(suggestions("gateways:\n  default: { port: 3000 }\n"), [])
  })

  it("end with the file", () => {
    assert.deepStrictEqual(suggestions("# Try: curl a \\"), [])
    assert.deepStrictEqual(suggestions("# Try: curl a\r\n# Try: curl b\r\n"), ["curl a", "curl b"])
  })
})
