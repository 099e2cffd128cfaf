/** Reading variables and what lies inside them: fields, elements, headers, and the question whether they are there. */
import { elementAt, jsonField, lengthOf, valueAt } from "./compare.ts"
import type { Compiled, Compiler } from "./compile.ts"
import { type Frame, type Outcome, outOfWork, type Run } from "./frame.ts"
import { HeadersView, hasHeader, headerField } from "./headers.ts"
import { fromHost, type HostObject, isHeldAsIs, restField, StructView } from "./host.ts"
import { kindOf } from "./kind.ts"
import { noOverload } from "./operators.ts"
import type { VariableName } from "./phases.ts"
import { CelError } from "./problem.ts"
import { type Field, isStruct, type RawHeaders, type Struct } from "./schema.ts"
import { lookup, type Scope } from "./scope.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { dottedName, isShadowed, typeNamed } from "./types.ts"
import { type CelValue, type JsonObject, type ListValue, type MapValue, Optional, Uint } from "./value.ts"

/** A structure of the host that a path of names leads to: `source.identity`. It is read without a value being made of it. */
interface HostPath {
  readonly struct: Struct
  readonly read: (frame: Frame) => HostObject | null | undefined
}

/** The path that a node is, if it is one. */
const hostPath = (compiler: Compiler, node: Node, scope: Scope | undefined): HostPath | undefined => {
  if (node.kind === "ident") {
    if (!node.absolute && lookup(scope, node.name) !== undefined) return undefined
    const struct = compiler.names.variables.get(node.name)
    const name = node.name as VariableName
    return struct && { struct, read: (frame) => frame.bindings[name] }
  }
  const step = stepOf(node)
  if (step === undefined) return undefined
  const parent = hostPath(compiler, step.operand, scope)
  const field = parent && fieldOf(parent.struct, step.name)
  if (parent === undefined || field === undefined || !isStruct(field.type)) return undefined
  const { read } = parent
  const { name } = step
  return { struct: field.type, read: (frame) => read(frame)?.[name] as HostObject | null | undefined }
}

/** A selection by a name that the text gives: `a.b` and `a["b"]` are the same. */
export const stepOf = (node: Node): { readonly operand: Node; readonly name: string } | undefined => {
  if (node.kind === "select" && !node.optional) return { operand: node.operand, name: node.field }
  if (node.kind === "index" && !node.optional && node.index.kind === "literal" && typeof node.index.value === "string")
    return { operand: node.operand, name: node.index.value }
  return undefined
}

const fieldOf = (struct: Struct, name: string): Field | undefined =>
  Object.hasOwn(struct.fields, name) ? struct.fields[name] : undefined

/** The header list that a node is, if it is one: `request.headers`. */
const headersPath = (
  compiler: Compiler,
  node: Node,
  scope: Scope | undefined
): ((frame: Frame) => RawHeaders | null | undefined) | undefined => {
  const step = stepOf(node)
  const parent = step && hostPath(compiler, step.operand, scope)
  if (step === undefined || parent === undefined || fieldOf(parent.struct, step.name)?.type !== "headers")
    return undefined
  const { read } = parent
  const { name } = step
  return (frame) => read(frame)?.[name] as RawHeaders | null | undefined
}

const missingKey = (name: string, node: Node) =>
  new CelError("no_such_key", `no such key: ${name}`, node.start, node.end)

/** A name that stands alone. */
export const compileIdent = (compiler: Compiler, node: NodeOf<"ident">, scope: Scope | undefined): Compiled => {
  const local = node.absolute ? undefined : lookup(scope, node.name)
  if (local !== undefined) {
    const { slot } = local
    return { run: (frame) => frame.locals[slot]! }
  }
  const struct = compiler.names.variables.get(node.name)
  const name = node.name as VariableName
  if (struct !== undefined)
    return {
      run: (frame) => {
        const host = frame.bindings[name]
        return host === undefined || host === null
          ? null
          : new StructView(struct, host as HostObject, frame.bindings.sensitiveHeaders)
      }
    }
  const extra = compileExtra(compiler, node, scope)
  if (extra !== undefined) return extra
  const type = typeNamed(node, scope)
  if (type !== undefined) return { run: () => type, constant: type }
  const undeclared = new CelError("undeclared", `undeclared reference: ${node.name}`, node.start, node.end)
  return { run: () => undeclared }
}

/** A further variable; its name may have dots. */
const compileExtra = (compiler: Compiler, node: Node, scope: Scope | undefined): Compiled | undefined => {
  const name = dottedName(node)
  if (name === undefined || !compiler.names.extra.has(name) || isShadowed(node, scope)) return undefined
  const missing = missingKey(name, node)
  return { run: (frame) => orMissing(frame.bindings.extra?.[name], missing) }
}

/** `a.b`, `a["b"]`, and their optional forms. */
export const compileSelect = (
  compiler: Compiler,
  node: NodeOf<"select"> | NodeOf<"index">,
  scope: Scope | undefined
): Compiled => {
  const extra = compileExtra(compiler, node, scope)
  if (extra !== undefined) return extra
  const step = stepOf(node)
  if (step === undefined) return compileDynamic(compiler, node, scope)
  const { name } = step
  const missing = missingKey(name, node)

  const headers = headersPath(compiler, step.operand, scope)
  if (headers !== undefined) {
    const lower = name.toLowerCase()
    return {
      run: (frame) => {
        const raw = headers(frame)
        if (raw === undefined || raw === null) return missing
        return frame.spend(raw.length >> 5) ? (headerField(raw, lower) ?? missing) : outOfWork
      }
    }
  }
  const parent = hostPath(compiler, step.operand, scope)
  if (parent !== undefined) return { run: fieldRun(parent, name, missing) }

  const operand = compiler.compile(step.operand, scope)
  const { run } = operand
  return compiler.fold([operand], (frame) => {
    const value = run(frame)
    return typeof value === "object" && value !== null ? selectName(value, name, missing) : missing
  })
}

const orMissing = (value: CelValue | undefined, missing: CelError): Outcome => (value === undefined ? missing : value)

const fieldRun = ({ read, struct }: HostPath, name: string, missing: CelError): Run => {
  const field = fieldOf(struct, name)
  if (field === undefined) {
    if (struct.rest === undefined) return () => missing
    return (frame) => {
      const host = read(frame)
      return host === undefined || host === null ? missing : orMissing(restField(struct, host, name), missing)
    }
  }
  const { type } = field
  if (isHeldAsIs(type)) return (frame) => orMissing(read(frame)?.[name] as CelValue | undefined, missing)
  return (frame) => orMissing(fromHost(type, read(frame)?.[name], frame.bindings.sensitiveHeaders), missing)
}

/** A selection whose key, or whose form, is known only at run time. */
const compileDynamic = (
  compiler: Compiler,
  node: NodeOf<"select"> | NodeOf<"index">,
  scope: Scope | undefined
): Compiled => {
  const operand = compiler.compile(node.operand, scope)
  const key: Compiled =
    node.kind === "select" ? { run: () => node.field, constant: node.field } : compiler.compile(node.index, scope)
  const [container, index] = [operand.run, key.run]
  const { start, end, optional } = node
  return compiler.fold([operand, key], (frame) => {
    const value = container(frame)
    if (value instanceof CelError) return value
    const at = index(frame)
    if (at instanceof CelError) return at
    if (value instanceof HeadersView && !frame.spend(value.headers.length >> 5)) return outOfWork
    const found = optional ? selectOptional(value, at) : selectIndex(value, at)
    return found instanceof CelError ? found.at(start, end) : found
  })
}

const selectName = (value: object, name: string, missing: CelError): Outcome => {
  if (Object.getPrototypeOf(value) === Object.prototype) return orMissing(jsonField(value as JsonObject, name), missing)
  if (value instanceof CelError) return value
  const found = selectIndex(value as CelValue, name)
  return found instanceof CelError ? found.at(missing.start, missing.end) : found
}

/** What a container holds under a key: the element of a list, the value of a map, the same inside an optional. */
const selectIndex = (value: CelValue, key: CelValue): Outcome => {
  if (value instanceof Optional) return selectOptional(value, key)
  switch (kindOf(value)) {
    case "map":
      return orMissing(valueAt(value as MapValue, key), noSuchKey)
    case "list": {
      const index = listIndex(key)
      if (index === undefined) return noOverload("[]", value, key)
      return index < lengthOf(value as ListValue) ? elementAt(value as ListValue, index) : outOfRange
    }
    case "null":
      return noSuchKey
    default:
      return noOverload("[]", value, key)
  }
}

/** The same as an optional: what is not there is none. */
const selectOptional = (value: CelValue, key: CelValue): Outcome => {
  const container = value instanceof Optional ? value.value : value
  // A variable that is not set is null, and has no fields.
  if (container === undefined || value === null) return Optional.none
  const found = container === null ? noOverload("?", null) : selectIndex(container, key)
  if (!(found instanceof CelError)) return found instanceof Optional ? found : new Optional(found)
  return found.code === "no_such_key" ? Optional.none : found
}

/** An index as JavaScript counts; `undefined` for what is no integer, and -1 becomes a number that no list reaches. */
const listIndex = (key: CelValue): number | undefined => {
  const index = typeof key === "bigint" ? Number(key) : key instanceof Uint ? Number(key.value) : key
  return typeof index === "number" && Number.isInteger(index) ? (index < 0 ? Number.MAX_VALUE : index) : undefined
}

/** Keys that only run time knows are not told: they may be secret, and errors are logged. */
const noSuchKey = new CelError("no_such_key", "no such key")
const outOfRange = new CelError("no_such_key", "index out of range")

/** `has(a.b)`: whether the field is there. What is no map has no fields; a missing parent is still an error. */
export const compileHas = (
  compiler: Compiler,
  node: NodeOf<"call">,
  scope: Scope | undefined
): Compiled | undefined => {
  const field = node.args[0]!
  if (field.kind !== "select" && field.kind !== "index") return undefined
  const step = field.optional && field.kind === "select" ? { operand: field.operand, name: field.field } : stepOf(field)
  if (step === undefined) return undefined
  const { name } = step

  const headers = headersPath(compiler, step.operand, scope)
  if (headers !== undefined) {
    const lower = name.toLowerCase()
    return {
      run: (frame) => {
        const raw = headers(frame)
        if (raw === undefined || raw === null) return false
        return frame.spend(raw.length >> 5) ? hasHeader(raw, lower) : outOfWork
      }
    }
  }
  const parent = hostPath(compiler, step.operand, scope)
  if (parent !== undefined) {
    const { read, struct } = parent
    if (fieldOf(struct, name) !== undefined) return { run: (frame) => read(frame)?.[name] !== undefined }
    return {
      run: (frame) => {
        const host = read(frame)
        return host !== undefined && host !== null && restField(struct, host, name) !== undefined
      }
    }
  }
  const operand = compiler.compile(step.operand, scope)
  const { run } = operand
  return compiler.fold([operand], (frame) => {
    const value = run(frame)
    return value instanceof CelError ? value : hasField(value, name)
  })
}

const hasField = (value: CelValue, name: string): boolean => {
  if (value instanceof Optional) return value.value !== undefined && hasField(value.value, name)
  return value !== null && kindOf(value) === "map" && valueAt(value as MapValue, name) !== undefined
}
