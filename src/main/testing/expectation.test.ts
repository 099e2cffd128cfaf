import { assert, describe, it } from "@effect/vitest"
import { differences, readExpectations } from "./expectation.ts"

describe("expectations", () => {
  const rows: ReadonlyArray<readonly [expected: string, actual: unknown, found: ReadonlyArray<string>]> = [
    ["{ a: 1 }", { a: 1, b: 2 }, []],
    ["{ a: 1, b: null }", { a: 1 }, ["$.b: expected null, got nothing"]],
    ["!exactly { a: 1 }", { a: 1, b: 2 }, ["$.b: expected nothing, got 2"]],
    ["{ a: !exactly { b: !integer } }", { a: { b: 1.5 } }, ["$.a.b: expected an integer, got 1.5"]],
    ["!exactly { b: !matches ^x }", { b: "y" }, ['$.b: expected /^x/, got "y"']],
    ["!matches ^x", { x: 1 }, ['$: expected /^x/, got {"x":1}']],
    ["[1, 2]", [1], ["$: expected 2 items, got [1]"]],
    ["[{ a: 1 }]", [{ a: 2 }], ["$[0].a: expected 1, got 2"]],
    ["{ a: [] }", { a: {} }, ["$.a: expected a list, got {}"]],
    ["{ a: {} }", { a: [] }, ["$.a: expected an object, got []"]],
    ["!base64 made", "bWFkZQ==", []],
    ["text", "texts", ['$: expected "text", got "texts"']]
  ]
  for (const [expected, actual, found] of rows)
    it(`${expected} says of ${JSON.stringify(actual)}: ${found[0] ?? "all is well"}`, () => {
      assert.deepStrictEqual(differences(readExpectations(expected), actual), found)
    })
})
