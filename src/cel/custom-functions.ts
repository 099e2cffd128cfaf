/** Functions that the configuration defines: how they are called. Their bodies are compiled once per expression. */
import type { Compiled, Compiler } from "./compile.ts"
import { type Outcome, outOfWork, type Run, tooLarge } from "./frame.ts"
import { maxElements } from "./limits.ts"
import { CelError } from "./problem.ts"
import type { Scope } from "./scope.ts"
import type { Node, NodeOf } from "./syntax.ts"
import { turnCost } from "./turn-cost.ts"
import { CelList, type CelValue } from "./value.ts"

/** A function of the configuration. */
export interface CustomFunction {
  readonly name: string
  /** Whether it is called on a receiver, which its body names `this`. */
  readonly method: boolean
  readonly parameters: ReadonlyArray<string>
  /** Whether the last parameter collects all further arguments in a list. */
  readonly rest: boolean
  readonly body: Node
}

/** Functions by name, methods with a dot before it. */
export type CustomFunctions = ReadonlyMap<string, CustomFunction>

export const noFunctions: CustomFunctions = new Map()

/** A function compiled for one expression: where its parameters stand, and its body. */
interface Definition {
  readonly slots: ReadonlyArray<number>
  readonly body: Run
  readonly cost: number
}

const definitions = new WeakMap<Compiler, Map<CustomFunction, Definition>>()

const definitionOf = (compiler: Compiler, declared: CustomFunction): Definition => {
  const known = definitions.get(compiler) ?? new Map<CustomFunction, Definition>()
  definitions.set(compiler, known)
  const existing = known.get(declared)
  if (existing !== undefined) return existing
  let scope: Scope | undefined
  const slots: Array<number> = []
  for (const name of declared.method ? ["this", ...declared.parameters] : declared.parameters) {
    scope = compiler.bind(name, scope)
    slots.push(scope.slot)
  }
  const definition = { slots, body: compiler.compileElsewhere(declared.body, scope).run, cost: turnCost(declared.body) }
  known.set(declared, definition)
  return definition
}

/**
 * Compiles a call of a function of the configuration; `undefined` for any other call. An argument that fails is an error where the body
 * reads it, so that `default(x, …)` works on a parameter. Functions are never recursive, hence one set of slots each.
 */
export const compileCustom = (
  compiler: Compiler,
  node: NodeOf<"call">,
  scope: Scope | undefined
): Compiled | undefined => {
  const { functions } = compiler.names
  const declared = functions.get(node.target === undefined ? node.name : `.${node.name}`)
  if (declared === undefined) return undefined
  const expected = declared.parameters.length
  if (declared.rest ? node.args.length < expected - 1 : node.args.length !== expected) {
    compiler.report(
      node,
      `${node.name} takes ${declared.rest ? "at least " : ""}${expected - (declared.rest ? 1 : 0)} arguments`
    )
    return { run: () => null }
  }
  const given = node.target === undefined ? node.args : [node.target, ...node.args]
  const args = given.map((arg) => compiler.compile(arg, scope).run)
  const { slots, body, cost } = definitionOf(compiler, declared)
  const { name, start, end } = node
  const single = declared.rest ? slots.length - 1 : slots.length
  return {
    run: (frame) => {
      if (!frame.spend(cost)) return outOfWork
      const values: Array<Outcome> = []
      for (const arg of args) {
        const value = arg(frame)
        // The body may never look at it.
        if (value instanceof CelError) frame.pass(value)
        values.push(value)
      }
      for (let i = 0; i < single; i++) frame.locals[slots[i]!] = values[i]!
      if (declared.rest) frame.locals[slots[single]!] = restOf(values, single)
      const result = body(frame)
      return result instanceof CelError ? new CelError(result.code, `${name}: ${result.message}`, start, end) : result
    }
  }
}

const restOf = (values: ReadonlyArray<Outcome>, from: number): Outcome => {
  const items: Array<CelValue> = []
  for (const value of values.slice(from)) {
    if (value instanceof CelError) return value
    items.push(value)
  }
  return items.length > maxElements ? tooLarge : new CelList(items)
}
