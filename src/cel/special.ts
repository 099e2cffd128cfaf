/** Functions that decide themselves which of their arguments are evaluated, and those that read the whole context. */
import type { Compiled, Compiler } from "./compile.ts"
import { type HostObject, StructView } from "./host.ts"
import type { VariableName } from "./phases.ts"
import { CelError } from "./problem.ts"
import type { Scope } from "./scope.ts"
import type { NodeOf } from "./syntax.ts"
import { CelMap } from "./value.ts"

/** Compiles `default`, `coalesce` and `variables`; `undefined` for any other call. */
export const compileSpecial = (
  compiler: Compiler,
  node: NodeOf<"call">,
  scope: Scope | undefined
): Compiled | undefined => {
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
      else if (value instanceof CelError) last = value
      else return value
    }
    return sawNull ? null : last
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
