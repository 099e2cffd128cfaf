/**
 * Finds schemas that another copy of `effect` made. They have the same shape and are read wrongly: a string looks like a
 * symbol. Whoever defines a policy with one is told at once, since no later message would name the reason.
 */
import { type Schema, SchemaAST } from "effect"

const isOurs = (ast: SchemaAST.AST): boolean => {
  const own: unknown = Reflect.get(SchemaAST, ast._tag)
  return typeof own === "function" && ast instanceof own
}

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const encoded = ast.encoding?.map(({ to }) => to) ?? []
  switch (ast._tag) {
    case "Objects":
      return [
        ...encoded,
        ...ast.propertySignatures.map(({ type }) => type),
        ...ast.indexSignatures.flatMap(({ parameter, type }) => [parameter, type])
      ]
    case "Arrays":
      return [...encoded, ...ast.elements, ...ast.rest]
    case "Union":
      return [...encoded, ...ast.types]
    case "Declaration":
      return [...encoded, ...ast.typeParameters]
    default:
      return encoded
  }
}

/** Parts of which that is known, with all that they contain: policies share most of theirs. */
const known = new WeakSet<SchemaAST.AST>()

/** Whether the schema, or a part of it, comes from elsewhere. */
export const isForeign = (schema: Schema.Top): boolean => {
  const seen = new Set([schema.ast])
  for (const ast of seen) {
    if (known.has(ast)) continue
    if (!isOurs(ast)) return true
    for (const part of partsOf(ast)) seen.add(part)
  }
  for (const ast of seen) known.add(ast)
  return false
}
