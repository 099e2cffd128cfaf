/**
 * What can be wrong with a file: every small change of it that a test ought to notice. Left alone are types, property names,
 * imports, and what is written for people: prose in strings, descriptions and messages.
 */
import { parseSync } from "rolldown/utils"

/** One change of one place. Offsets count UTF-16 units of the text. */
export interface Mutant {
  readonly file: string
  /** Counts from 1. */
  readonly line: number
  /** The text of that line, without the space around it. */
  readonly at: string
  readonly operator: Operator
  readonly start: number
  readonly end: number
  /** A statement is replaced by statements, an expression by an expression. */
  readonly kind: "expression" | "statement"
  readonly code: string
  readonly becomes: string
  /** The statement that begins with this expression: no parenthesis may come first there, where no semicolon ends the line before. */
  readonly begins?: Span | undefined
}

export const operators = [
  "condition negated",
  "equality",
  "boundary",
  "and/or",
  "returned value",
  "arithmetic",
  "string emptied",
  "statement removed",
  "number by one",
  "optional chaining dropped",
  "as written"
] as const
export type Operator = (typeof operators)[number]

export interface Span {
  readonly start: number
  readonly end: number
}

/** A node of the syntax tree, as far as it is of interest here. */
interface Node extends Span {
  readonly type: string
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value

/** The syntax tree of a file. Throws when it has none. */
export const syntaxOf = (file: string, source: string): Node => {
  const { program, errors } = parseSync(file, source)
  const [error] = errors
  if (error !== undefined) throw new Error(`${file}: ${error.message}`)
  // Nodes are read by their keys, whatever their kind.
  return program as unknown as Node
}

/** Nodes that carry an expression and are types for the rest. */
const wrappers = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression"
])

/** The parts of a node that run. */
const partsOf = (node: Node): ReadonlyArray<Node> => {
  if (wrappers.has(node.type)) return nodesOf(node["expression"])
  if (node.type.startsWith("TS")) return []
  switch (node.type) {
    case "ImportDeclaration":
    case "ImportExpression":
    case "ExportAllDeclaration":
      return []
    case "ExportNamedDeclaration":
      return nodesOf(node["declaration"])
    case "Property":
    case "PropertyDefinition":
    case "MethodDefinition":
      return nodesOf(node["computed"] === true ? node["key"] : undefined, node["value"])
    case "MemberExpression":
      return nodesOf(node["object"], node["computed"] === true ? node["property"] : undefined)
    case "ClassDeclaration":
    case "ClassExpression":
      return nodesOf(node["body"])
    case "TaggedTemplateExpression":
      return nodesOf(node["tag"], ...((node["quasi"] as Node)["expressions"] as ReadonlyArray<unknown>))
  }
  return Object.entries(node).flatMap(([key, value]) => (typed.has(key) ? [] : nodesOf(value)))
}

const typed = new Set(["typeAnnotation", "returnType", "typeParameters", "typeArguments", "decorators"])

const nodesOf = (...values: ReadonlyArray<unknown>): ReadonlyArray<Node> =>
  values.flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []))

/** Two words with a space between: written for people. */
const isProse = (text: string): boolean => /[A-Za-z,.;:)}] [A-Za-z({]/.test(text)
/** Properties whose text is written for people. */
const told = new Set(["description", "detail", "help", "identifier", "message", "title"])
const negated: Readonly<Record<string, string>> = { "===": "!==", "!==": "===", "==": "!=", "!=": "==" }
const bounds: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }
const sums: Readonly<Record<string, string>> = { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" }
const comparing = new Set([...Object.keys(negated), ...Object.keys(bounds), "in", "instanceof"])
const conditional = new Set([
  "IfStatement",
  "ConditionalExpression",
  "WhileStatement",
  "DoWhileStatement",
  "ForStatement"
])
const functions = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

/** All mutants of a file, in the order of their places. */
export const mutantsOf = (file: string, source: string): ReadonlyArray<Mutant> => {
  const found: Array<Mutant> = []
  const text = ({ start, end }: Span) => source.slice(start, end)
  const lineAt = linesOf(source)

  const add = (
    operator: Operator,
    node: Span,
    becomes: string,
    around: ReadonlyArray<Node>,
    kind: Mutant["kind"] = "expression"
  ): void => {
    const begins = kind === "statement" ? undefined : around.findLast(({ type }) => type === "ExpressionStatement")
    found.push({
      file,
      ...lineAt(node.start),
      operator,
      start: node.start,
      end: node.end,
      kind,
      code: text(node),
      becomes,
      begins: begins?.start === node.start ? { start: begins.start, end: begins.end } : undefined
    })
  }

  /** The text of an operation with another operator. */
  const operated = (node: Node, operator: string): string => {
    const left = node["left"] as Node
    const right = node["right"] as Node
    const between = source.slice(left.end, right.start)
    return `${text(left)}${between.replace(String(node["operator"]), () => operator)}${text(right)}`
  }

  /** What a function might return instead. */
  const returned = (value: Node, around: ReadonlyArray<Node>): void => {
    const bare = unwrapped(value)
    if (isTruth(bare))
      for (const truth of ["true", "false"]) {
        if (text(bare) !== truth) add("returned value", value, truth, around)
      }
    else if (bare.type === "ArrayExpression") {
      if ((bare["elements"] as ReadonlyArray<unknown>).length > 0) add("returned value", value, "[]", around)
    } else if (!silent.has(bare.type) && text(bare) !== "undefined") add("returned value", value, "undefined", around)
  }

  const visit = (node: Node, around: ReadonlyArray<Node>): void => {
    const parent = around.at(-1)
    if (conditional.has(node.type) && isNode(node["test"]))
      add("condition negated", node["test"], `!(${text(node["test"])})`, [...around, node])
    switch (node.type) {
      case "BinaryExpression": {
        const operator = String(node["operator"])
        const isTest = parent !== undefined && conditional.has(parent.type) && parent["test"] === node
        if (operator in negated && !isTest) add("equality", node, operated(node, negated[operator]!), around)
        if (operator in bounds) add("boundary", node, operated(node, bounds[operator]!), around)
        if (operator in sums && !isText(node["left"]) && !isText(node["right"]))
          add("arithmetic", node, operated(node, sums[operator]!), around)
        break
      }
      case "LogicalExpression":
        if (node["operator"] !== "??")
          add("and/or", node, operated(node, node["operator"] === "&&" ? "||" : "&&"), around)
        break
      case "AssignmentExpression":
        if (node["operator"] === "+=" || node["operator"] === "-=")
          add("arithmetic", node, operated(node, node["operator"] === "+=" ? "-=" : "+="), around)
        break
      case "UpdateExpression":
        add(
          "arithmetic",
          node,
          text(node).replace(/\+\+|--/, (sign) => (sign === "++" ? "--" : "++")),
          around
        )
        break
      case "ChainExpression":
        if (parent?.type !== "UnaryExpression" || parent["operator"] !== "delete")
          add("optional chaining dropped", node, withoutChaining(node, source), around)
        break
      case "Literal":
        if (typeof node["value"] === "number")
          for (const other of [node["value"] + 1, node["value"] - 1])
            add("number by one", node, other < 0 ? `(${other})` : String(other), around)
        if (typeof node["value"] === "string" && isTold(node["value"], around))
          add("string emptied", node, '""', around)
        break
      case "TemplateLiteral":
        if (isTold(text(node), around)) add("string emptied", node, '""', around)
        break
      case "ReturnStatement":
        if (isNode(node["argument"])) returned(node["argument"], [...around, node])
        break
      case "ArrowFunctionExpression":
        if (isNode(node["body"]) && node["body"].type !== "BlockStatement") returned(node["body"], [...around, node])
        break
      case "ExpressionStatement":
        if (around.some(({ type }) => functions.has(type)) && isEffect(unwrapped(node["expression"] as Node)))
          add("statement removed", node, "", around, "statement")
        break
    }
    const inside = [...around, node]
    for (const part of partsOf(node)) visit(part, inside)
  }
  visit(syntaxOf(file, source), [])
  return found.sort((one, other) => one.start - other.start || other.end - one.end)
}

/** Values that say nothing more when they are left out, or that other operators change. */
const silent = new Set([
  "ArrowFunctionExpression",
  "FunctionExpression",
  "Literal",
  "TemplateLiteral",
  "AssignmentExpression"
])

/** The expression without parentheses, types, and the words that wait for it. */
const unwrapped = (node: Node): Node => {
  if (wrappers.has(node.type) || node.type === "ParenthesizedExpression" || node.type === "ChainExpression")
    return unwrapped(node["expression"] as Node)
  if ((node.type === "AwaitExpression" || node.type === "YieldExpression") && isNode(node["argument"]))
    return unwrapped(node["argument"])
  return node
}

const isTruth = (node: Node): boolean =>
  (node.type === "BinaryExpression" && comparing.has(String(node["operator"]))) ||
  (node.type === "UnaryExpression" && node["operator"] === "!") ||
  (node.type === "Literal" && typeof node["value"] === "boolean") ||
  (node.type === "LogicalExpression" &&
    node["operator"] !== "??" &&
    isTruth(unwrapped(node["left"] as Node)) &&
    isTruth(unwrapped(node["right"] as Node)))

const isText = (node: unknown): boolean =>
  isNode(node) && (node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node["value"] === "string"))

/** Whether a statement is there for what it does. */
const isEffect = (node: Node): boolean =>
  (node.type === "CallExpression" && (node["callee"] as Node).type !== "Super") ||
  (node.type === "AssignmentExpression" && (node["left"] as Node).type === "MemberExpression")

/** Whether a text is one that the program works with. */
const isTold = (value: string, around: ReadonlyArray<Node>): boolean => {
  if (value === "" || value === "``" || isProse(value)) return false
  for (const node of around.slice(-4)) {
    if (node.type === "ThrowStatement") return false
    if (node.type === "ExpressionStatement" && "directive" in node && node["directive"] !== null) return false
    if (node.type === "Property" && isNode(node["key"]) && told.has(String(node["key"]["name"]))) return false
    if (node.type === "NewExpression" && /Error$/.test(String((node["callee"] as Node)["name"]))) return false
  }
  return true
}

/** The text of a chain in which every link is taken for granted. */
const withoutChaining = (chain: Node, source: string): string => {
  const links: Array<number> = []
  const visit = (node: Node): void => {
    if (node["optional"] === true) {
      const { end } = (node["object"] ?? node["callee"]) as Node
      links.push(source.indexOf("?.", end))
    }
    const inner = node["object"] ?? node["callee"] ?? (node.type === "ChainExpression" ? node["expression"] : undefined)
    if (isNode(inner)) visit(inner)
    else if (wrappers.has(node.type) && isNode(node["expression"])) visit(node["expression"])
  }
  visit(chain)
  let text = ""
  let from = chain.start
  for (const link of links.sort((one, other) => one - other)) {
    text += source.slice(from, link)
    if (!/[[(<]/.test(source[link + 2] ?? "")) text += "."
    from = link + 2
  }
  return text + source.slice(from, chain.end)
}

/** Tells the lines of a file by the offsets in them. */
const linesOf = (source: string): ((offset: number) => { readonly line: number; readonly at: string }) => {
  const starts = [0, ...Array.from(source.matchAll(/\n/g), ({ index }) => index + 1)]
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset) + 1
    return { line, at: source.slice(starts[line - 1], starts[line]).trim() }
  }
}

/** A change that somebody wrote down: the only node of the file with exactly this code becomes something else. */
export const writtenMutant = (file: string, source: string, code: string, becomes: string): Mutant => {
  const found: Array<readonly [Node, ReadonlyArray<Node>]> = []
  const visit = (node: Node, around: ReadonlyArray<Node>): void => {
    if (source.slice(node.start, node.end) === code && !found.some(([one]) => one.start === node.start))
      found.push([node, around])
    for (const part of partsOf(node)) visit(part, [...around, node])
  }
  visit(syntaxOf(file, source), [])
  const [first, second] = found
  if (first === undefined || second !== undefined)
    throw new Error(`${file}: expected this once, found it ${found.length} times: ${code}`)
  const [node, around] = first
  const begins = around.findLast(({ type }) => type === "ExpressionStatement")
  return {
    file,
    ...linesOf(source)(node.start),
    operator: "as written",
    start: node.start,
    end: node.end,
    kind: /(Statement|Declaration)$/.test(node.type) ? "statement" : "expression",
    code,
    becomes,
    begins: begins?.start === node.start ? { start: begins.start, end: begins.end } : undefined
  }
}
