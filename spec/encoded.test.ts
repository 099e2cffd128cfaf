import { assert, it } from "@effect/vitest"
import { SchemaAST } from "effect"
import { language } from "../src/check/check.ts"
import { type Shape, shapeOf } from "./config/shape.ts"

it("the form of a schema, read one step at a time, is that of the schema turned around, everywhere in a file", () => {
  const seen = new Set<Shape>()
  const facts = ({ property: _, item: __, readAs, ...rest }: Shape) => ({
    ...rest,
    readAs: [...rest.keys].map(readAs)
  })
  const compare = (own: Shape | undefined, turned: Shape | undefined, path: string): void => {
    if (own === undefined || turned === undefined) {
      assert.strictEqual(own, turned, path)
      return
    }
    if (seen.has(own)) return
    seen.add(own)
    assert.deepStrictEqual(facts(own), facts(turned), path)
    for (const key of [...own.keys, "any other"]) compare(own.property(key), turned.property(key), `${path}.${key}`)
    for (const index of [0, 1]) compare(own.item(index), turned.item(index), `${path}[${index}]`)
  }
  const { ast } = language.schema
  compare(shapeOf(ast), shapeOf(SchemaAST.toEncoded(ast)), "")
  assert.isAbove(seen.size, 300)
})
