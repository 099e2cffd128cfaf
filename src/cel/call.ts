/** Calls: macros, functions of the configuration, and the function library, chosen by name when compiled and by type when run. */
import { compileHas } from "./access.ts"
import type { Compiled, Compiler } from "./compile.ts"
import { compileCustom } from "./custom-functions.ts"
import { type Outcome, outOfWork, type Run } from "./frame.ts"
import type { Body, Overload, ParameterKind } from "./function.ts"
import { kindOf } from "./kind.ts"
import { overloadsOf } from "./library.ts"
import { compileMacro } from "./macros.ts"
import { noOverload } from "./operators.ts"
import { CelError } from "./problem.ts"
import { lookup, type Scope } from "./scope.ts"
import { compileSpecial } from "./special.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { dottedName } from "./types.ts"
import type { CelValue } from "./value.ts"

/** Compiles a call. */
export const compileCall = (compiler: Compiler, node: NodeOf<"call">, scope: Scope | undefined): Compiled => {
  if (node.target === undefined && node.name === "has" && node.args.length === 1) {
    const has = compileHas(compiler, node, scope)
    if (has !== undefined) return has
    compiler.report(node.args[0]!, "has() asks for a field: has(a.b)")
  }
  return (
    compileMacro(compiler, node, scope) ??
    compileSpecial(compiler, node, scope) ??
    compileCustom(compiler, node, scope) ??
    compileOverloads(compiler, node, scope)
  )
}

/** What a call calls: the name with its namespace, and the arguments with the receiver first. */
export interface Callee {
  readonly name: string
  readonly method: boolean
  readonly args: ReadonlyArray<Node>
}

/** Tells a namespace from a receiver: `math.least(a, b)` calls a function of that name, `a.least(b)` a method of `a`. */
export const calleeOf = (compiler: Compiler, node: NodeOf<"call">, isLocal: (name: string) => boolean): Callee => {
  const { name, target, args } = node
  if (target === undefined) return { name, method: false, args }
  const namespace = dottedName(target)
  const first = namespace?.split(".", 1)[0]
  if (first !== undefined && !isLocal(first) && !isVariable(compiler, first)) {
    const qualified = `${namespace}.${name}`
    if (overloadsOf(qualified, false).length > 0) return { name: qualified, method: false, args }
  }
  return { name, method: true, args: [target, ...args] }
}

const isVariable = (compiler: Compiler, name: string): boolean =>
  compiler.names.variables.has(name) || compiler.names.extra.has(name)

const compileOverloads = (compiler: Compiler, node: NodeOf<"call">, scope: Scope | undefined): Compiled => {
  const callee = calleeOf(compiler, node, (name) => lookup(scope, name) !== undefined)
  const overloads = overloadsOf(callee.name, callee.method)
  const fitting = overloads.filter((overload) => takes(overload, callee.args.length))
  if (fitting.length === 0) {
    const undeclared = new CelError("undeclared", `undeclared function: ${node.name}`, node.start, node.end)
    return { run: () => undeclared }
  }
  const args = callee.args.map((arg) => compiler.compile(arg, scope))
  const constants = args.map((arg) => arg.constant)
  const prepared = fitting.map((overload) => prepare(compiler, node, overload, constants))
  const { start, end } = node
  const call = applyTo(args, (values) => noOverload(node.name, ...values).at(start, end), prepared, fitting)
  const run: Run = (frame) => {
    const result = call(frame)
    return result instanceof CelError ? result.at(start, end) : result
  }
  return fitting.every((overload) => overload.pure) ? compiler.fold(args, run) : { run }
}

/** Whether an overload takes so many arguments. */
export const takes = (overload: Overload, count: number): boolean =>
  overload.variadic ? count >= overload.parameters.length - 1 : count === overload.parameters.length

const prepare = (
  compiler: Compiler,
  node: Node,
  overload: Overload,
  constants: ReadonlyArray<CelValue | undefined>
): Body => {
  const body = overload.prepare?.(constants)
  if (!(body instanceof CelError)) return body ?? overload.body
  compiler.report(node, body.message)
  return overload.body
}

const fits = (kind: ParameterKind | undefined, value: CelValue): boolean => kind === "dyn" || kindOf(value) === kind

type Fail = (values: ReadonlyArray<CelValue>) => CelError

/** Evaluates the arguments and calls the first body whose parameters they fit. One and two arguments, the usual, need no array. */
const applyTo = (
  args: ReadonlyArray<Compiled>,
  fail: Fail,
  bodies: ReadonlyArray<Body>,
  overloads: ReadonlyArray<Overload>
): Run => {
  const simple = overloads.every((overload) => !overload.variadic)
  const kinds = overloads.map((overload) => overload.parameters)
  const costs = overloads.map((overload) => overload.cost)
  const [first, second] = [args[0]?.run, args[1]?.run]
  if (simple && args.length === 1)
    return (frame) => {
      const a = first!(frame)
      if (a instanceof CelError) return a
      for (let i = 0; i < bodies.length; i++)
        if (fits(kinds[i]![0], a)) return frame.spend(costs[i]!) ? bodies[i]!(frame, a) : outOfWork
      return fail([a])
    }
  if (simple && args.length === 2)
    return (frame) => {
      const a = first!(frame)
      if (a instanceof CelError) return a
      const b = second!(frame)
      if (b instanceof CelError) return b
      for (let i = 0; i < bodies.length; i++)
        if (fits(kinds[i]![0], a) && fits(kinds[i]![1], b))
          return frame.spend(costs[i]!) ? bodies[i]!(frame, a, b) : outOfWork
      return fail([a, b])
    }
  const runs = args.map((arg) => arg.run)
  return (frame) => {
    const values: Array<CelValue> = []
    for (const run of runs) {
      const value: Outcome = run(frame)
      if (value instanceof CelError) return value
      values.push(value)
    }
    const at = overloads.findIndex((overload) => values.every((value, i) => fits(parameterAt(overload, i), value)))
    if (at === -1) return fail(values)
    return frame.spend(costs[at]!) ? bodies[at]!(frame, ...values) : outOfWork
  }
}

/** The kind of an argument's parameter; arguments beyond the last parameter of a variadic function are of its kind. */
export const parameterAt = (overload: Overload, index: number): ParameterKind | undefined =>
  overload.parameters[overload.variadic ? Math.min(index, overload.parameters.length - 1) : index]
