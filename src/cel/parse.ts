/** From text to syntax tree: the one file that knows the parser library. */
import { type ASTNode, Environment, ParseError } from "@marcbachmann/cel-js"
import { maxExpressionLength, maxNesting } from "./limits.ts"
import { prefixedLiteral } from "./literal.ts"
import { writtenInstead } from "./meant.ts"
import { type CelProblem, problemAt } from "./problem.ts"
import { type Scanned, scan } from "./scan.ts"
import type { Element, Entry, Node } from "./syntax.ts"

let made: Environment | undefined

/** The library is used for its parser alone, so that its own limits give way to ours. */
const parser = (): Environment => {
  made ??= new Environment({
    unlistedVariablesAreDyn: true,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: maxExpressionLength,
      maxDepth: maxNesting,
      maxListElements: maxExpressionLength,
      maxMapEntries: maxExpressionLength,
      maxCallArguments: maxExpressionLength
    }
  })
  return made
}

/** Parses an expression. The problem is the first fault in the text. */
export const parse = (source: string): Node | CelProblem => {
  const scanned = scan(source)
  if ("message" in scanned) return scanned
  try {
    return new Conversion(source, scanned).node(parser().parse(scanned.text).ast, 0)
  } catch (error) {
    if (error instanceof Fault) return error.problem
    if (error instanceof ParseError) return parserProblem(source, error)
    if (error instanceof RangeError) return problemAt(source, 0, source.length, tooDeep)
    throw error
  }
}

const tooDeep = `the expression nests deeper than ${maxNesting}`

/** Carries a problem out of the recursion; it never leaves this file. */
class Fault {
  readonly problem: CelProblem
  constructor(problem: CelProblem) {
    this.problem = problem
  }
}

const tokens: Readonly<Record<string, string>> = {
  EOF: "the end",
  NUMBER: "a number",
  STRING: "a string",
  BYTES: "bytes",
  BOOLEAN: "a boolean",
  NULL: "'null'",
  IDENTIFIER: "a name",
  IN: "'in'",
  LPAREN: "'('",
  RPAREN: "')'",
  LBRACKET: "'['",
  RBRACKET: "']'",
  LBRACE: "'{'",
  RBRACE: "'}'",
  DOT: "'.'",
  COMMA: "','",
  COLON: "':'",
  QUESTION: "'?'",
  PLUS: "'+'",
  MINUS: "'-'",
  MULTIPLY: "'*'",
  DIVIDE: "'/'",
  MODULO: "'%'",
  EQ: "'=='",
  NE: "'!='",
  LT: "'<'",
  LE: "'<='",
  GT: "'>'",
  GE: "'>='",
  AND: "'&&'",
  OR: "'||'",
  NOT: "'!'"
}

const parserProblem = (source: string, error: ParseError): CelProblem => {
  const { start, end } = error.range ?? { start: 0, end: source.length }
  if (error.code === "limit_exceeded") return problemAt(source, start, end, tooDeep)
  const excess = error.code === "unexpected_character" && start < source.length
  const found = /^(\w+|.)/su.exec(source.slice(start))?.[0]
  const instead = writtenInstead(source, start, found)
  const said = excess
    ? `unexpected '${found}'`
    : start >= source.trimEnd().length && error.summary.startsWith("Unexpected token")
      ? "the expression ends where a value is expected"
      : error.summary.replace(/\b[A-Z]{2,}\b/g, (token) => tokens[token] ?? token)
  const message = `${said.charAt(0).toLowerCase()}${said.slice(1)}${instead === undefined ? "" : `; ${instead}`}`
  return problemAt(source, start, Math.max(end, start), message)
}

const minInt = -(2n ** 63n)
const maxInt = 2n ** 63n - 1n

class Conversion {
  readonly #source: string
  readonly #scanned: Scanned
  constructor(source: string, scanned: Scanned) {
    this.#source = source
    this.#scanned = scanned
  }

  node(ast: ASTNode, depth: number): Node {
    const { start, end } = ast
    if (depth > maxNesting) throw this.#fault(ast, tooDeep)
    const child = (node: ASTNode) => this.node(node, depth + 1)
    switch (ast.op) {
      case "value":
        return this.#literal(ast)
      case "id":
        return { kind: "ident", start, end, name: ast.args, absolute: this.#scanned.absolute.has(start) }
      case ".":
      case ".?":
        return {
          kind: "select",
          start,
          end,
          operand: child(ast.args[0]),
          field: this.#scanned.quotedFields.get(ast.pos) ?? ast.args[1],
          optional: ast.op === ".?"
        }
      case "[]":
      case "[?]":
        return {
          kind: "index",
          start,
          end,
          operand: child(ast.args[0]),
          index: child(ast.args[1]),
          optional: ast.op === "[?]"
        }
      case "call":
        return { kind: "call", start, end, name: ast.args[0], target: undefined, args: ast.args[1].map(child) }
      case "rcall":
        return { kind: "call", start, end, name: ast.args[0], target: child(ast.args[1]), args: ast.args[2].map(child) }
      case "list":
        return { kind: "list", start, end, elements: this.#elements(ast.args, start, child) }
      case "map":
        return { kind: "map", start, end, entries: this.#entries(ast.args, start, child) }
      case "?:":
        return {
          kind: "conditional",
          start,
          end,
          test: child(ast.args[0]),
          whenTrue: child(ast.args[1]),
          whenFalse: child(ast.args[2])
        }
      case "&&":
      case "||":
        return { kind: "logical", start, end, operator: ast.op, terms: flatten(ast, ast.op).map(child) }
      case "!_":
        return { kind: "unary", start, end, operator: "!", operand: child(ast.args) }
      case "-_":
        return this.#negation(ast, child)
      default:
        return { kind: "binary", start, end, operator: ast.op, left: child(ast.args[0]), right: child(ast.args[1]) }
    }
  }

  #fault(ast: ASTNode, message: string): Fault {
    return new Fault(problemAt(this.#source, ast.start, ast.end, message))
  }

  #literal(ast: ASTNode & { readonly op: "value" }, negative = false): Node {
    const { start, end, args: value } = ast
    const prefixed = this.#scanned.literals.get(start)
    if (prefixed !== undefined) {
      const decoded = prefixedLiteral(this.#source, prefixed)
      if (typeof decoded === "object" && "message" in decoded) throw new Fault(decoded)
      return { kind: "literal", start, end, value: decoded }
    }
    if (this.#scanned.bareDoubles.has(start))
      return { kind: "literal", start, end, value: Number(this.#source.slice(start, end)) }
    if (typeof value === "bigint" && (negative ? -value < minInt : value > maxInt))
      throw this.#fault(ast, "the integer does not fit 64 bits; write a double with a decimal point")
    if (typeof value === "object" && value !== null && !(value instanceof Uint8Array))
      return { kind: "literal", start, end, value: { uint: value.valueOf() } }
    return { kind: "literal", start, end, value: typeof value === "bigint" && negative ? -value : value }
  }

  /** `-5` is one literal, so that the least integer can be written. */
  #negation(ast: ASTNode & { readonly op: "-_" }, child: (node: ASTNode) => Node): Node {
    const operand = ast.args
    if (operand.op === "value" && typeof operand.args === "bigint")
      return { ...this.#literal(operand, true), start: ast.start }
    return { kind: "unary", start: ast.start, end: ast.end, operator: "-", operand: child(operand) }
  }

  #elements(nodes: ReadonlyArray<ASTNode>, from: number, child: (node: ASTNode) => Node): ReadonlyArray<Element> {
    return nodes.map((node, i) => ({
      node: child(node),
      optional: this.#optionalBetween(nodes[i - 1]?.end ?? from, node.start)
    }))
  }

  #entries(
    pairs: ReadonlyArray<readonly [ASTNode, ASTNode]>,
    from: number,
    child: (node: ASTNode) => Node
  ): ReadonlyArray<Entry> {
    return pairs.map(([key, value], i) => ({
      key: child(key),
      value: child(value),
      optional: this.#optionalBetween(pairs[i - 1]?.[1].end ?? from, key.start)
    }))
  }

  #optionalBetween(from: number, to: number): boolean {
    const marks = this.#scanned.optionalEntries
    let low = 0
    for (let high = marks.length; low < high; ) {
      const middle = (low + high) >> 1
      if (marks[middle]! < from) low = middle + 1
      else high = middle
    }
    return low < marks.length && marks[low]! < to
  }
}

/** The terms of a chain of one logical operator from left to right, without recursion along the chain. */
const flatten = (ast: ASTNode, operator: "&&" | "||"): ReadonlyArray<ASTNode> => {
  const terms: Array<ASTNode> = []
  let node = ast
  while (node.op === operator) {
    terms.push(node.args[1])
    node = node.args[0]
  }
  terms.push(node)
  return terms.reverse()
}
