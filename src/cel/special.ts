/** Functions that decide themselves which of their arguments are evaluated, and those that read the whole context. */
import type { Compiled, Compiler } from "./compile.ts"
import { type HostObject, StructView } from "./host.ts"
import { noOverload } from "./operators.ts"
import type { VariableName } from "./phases.ts"
import { CelError } from "./problem.ts"
import type { Scope } from "./scope.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { CelMap, Optional } from "./value.ts"

/** The names of these functions; `or` and `orValue` have a receiver. */
export const specialNames: ReadonlySet<string> = new Set(["default", "coalesce", "variables", "or", "orValue"])

/** Compiles `default`, `coalesce`, `or`, `orValue` and `variables`; `undefined` for any other call. */
export const compileSpecial = (
  compiler: Compiler,
  node: NodeOf<"call">,
  scope: Scope | undefined
): Compiled | undefined => {
  if (node.target !== undefined && node.args.length === 1 && (node.name === "or" || node.name === "orValue"))
    return compileOr(compiler, node, node.target, scope)
  if (node.target !== undefined) return undefined
  if (node.name === "default" && node.args.length === 2) return compileDefault(compiler, node, scope)
  if (node.name === "coalesce" && node.args.length > 0) return compileCoalesce(compiler, node, scope)
  if (node.name === "variables" && node.args.length === 0) return compileVariables(compiler)
  return undefined
}

/** `default(expr, d)`: d where the expression is null or names something that is not there; other errors pass. */
const compileDefault = (compiler: Compiler, node: NodeOf<"call">, scope: Scope | undefined): Compiled => {
  const parts = node.args.map((arg) => compiler.compile(arg, scope)) as [Compiled, Compiled]
  const [wanted, otherwise] = [parts[0].run, parts[1].run]
  return compiler.fold(parts, (frame) => {
    const value = wanted(frame)
    if (value === null) return otherwise(frame)
    if (!(value instanceof CelError)) return value
    return value.code === "no_such_key" || value.code === "undeclared" ? otherwise(frame) : value
  })
}

/** `coalesce(a, b, …)`: the first that is neither null nor an error; else null if one was null, else the last error. */
const compileCoalesce = (compiler: Compiler, node: NodeOf<"call">, scope: Scope | undefined): Compiled => {
  const parts = node.args.map((arg) => compiler.compile(arg, scope))
  const runs = parts.map((part) => part.run)
  return compiler.fold(parts, (frame) => {
    let last: CelError | null = null
    let sawNull = false
    for (let i = 0; i < runs.length; i++) {
      const value = runs[i]!(frame)
      if (value === null) sawNull = true
      else if (value instanceof CelError) {
        frame.pass(value)
        last = value
      } else return value
    }
    return sawNull ? null : last
  })
}

/** `a.or(b)` and `a.orValue(b)` on optionals: b is evaluated only where a has no value. */
const compileOr = (compiler: Compiler, node: NodeOf<"call">, target: Node, scope: Scope | undefined): Compiled => {
  const parts = [compiler.compile(target, scope), compiler.compile(node.args[0]!, scope)] as const
  const [wanted, otherwise] = [parts[0].run, parts[1].run]
  const { name, start, end } = node
  return compiler.fold(parts, (frame) => {
    const value = wanted(frame)
    if (value instanceof CelError) return value
    if (!(value instanceof Optional)) return noOverload(name, value).at(start, end)
    if (value.value !== undefined) return name === "or" ? value : value.value
    const other = otherwise(frame)
    if (name === "orValue" || other instanceof CelError || other instanceof Optional) return other
    return noOverload(name, value, other).at(start, end)
  })
}

/** `variables()`: every variable that is set, as a map. */
const compileVariables = (compiler: Compiler): Compiled => {
  const { variables, extra } = compiler.names
  return {
    run: (frame) => {
      const map = new CelMap()
      for (const [name, struct] of variables) {
        const host = frame.bindings[name as VariableName]
        if (host !== undefined && host !== null)
          map.set(name, new StructView(struct, host as HostObject, frame.bindings.sensitiveHeaders))
      }
      for (const name of extra) {
        const value = frame.bindings.extra?.[name]
        if (value !== undefined && value !== null) map.set(name, value)
      }
      return map
    }
  }
}
