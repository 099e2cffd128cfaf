/** The names of types as values: `int`, `list`, `google.protobuf.Timestamp`. */
import type { VariableName } from "./phases.ts"
import { variables } from "./phases.ts"
import { lookup, type Scope } from "./scope.ts"
import type { Node } from "./syntax.ts"
import { TypeValue } from "./value.ts"

const names = [
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "list",
  "map",
  "null_type",
  "optional_type",
  "string",
  "timestamp",
  "type",
  "uint",
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
  "net.IP",
  "net.CIDR"
]

const aliases: Readonly<Record<string, string>> = {
  duration: "google.protobuf.Duration",
  timestamp: "google.protobuf.Timestamp"
}

const types = new Map(names.map((name) => [name, new TypeValue(aliases[name] ?? name)]))

/** The type that a name, or a path of names, denotes; `undefined` where it denotes none. */
export const typeNamed = (node: Node, scope: Scope | undefined): TypeValue | undefined => {
  const path = dottedName(node)
  if (path === undefined || isShadowed(node, scope)) return undefined
  return isVariable(path.split(".", 1)[0]!) ? undefined : types.get(path)
}

/** Whether the first name of a path is a variable that the expression introduces. */
export const isShadowed = (node: Node, scope: Scope | undefined): boolean =>
  node.kind === "select"
    ? isShadowed(node.operand, scope)
    : node.kind === "ident" && !node.absolute && lookup(scope, node.name) !== undefined

const isVariable = (name: string): name is VariableName => Object.hasOwn(variables, name)

/** `a.b.c` for a chain of selections on a name. */
export const dottedName = (node: Node): string | undefined => {
  if (node.kind === "ident") return node.name
  if (node.kind !== "select" || node.optional) return undefined
  const operand = dottedName(node.operand)
  return operand === undefined ? undefined : `${operand}.${node.field}`
}
