/**
 * What can be said about an expression before it runs: names that do not exist, fields that a variable does not have or not yet, and
 * operators and functions that can only fail on the types they are given. Most of what a request brings is of unknown type; of that nothing
 * is said.
 */

import { stepOf } from "./access.ts"
import { calleeOf, parameterAt, takes } from "./call.ts"
import type { Compiler } from "./compile.ts"
import type { ParameterKind } from "./function.ts"
import { functionNames, overloadsOf } from "./library.ts"
import { macroOf } from "./macros.ts"
import { meantBy } from "./meant.ts"
import { type Phase, variables } from "./phases.ts"
import { problemAt } from "./problem.ts"
import { type Field, type FieldType, isStruct, type ScalarKind, type Struct } from "./schema.ts"
import { specialNames } from "./special.ts"
import type { BinaryOperator, Node, NodeOf, Span } from "./syntax.ts"
import { dottedName, typeNamed } from "./types.ts"

/** What is known of the value of a part. */
export interface Type {
  readonly kind: ParameterKind
  /** The variable, or the structure in it, that the part is. */
  readonly struct?: Struct
  /** Why reading a field of it can only fail. */
  readonly absent?: string
  /** The type of the elements of a list. */
  readonly element?: Type
  /** The value of a condition that types alone decide, whatever the request. */
  readonly always?: boolean
}

interface Names {
  readonly name: string
  readonly type: Type
  readonly outer: Names | undefined
}

const unknown: Type = { kind: "dyn" }
const ofKind = (kind: ParameterKind): Type => (kind === "dyn" ? unknown : { kind })

const kindsOfFields: Readonly<Record<ScalarKind, Type>> = {
  string: { kind: "string" },
  strings: { kind: "list", element: { kind: "string" } },
  secret: { kind: "secret" },
  int: { kind: "int" },
  double: { kind: "double" },
  bool: { kind: "bool" },
  bytes: { kind: "bytes" },
  timestamp: { kind: "timestamp" },
  duration: { kind: "duration" },
  headers: { kind: "map" },
  json: unknown,
  value: unknown
}

/** A field may hold null where the host has nothing to say, so its kind is what it is when it is there. */
const typeOfField = (type: FieldType): Type => (isStruct(type) ? { kind: "map", struct: type } : kindsOfFields[type])

/**
 * Checks an expression, or the body of a function with its parameters; problems go to the compiler. The type is what is known of its
 * value. Without a phase, every variable is taken to exist.
 */
export const check = (
  compiler: Compiler,
  node: Node,
  phase: Phase | undefined,
  parameters: ReadonlyArray<string> = []
): Type => {
  let names: Names | undefined
  for (const name of parameters) names = { name, type: unknown, outer: names }
  return new Check(compiler, phase).visit(node, names, false)
}

class Check {
  readonly #compiler: Compiler
  readonly #phase: Phase | undefined

  constructor(compiler: Compiler, phase: Phase | undefined) {
    this.#compiler = compiler
    this.#phase = phase
  }

  /** `guarded` where a missing name is an answer: inside `has`, `default` and `coalesce`. */
  visit(node: Node, names: Names | undefined, guarded: boolean): Type {
    switch (node.kind) {
      case "literal":
        return typeOfLiteral(node)
      case "ident":
        return this.#ident(node, names, guarded)
      case "select":
      case "index":
        return this.#access(node, names, guarded)
      case "call":
        return this.#call(node, names, guarded)
      case "list": {
        const types = node.elements.map((element) => this.visit(element.node, names, guarded))
        const kind = types[0]?.kind
        const same =
          kind !== undefined &&
          types.every((type) => type.kind === kind) &&
          node.elements.every((each) => !each.optional)
        return { kind: "list", element: same ? types[0]! : unknown }
      }
      case "map":
        for (const { key, value } of node.entries) {
          const kind = this.visit(key, names, guarded).kind
          if (!["dyn", "string", "int", "uint", "bool"].includes(kind))
            this.#report(key, `a ${kind} cannot be the key of a map`)
          this.visit(value, names, guarded)
        }
        return { kind: "map" }
      case "unary":
        return this.#unary(node, this.visit(node.operand, names, guarded))
      case "binary":
        if (this.#isDashedName(node, names)) return unknown
        return this.#binary(node, this.visit(node.left, names, guarded), this.visit(node.right, names, guarded))
      case "logical":
        return this.#logical(node, names, guarded)
      case "conditional": {
        this.#needsBool(node.test, this.visit(node.test, names, guarded), "?:")
        const yes = this.visit(node.whenTrue, names, guarded)
        const no = this.visit(node.whenFalse, names, guarded)
        if (yes.kind !== no.kind || yes.struct !== no.struct) return unknown
        return yes.always === no.always ? yes : ofKind(yes.kind)
      }
    }
  }

  #report(span: Span, message: string, available: ReadonlyArray<string> = []): Type {
    this.#compiler.problems.push(problemAt(this.#compiler.source, span.start, span.end, message, available))
    return unknown
  }

  /** A name that is not known where it stands, with the one that was meant, if any comes near. */
  #unknownName(span: Span, what: string, name: string, available: ReadonlyArray<string>, otherwise = ""): Type {
    const meant = meantBy(name, available)
    const hint = meant === undefined ? otherwise : `; did you mean ${meant}?`
    return this.#report(span, `${what}: ${name}${hint}`, available)
  }

  /** The name of a field or a method behind its dot; the whole where it is written another way. */
  #nameIn(node: Node, name: string): Span {
    const after = node.kind === "call" ? node.target?.end : node.kind === "select" ? node.operand.end : undefined
    const start = after === undefined ? -1 : this.#compiler.source.indexOf(name, after)
    return start < 0 || start + name.length > node.end ? node : { start, end: start + name.length }
  }

  /** `request.headers.x-user` is a difference; whoever writes it without blanks means the header. */
  #isDashedName(node: NodeOf<"binary">, names: Names | undefined): boolean {
    const { source } = this.#compiler
    let first: Node = node
    while (first.kind === "binary" && first.operator === "-") {
      const { left, right }: NodeOf<"binary"> = first
      const isName = right.kind === "ident" && source.slice(left.end, right.start) === "-"
      if (!isName || !this.#isFree(right.name, names)) return false
      first = left
    }
    if (first === node) return false
    if (first.kind === "select") {
      const start = this.#nameIn(first, first.field).start
      const whole = source.slice(first.operand.start, first.operand.end)
      this.#report(
        { start, end: node.end },
        `a name with a dash is written ${whole}[${JSON.stringify(source.slice(start, node.end))}]`
      )
      return true
    }
    if (first.kind !== "ident" || !this.#isFree(first.name, names)) return false
    this.#report(node, `a text is written in quotes: ${JSON.stringify(source.slice(node.start, node.end))}`)
    return true
  }

  /** Whether nothing that has a value is called so. */
  #isFree(name: string, names: Names | undefined): boolean {
    const { extra, variables: known } = this.#compiler.names
    return !shadowing(names)(name) && !extra.has(name) && !known.has(name)
  }

  #needsBool(node: Node, { kind }: Type, operator: string): void {
    if (kind !== "bool" && kind !== "dyn") this.#report(node, `${operator} needs a bool, this is a ${kind}`)
  }

  #ident(node: NodeOf<"ident">, names: Names | undefined, guarded: boolean): Type {
    if (!node.absolute) for (let at = names; at !== undefined; at = at.outer) if (at.name === node.name) return at.type
    const { extra, variables: known } = this.#compiler.names
    const struct = known.get(node.name)
    if (struct !== undefined) {
      const phases: ReadonlyArray<Phase> = variables[node.name as keyof typeof variables].phases
      const here = this.#phase === undefined || phases.includes(this.#phase)
      return here
        ? { kind: "dyn", struct }
        : { kind: "dyn", struct, absent: `${node.name} does not exist in the ${this.#phase} phase` }
    }
    if (extra.has(node.name)) return unknown
    const type = typeNamed(node, undefined)
    if (type !== undefined) return { kind: "type" }
    if (guarded) return unknown
    const isWord = /^[A-Z]/.test(node.name) ? `; a text is written in quotes: "${node.name}"` : ""
    return this.#unknownName(node, "undeclared reference", node.name, this.#variableNames(names), isWord)
  }

  #variableNames(names: Names | undefined): ReadonlyArray<string> {
    const found = new Set<string>(this.#compiler.names.extra)
    for (const [name, declared] of Object.entries(variables))
      if (this.#phase === undefined || (declared.phases as ReadonlyArray<Phase>).includes(this.#phase)) found.add(name)
    for (let at = names; at !== undefined; at = at.outer) found.add(at.name)
    return [...found].sort()
  }

  #access(node: NodeOf<"select"> | NodeOf<"index">, names: Names | undefined, guarded: boolean): Type {
    const path = dottedName(node)
    if (path !== undefined && this.#compiler.names.extra.has(path)) return unknown
    if (node.kind === "select" && typeNamed(node, undefined) !== undefined) return { kind: "type" }
    const operand = this.visit(node.operand, names, guarded || node.optional)
    const index = node.kind === "index" ? this.visit(node.index, names, guarded) : { kind: "string" as const }
    if (operand.kind === "optional" || node.optional) return unknown
    const step = stepOf(node)
    if (operand.struct !== undefined)
      return step === undefined ? unknown : this.#field(node, operand, operand.struct, step.name, guarded)
    if (operand.kind === "dyn") return unknown
    if (operand.kind === "map") return unknown
    if (operand.kind === "list") {
      const isNumber = ["dyn", "int", "uint", "double"].includes(index.kind)
      return isNumber
        ? (operand.element ?? unknown)
        : this.#report(node, `a list has no element named by a ${index.kind}`)
    }
    const size = step?.name === "length" || step?.name === "size" ? "; its length is size(…)" : ""
    const json = operand.kind === "bytes" && step !== undefined ? "; what is JSON is read with json(…)" : ""
    return this.#report(node, `a ${operand.kind} has no fields${size}${json}`)
  }

  #field(node: Node, { absent }: Type, struct: Struct, name: string, guarded: boolean): Type {
    if (absent !== undefined && !guarded) return this.#report(node, absent, this.#variableNames(undefined))
    const field: Field | undefined = Object.hasOwn(struct.fields, name) ? struct.fields[name] : undefined
    if (field === undefined)
      return struct.rest !== undefined || guarded
        ? unknown
        : this.#unknownName(this.#nameIn(node, name), "no such field", name, Object.keys(struct.fields).sort())
    if (this.#phase !== undefined && field.phases !== undefined && !field.phases.includes(this.#phase)) {
      const late = `${name} does not exist in the ${this.#phase} phase`
      if (!isStruct(field.type)) return guarded ? typeOfField(field.type) : this.#report(node, late)
      return { ...typeOfField(field.type), absent: late }
    }
    return absent === undefined ? typeOfField(field.type) : { ...typeOfField(field.type), absent }
  }

  #logical(node: NodeOf<"logical">, names: Names | undefined, guarded: boolean): Type {
    const types = node.terms.map((term) => this.visit(term, names, guarded))
    for (const [index, term] of node.terms.entries()) this.#needsBool(term, types[index]!, node.operator)
    const deciding = node.operator === "||"
    return types.some(({ always }) => always === deciding)
      ? condition(deciding)
      : condition(types.every(({ always }) => always === !deciding) ? !deciding : undefined)
  }

  #unary(node: NodeOf<"unary">, { kind, always }: Type): Type {
    if (node.operator === "!") {
      if (kind !== "bool" && kind !== "dyn") this.#report(node, `! needs a bool, this is a ${kind}`)
      return condition(always === undefined ? undefined : !always)
    }
    if (kind === "int" || kind === "double" || kind === "dyn") return ofKind(kind)
    return this.#report(node, `a ${kind} cannot be negated`)
  }

  #binary(node: NodeOf<"binary">, left: Type, right: Type): Type {
    const { operator } = node
    if (operator === "==" || operator === "!=")
      return condition(areNeverEqual(left.kind, right.kind) ? operator === "!=" : undefined)
    const fits = `no such overload: ${left.kind} ${operator} ${right.kind}`
    if (operator === "in") {
      const holds =
        ["dyn", "list", "map"].includes(right.kind) ||
        (right.kind === "string" && ["dyn", "string"].includes(left.kind))
      if (!holds) this.#report(node, fits)
      return { kind: "bool" }
    }
    if (operator === "<" || operator === "<=" || operator === ">" || operator === ">=") {
      if (!haveOrder(left.kind, right.kind)) this.#report(node, fits)
      return { kind: "bool" }
    }
    const result = arithmetic(operator, left.kind, right.kind)
    return result === undefined ? this.#report(node, fits) : ofKind(result)
  }

  #call(node: NodeOf<"call">, names: Names | undefined, guarded: boolean): Type {
    const macro = macroOf(node)
    if (macro !== undefined) return this.#macro(node, names, guarded)
    if (node.target === undefined && node.name === "has") {
      for (const arg of node.args) this.visit(arg, names, true)
      return { kind: "bool" }
    }
    if (
      specialNames.has(node.name) &&
      (node.target === undefined) === (node.name !== "or" && node.name !== "orValue")
    ) {
      if (node.target !== undefined) this.visit(node.target, names, guarded)
      const types = node.args.map((arg) => this.visit(arg, names, guarded || node.target === undefined))
      const [first, second] = types
      return node.name === "default" && first?.kind === second?.kind && first !== undefined
        ? ofKind(first.kind)
        : unknown
    }
    const custom = this.#compiler.names.functions.get(node.target === undefined ? node.name : `.${node.name}`)
    if (custom !== undefined) {
      for (const arg of node.target === undefined ? node.args : [node.target, ...node.args])
        this.visit(arg, names, true)
      return unknown
    }
    return this.#function(node, names, guarded)
  }

  #macro(node: NodeOf<"call">, names: Names | undefined, guarded: boolean): Type {
    const { form, outside, names: introduced, bodies } = macroOf(node)!
    const range = this.visit(outside, names, guarded)
    if (form === "loop" && !["dyn", "list", "map"].includes(range.kind))
      this.#report(outside, `${node.name} needs a list or a map, this is a ${range.kind}`)
    if (form === "optional" && !["dyn", "optional"].includes(range.kind))
      this.#report(outside, `${node.name} needs an optional, this is a ${range.kind}`)
    let inner = names
    introduced.forEach((variable, i) => {
      const single = form === "loop" && introduced.length === 1 && range.kind === "list"
      const type = form === "binding" ? range : single && i === 0 ? (range.element ?? unknown) : unknown
      if (variable.kind === "ident") inner = { name: variable.name, type, outer: inner }
    })
    const types = bodies.map((body) => this.visit(body, inner, guarded))
    if (form === "binding") return types[0]!
    if (form === "optional") return { kind: "optional" }
    const predicates = predicateCount(node.name, bodies.length)
    for (let i = 0; i < predicates; i++) this.#needsBool(bodies[i]!, types[i]!, node.name)
    return resultOfLoop(node.name, range, types.at(-1)!)
  }

  #function(node: NodeOf<"call">, names: Names | undefined, guarded: boolean): Type {
    const callee = calleeOf(this.#compiler, node, shadowing(names))
    const overloads = overloadsOf(callee.name, callee.method)
    const types = callee.args.map((arg) => this.visit(arg, names, guarded))
    if (overloads.length === 0) {
      if (guarded) return unknown
      const named = callee.method ? this.#nameIn(node, callee.name) : node
      const known = this.#functionNames(callee.method, types[0]?.kind ?? "dyn")
      const method = !callee.method && overloadsOf(callee.name, true).length > 0
      return method
        ? this.#report(
            named,
            `undeclared function: ${callee.name}; it is written behind a value: a.${callee.name}(…)`,
            known
          )
        : this.#unknownName(named, "undeclared function", callee.name, known)
    }
    const counted = overloads.filter((overload) => takes(overload, callee.args.length))
    if (counted.length === 0) return this.#report(node, `${callee.name} does not take ${node.args.length} arguments`)
    const fitting = counted.filter((overload) => types.every((type, i) => fits(parameterAt(overload, i), type.kind)))
    if (fitting.length === 0) {
      const hint = types.some((type) => type.kind === "secret") ? "; unredacted() gives the text of a secret" : ""
      return this.#report(node, `no such overload: ${callee.name}(${types.map((type) => type.kind).join(", ")})${hint}`)
    }
    const result = fitting[0]!.result
    return fitting.every((overload) => overload.result === result) ? ofKind(result) : unknown
  }

  #functionNames(method: boolean, receiver: ParameterKind): ReadonlyArray<string> {
    const takesReceiver = (name: string) =>
      overloadsOf(name.slice(1), true).some((overload) => fits(overload.parameters[0], receiver))
    const own = [...this.#compiler.names.functions.keys()]
    const named = [...functionNames(), ...own].filter((name) => name.startsWith(".") === method)
    if (!method) return named.sort()
    return named
      .filter((name) => own.includes(name) || takesReceiver(name))
      .map((name) => name.slice(1))
      .sort()
  }
}

const typeOfLiteral = ({ value }: NodeOf<"literal">): Type => {
  switch (typeof value) {
    case "bigint":
      return { kind: "int" }
    case "number":
      return { kind: "double" }
    case "boolean":
      return condition(value)
    case "string":
      return { kind: "string" }
    default:
      return { kind: value === null ? "null" : value instanceof Uint8Array ? "bytes" : "uint" }
  }
}

const fits = (parameter: ParameterKind | undefined, kind: ParameterKind) =>
  parameter === "dyn" || kind === "dyn" || parameter === kind

const condition = (always: boolean | undefined): Type =>
  always === undefined ? { kind: "bool" } : { kind: "bool", always }

/** Values of two kinds that have nothing in common; what may be null, or stand for something else, is left out. */
const areNeverEqual = (a: ParameterKind, b: ParameterKind): boolean =>
  a !== b && [a, b].every((kind) => comparable.includes(kind)) && ![a, b].every((kind) => numbers.includes(kind))

const numbers: ReadonlyArray<ParameterKind> = ["int", "uint", "double"]
const ordered: ReadonlyArray<ParameterKind> = ["string", "bool", "bytes", "timestamp", "duration"]
const comparable: ReadonlyArray<ParameterKind> = [...numbers, ...ordered, "list", "map"]

const haveOrder = (a: ParameterKind, b: ParameterKind): boolean => {
  const has = (kind: ParameterKind) => kind === "dyn" || numbers.includes(kind) || ordered.includes(kind)
  return has(a) && has(b) && (a === "dyn" || b === "dyn" || a === b || (numbers.includes(a) && numbers.includes(b)))
}

const sums: ReadonlyArray<readonly [ParameterKind, ParameterKind, ParameterKind]> = [
  ["string", "string", "string"],
  ["bytes", "bytes", "bytes"],
  ["list", "list", "list"],
  ["timestamp", "duration", "timestamp"],
  ["duration", "timestamp", "timestamp"],
  ["duration", "duration", "duration"],
  ["secret", "string", "string"],
  ["string", "secret", "string"],
  ["secret", "secret", "string"]
]
const differences: typeof sums = [
  ["timestamp", "timestamp", "duration"],
  ["timestamp", "duration", "timestamp"],
  ["duration", "duration", "duration"]
]

/** The kind of a result; `undefined` where no overload takes the operands. */
const arithmetic = (operator: BinaryOperator, a: ParameterKind, b: ParameterKind): ParameterKind | undefined => {
  const same = (operator === "%" ? (["int", "uint"] as const) : numbers).map((kind) => [kind, kind, kind] as const)
  const forms = [...same, ...(operator === "+" ? sums : operator === "-" ? differences : [])]
  const fitting = forms.filter(([left, right]) => fits(left, a) && fits(right, b))
  const result = fitting[0]?.[2]
  return fitting.length > 1 && fitting.some((form) => form[2] !== result) ? "dyn" : result
}

/** How many of the bodies of a macro are conditions. */
const predicateCount = (name: string, bodies: number): number => {
  if (["all", "exists", "exists_one", "existsOne", "filter", "filterKeys"].includes(name)) return 1
  return bodies - 1
}

const resultOfLoop = (name: string, range: Type, body: Type): Type => {
  switch (name) {
    case "all":
    case "exists":
    case "exists_one":
    case "existsOne":
      return { kind: "bool" }
    case "filter":
      return range.kind === "list" ? range : { kind: "list" }
    case "sortBy":
      return range.kind === "list" ? range : { kind: "list" }
    case "map":
    case "transformList":
      return { kind: "list", element: body }
    default:
      return { kind: "map" }
  }
}

/** The names that the expression introduces, in the form that call resolution takes. */
const shadowing =
  (names: Names | undefined): ((name: string) => boolean) =>
  (name) => {
    for (let at = names; at !== undefined; at = at.outer) if (at.name === name) return true
    return false
  }
