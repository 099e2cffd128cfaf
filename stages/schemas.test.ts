import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { SchemaAST } from "effect"
import { locationKeys } from "../spec/location.ts"
import { standalone } from "../spec/standalone.ts"
import { schemas } from "./schemas.ts"

const kebab = (name: string) => name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (upper) => `-${upper.toLowerCase()}`)
const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory())

describe("policy schemas", () => {
  it("every policy has its folder, and schema.ts has its schema and what it declares beside it, and nothing else", async () => {
    for (const [name, declaration] of Object.entries(schemas)) {
      const folder = kebab(name)
      assert.include(
        folders.map((each) => each.name),
        folder
      )
      const module: object = await import(join(import.meta.dirname, folder, "schema.ts"))
      const schema = `${name[0]!.toUpperCase()}${name.slice(1)}`.replace("TLS", "Tls")
      assert.deepStrictEqual({ ...module }, { [schema]: declaration.schema, [name]: declaration })
    }
  })

  it("a credential stands under a key that logs and traces know", () => {
    const keys = new Set<string>()
    const seen = new Set<SchemaAST.AST>()
    const isLocation = (ast: SchemaAST.AST): boolean =>
      SchemaAST.isUnion(ast)
        ? ast.types.some(isLocation)
        : SchemaAST.isObjects(ast) &&
          ["header", "queryParameter"].every((name) => ast.propertySignatures.some((each) => each.name === name))
    const visit = (ast: SchemaAST.AST): void => {
      if (seen.has(ast)) return
      seen.add(ast)
      for (const { to } of ast.encoding ?? []) visit(to)
      if (SchemaAST.isSuspend(ast)) visit(ast.thunk())
      if (SchemaAST.isUnion(ast)) for (const type of ast.types) visit(type)
      if (SchemaAST.isArrays(ast)) for (const type of [...ast.elements, ...ast.rest]) visit(type)
      if (SchemaAST.isObjects(ast)) {
        for (const { type } of ast.indexSignatures) visit(type)
        for (const { name, type } of ast.propertySignatures) {
          if (isLocation(type)) keys.add(String(name))
          visit(type)
        }
      }
    }
    visit(standalone(schemas).ast)
    assert.deepStrictEqual(keys, new Set(locationKeys))
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
