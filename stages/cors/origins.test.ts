import { assert, describe, it } from "@effect/vitest"
import { compileOrigins } from "./origins.ts"

describe("allowed origins", () => {
  const { admits } = compileOrigins(["https://app.example", "http://*.dev.example:8080", "https://Upper.example:443"])

  it.each<readonly [string, boolean]>([
    ["https://app.example", true],
    ["https://APP.example", true],
    ["https://app.example:443", true],
    ["https://app.example:8443", false],
    ["http://app.example", false],
    ["https://app.example.evil", false],
    ["http://a.dev.example:8080", true],
    ["http://a.b.dev.example:8080", true],
    ["http://*.dev.example:8080", true],
    ["http://dev.example:8080", false],
    ["http://a.dev.example", false],
    ["https://upper.example", true],
    ["https://Upper.example:443", true],
    ["null", false],
    ["", false]
  ])("%s: %s", (origin, expected) => {
    assert.strictEqual(admits(origin), expected)
  })

  it("names what is no origin by its place", () => {
    assert.deepStrictEqual(compileOrigins(["https://a.example", "a.example", "ftp://a.example"]).invalid, [1, 2])
  })
})
