/** From the syntax tree to one closure: everything that the text decides is decided here, once. */
import { compileIdent, compileSelect } from "./access.ts"
import { compileCall } from "./call.ts"
import type { CustomFunctions } from "./custom-functions.ts"
import { Frame, type Run, tooLarge } from "./frame.ts"
import { maxElements, maxFoldingSteps } from "./limits.ts"
import { binaryOperators, negate, noOverload } from "./operators.ts"
import { CelError, type CelProblem, problemAt } from "./problem.ts"
import type { Struct } from "./schema.ts"
import type { Scope } from "./scope.ts"
import type { Literal, Node, NodeOf } from "./syntax.ts"
import { typeNamed } from "./types.ts"
import { CelList, CelMap, type CelValue, Optional, SecretValue, Uint } from "./value.ts"

/** A compiled part; `constant` where its value is known already. */
export interface Compiled {
  readonly run: Run
  readonly constant?: CelValue
}

/** What an expression can refer to. */
export interface Names {
  readonly variables: ReadonlyMap<string, Struct>
  /** Further variables, of any type. */
  readonly extra: ReadonlySet<string>
  readonly functions: CustomFunctions
}

/** Called with every part that is evaluated, to put a recorder around it: the explanation compiles this way. */
export type Observe = (node: Node, run: Run) => Run

/** One compilation: hands out slots, collects problems, and knows the names. */
export class Compiler {
  readonly source: string
  readonly names: Names
  readonly problems: Array<CelProblem> = []
  /** Slots that a frame needs. */
  slots = 0
  #observe: Observe | undefined
  #foldingSteps = maxFoldingSteps

  constructor(source: string, names: Names, observe?: Observe) {
    this.source = source
    this.names = names
    this.#observe = observe
  }

  compile(node: Node, scope: Scope | undefined): Compiled {
    const compiled = this.#compile(node, scope)
    if (this.#observe === undefined || node.kind === "literal") return compiled
    const run = this.#observe(node, compiled.run)
    return compiled.constant === undefined ? { run } : { run, constant: compiled.constant }
  }

  /** Compiles a part of another text: the body of a function of the configuration. Nobody looks on, and its faults are told there. */
  compileElsewhere(node: Node, scope: Scope | undefined): Compiled {
    const [observe, count] = [this.#observe, this.problems.length]
    this.#observe = undefined
    const compiled = this.compile(node, scope)
    this.#observe = observe
    this.problems.length = count
    return compiled
  }

  /** A slot for the value of a name that the expression introduces. */
  bind(name: string, outer: Scope | undefined): Scope {
    return { name, slot: this.slots++, outer }
  }

  report(node: { readonly start: number; readonly end: number }, message: string): void {
    this.problems.push(problemAt(this.source, node.start, node.end, message))
  }

  /**
   * Evaluates a part now if all that it needs is constant. One that fails, or takes too much work, is left for run time: it may stand
   * where it is never reached.
   */
  fold(parts: ReadonlyArray<Compiled>, run: Run): Compiled {
    if (this.#observe !== undefined || parts.some((part) => part.constant === undefined)) return { run }
    const frame = new Frame(this.slots)
    frame.steps = this.#foldingSteps
    const constant = run(frame)
    this.#foldingSteps = Math.max(0, frame.steps)
    return constant instanceof CelError || frame.steps < 0 ? { run } : { run: () => constant, constant }
  }

  #compile(node: Node, scope: Scope | undefined): Compiled {
    switch (node.kind) {
      case "literal": {
        const constant = literalValue(node.value)
        return { run: () => constant, constant }
      }
      case "ident":
        return compileIdent(this, node, scope)
      case "select": {
        const name = typeNamed(node, scope)
        return name === undefined ? compileSelect(this, node, scope) : { run: () => name, constant: name }
      }
      case "index":
        return compileSelect(this, node, scope)
      case "call":
        return compileCall(this, node, scope)
      case "list":
        return this.#list(node, scope)
      case "map":
        return this.#map(node, scope)
      case "unary":
        return this.#unary(node, scope)
      case "binary":
        return this.#binary(node, scope)
      case "logical":
        return this.#logical(node, scope)
      case "conditional":
        return this.#conditional(node, scope)
    }
  }

  #unary(node: NodeOf<"unary">, scope: Scope | undefined): Compiled {
    const operand = this.compile(node.operand, scope)
    const { run } = operand
    const { start, end } = node
    if (node.operator === "!")
      return this.fold([operand], (frame) => {
        const value = run(frame)
        if (value === true) return false
        if (value === false) return true
        return value instanceof CelError ? value : noOverload("!", value).at(start, end)
      })
    return this.fold([operand], (frame) => {
      const value = run(frame)
      if (value instanceof CelError) return value
      const negated = negate(value)
      return negated instanceof CelError ? negated.at(start, end) : negated
    })
  }

  #binary(node: NodeOf<"binary">, scope: Scope | undefined): Compiled {
    const left = this.compile(node.left, scope)
    const right = this.compile(node.right, scope)
    const [a, b] = [left.run, right.run]
    const { start, end, operator } = node
    const apply = binaryOperators[operator]
    const general: Run = (frame) => {
      const x = a(frame)
      if (x instanceof CelError) return x
      const y = b(frame)
      if (y instanceof CelError) return y
      const result = apply(x, y, frame)
      return result instanceof CelError ? result.at(start, end) : result
    }
    const run =
      operator === "==" || operator === "!="
        ? equalityRun(a, right.constant, operator === "==", general)
        : operator === "in"
          ? membershipRun(a, right.constant, general)
          : general
    return this.fold([left, right], run)
  }

  #logical(node: NodeOf<"logical">, scope: Scope | undefined): Compiled {
    const terms = node.terms.map((term) => this.compile(term, scope))
    const runs = terms.map((term) => term.run)
    const { start, end, operator } = node
    const absorbing = operator === "||"
    const strict = (value: CelValue | CelError) =>
      value instanceof CelError ? value : noOverload(operator, value).at(start, end)
    if (runs.length === 2) {
      const [first, second] = runs as [Run, Run]
      return this.fold(terms, (frame) => {
        const x = first(frame)
        if (x === absorbing) return absorbing
        if (x instanceof CelError) frame.pass(x)
        const y = second(frame)
        if (y === absorbing) return absorbing
        if (x !== !absorbing) {
          if (y instanceof CelError) frame.pass(y)
          return strict(x)
        }
        return y === !absorbing ? y : strict(y)
      })
    }
    return this.fold(terms, (frame) => {
      let failed: CelError | undefined
      for (let i = 0; i < runs.length; i++) {
        const value = runs[i]!(frame)
        if (value === absorbing) return absorbing
        if (value === !absorbing) continue
        if (value instanceof CelError) frame.pass(value)
        failed ??= strict(value)
      }
      return failed ?? !absorbing
    })
  }

  #conditional(node: NodeOf<"conditional">, scope: Scope | undefined): Compiled {
    const parts = [node.test, node.whenTrue, node.whenFalse].map((part) => this.compile(part, scope)) as [
      Compiled,
      Compiled,
      Compiled
    ]
    const [test, yes, no] = [parts[0].run, parts[1].run, parts[2].run]
    const { start, end } = node
    return this.fold(parts, (frame) => {
      const value = test(frame)
      if (value === true) return yes(frame)
      if (value === false) return no(frame)
      return value instanceof CelError ? value : noOverload("?:", value).at(start, end)
    })
  }

  #list(node: NodeOf<"list">, scope: Scope | undefined): Compiled {
    const parts = node.elements.map((element) => this.compile(element.node, scope))
    const runs = parts.map((part) => part.run)
    const optional = node.elements.map((element) => element.optional)
    const { start, end } = node
    return this.fold(parts, (frame) => {
      if (runs.length > maxElements) return tooLarge.at(start, end)
      const items: Array<CelValue> = []
      for (let i = 0; i < runs.length; i++) {
        const value = runs[i]!(frame)
        if (value instanceof CelError) return value
        if (!optional[i]) items.push(value)
        else if (!(value instanceof Optional)) return noOverload("[?]", value).at(start, end)
        else if (value.value !== undefined) items.push(value.value)
      }
      return new CelList(items)
    })
  }

  #map(node: NodeOf<"map">, scope: Scope | undefined): Compiled {
    const keys = node.entries.map((entry) => this.compile(entry.key, scope))
    const values = node.entries.map((entry) => this.compile(entry.value, scope))
    const optional = node.entries.map((entry) => entry.optional)
    const { start, end } = node
    return this.fold([...keys, ...values], (frame) => {
      if (keys.length > maxElements) return tooLarge.at(start, end)
      const map = new CelMap()
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i]!.run(frame)
        if (key instanceof CelError) return key
        const given = values[i]!.run(frame)
        if (given instanceof CelError) return given
        if (optional[i] && !(given instanceof Optional)) return noOverload("{?}", given).at(start, end)
        const value = optional[i] ? (given as Optional).value : given
        if (value !== undefined && !map.set(key, value)) return noOverload("map key", key).at(start, end)
      }
      return map
    })
  }
}

const literalValue = (literal: Literal): CelValue =>
  typeof literal === "object" && literal !== null && !(literal instanceof Uint8Array) ? new Uint(literal.uint) : literal

/** Equality with a constant string or boolean, by far the most frequent one, needs no look at the general rules. */
const equalityRun = (a: Run, constant: CelValue | undefined, wanted: boolean, general: Run): Run => {
  if (typeof constant !== "string" && typeof constant !== "boolean") return general
  return (frame) => {
    const value = a(frame)
    if (typeof value === "string" || typeof value === "boolean") return (value === constant) === wanted
    if (value instanceof CelError) return value
    return value instanceof SecretValue ? (value.unredacted() === constant) === wanted : !wanted
  }
}

/** Membership in a constant list of strings is a look-up. */
const membershipRun = (a: Run, constant: CelValue | undefined, general: Run): Run => {
  if (!(constant instanceof CelList) || !constant.items.every((item) => typeof item === "string")) return general
  const set = new Set<CelValue>(constant.items)
  return (frame) => {
    const value = a(frame)
    if (typeof value === "string") return set.has(value)
    if (value instanceof CelError) return value
    return value instanceof SecretValue && set.has(value.unredacted())
  }
}
