/**
 * The form in the file that a schema reads, one step at a time: `SchemaAST.toEncoded` turns a schema around with all that it
 * contains, which for the whole language takes longer than to read a small file with it.
 */
import { SchemaAST } from "effect"

/** The outermost node of the form. What it contains may have a form of its own still. */
export const formOf = (ast: SchemaAST.AST): SchemaAST.AST =>
  ast.encoding === undefined ? ast : formOf(ast.encoding.at(-1)!.to)

/** What is said of the form of which `ast` is the outermost node. */
export const saidOf = (ast: SchemaAST.AST) => {
  const checks = "encodingChecks" in ast ? ast.encodingChecks : undefined
  // Whether checks of the value hold for the form as well depends on all that it contains.
  if (ast.checks !== undefined && "recur" in ast) return SchemaAST.resolve(SchemaAST.toEncoded(ast))
  return checks === undefined ? SchemaAST.resolve(ast) : checks.at(-1)!.annotations
}
