import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { SchemaAST } from "effect"
import { schemas } from "./schemas.ts"

const kebab = (name: string) => name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (upper) => `-${upper.toLowerCase()}`)
const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory())

describe("policy schemas", () => {
  it("every policy has its folder, and its schema is the only export of schema.ts", async () => {
    for (const [name, { schema }] of Object.entries(schemas)) {
      const folder = kebab(name)
      assert.include(
        folders.map((each) => each.name),
        folder
      )
      const module: object = await import(join(import.meta.dirname, folder, "schema.ts"))
      const exports = Object.entries(module)
      assert.deepStrictEqual(
        exports.map(([key]) => key),
        [`${name[0]!.toUpperCase()}${name.slice(1)}`.replace("TLS", "Tls")]
      )
      assert.strictEqual(exports[0]![1], schema)
    }
  })

  it("every policy and every field says what it is", () => {
    const silent: Array<string> = []
    const visit = (ast: SchemaAST.AST, path: string, seen: ReadonlySet<SchemaAST.AST>): void => {
      const encoded = SchemaAST.toEncoded(ast)
      if (seen.has(encoded)) return
      const inner = new Set(seen).add(encoded)
      if (SchemaAST.isSuspend(encoded)) visit(encoded.thunk(), path, inner)
      if (SchemaAST.isUnion(encoded)) for (const type of encoded.types) visit(type, path, inner)
      if (SchemaAST.isArrays(encoded)) for (const type of encoded.rest) visit(type, `${path}[]`, inner)
      if (SchemaAST.isObjects(encoded))
        for (const property of encoded.propertySignatures) {
          const description = property.type.context?.annotations?.["description"]
          if (typeof description !== "string" || !/\.$/.test(description))
            silent.push(`${path}.${String(property.name)}`)
          visit(property.type, `${path}.${String(property.name)}`, inner)
        }
    }
    for (const [name, { schema }] of Object.entries(schemas)) {
      const ast = SchemaAST.toEncoded(schema.ast)
      if (SchemaAST.resolveIdentifier(ast) === undefined || SchemaAST.resolveDescription(ast) === undefined)
        silent.push(name)
      visit(schema.ast, name, new Set())
    }
    assert.deepStrictEqual(silent, [])
  })
})
