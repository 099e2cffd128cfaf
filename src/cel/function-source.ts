/**
 * Reads the functions that the configuration defines: `name(a, rest...) { expression }`, with `this.` before the name where the function is
 * called on a value, and `#` comments. Everything that is wrong with them is found here, before an expression calls one.
 */
import * as Result from "effect/Result"
import { check } from "./check.ts"
import { Compiler } from "./compile.ts"
import { type CustomFunction, type CustomFunctions, noFunctions } from "./custom-functions.ts"
import { functionNames, overloadsOf } from "./library.ts"
import { macroNames } from "./macros.ts"
import { parse } from "./parse.ts"
import { variables } from "./phases.ts"
import { type CelProblem, problemAt } from "./problem.ts"
import { closingQuote } from "./scan.ts"
import type { Scope } from "./scope.ts"
import { specialNames } from "./special.ts"
import { childrenOf, type Node } from "./syntax.ts"

/** The text of all definitions, `config.customFunctions`. */
const maxSourceLength = 1 << 18

const header = /\s*(this\s*\.\s*)?([A-Za-z_]\w*)\s*\(([^(){}]*)\)\s*\{/y
const parameter = /^\s*([A-Za-z_]\w*)\s*(\.\.\.)?\s*$/

interface Definition extends CustomFunction {
  readonly key: string
  readonly start: number
  readonly end: number
  /** Where the body begins in the whole text. */
  readonly offset: number
}

/** Reads all definitions, or tells everything that is wrong with them; offsets count from the start of the whole text. */
export const parseFunctions = (source: string): Result.Result<CustomFunctions, ReadonlyArray<CelProblem>> => {
  if (source.length > maxSourceLength)
    return Result.fail([
      problemAt(source, maxSourceLength, source.length, `the functions are longer than ${maxSourceLength} characters`)
    ])
  const problems: Array<CelProblem> = []
  const report = (at: { readonly start: number; readonly end: number }, message: string) =>
    problems.push(problemAt(source, at.start, at.end, message))
  const text = withoutComments(source)
  const functions = new Map<string, Definition>()

  for (let at = 0; text.slice(at).trim() !== ""; ) {
    const definition = readDefinition(text, at, problems, source)
    if (definition === undefined) break
    at = definition.next
    if (definition.read === undefined) continue
    const { read } = definition
    if (isBuiltIn(read.name, read.method)) report(read, `${read.name} is the name of a built-in function`)
    else if (functions.has(read.key)) report(read, `${read.name} is defined twice`)
    else functions.set(read.key, read)
  }
  if (problems.length === 0)
    for (const key of recursive(functions)) report(functions.get(key)!, `${functions.get(key)!.name} calls itself`)
  if (problems.length === 0)
    for (const definition of functions.values()) problems.push(...checkBody(source, definition, functions))
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed(functions.size === 0 ? noFunctions : functions)
}

const declared = /(?:^|\})[ \t]*(this[ \t]*\.[ \t]*)?([A-Za-z_]\w*)[ \t]*\(/gm

/** What a text with faults seems to define, to be called with anything: for checking the expressions that call it. */
export const declaredFunctions = (source: string): CustomFunctions =>
  new Map(
    [...source.slice(0, maxSourceLength).matchAll(declared)].map(([, receiver, name = ""]) => {
      const method = receiver !== undefined
      const body: Node = { kind: "literal", value: null, start: 0, end: 0 }
      return [method ? `.${name}` : name, { name, method, parameters: ["rest"], rest: true, body }]
    })
  )

/** The same text with `#` comments blanked out, so that offsets stay. */
const withoutComments = (source: string): string => {
  let text = ""
  for (let at = 0; at < source.length; ) {
    const char = source[at]!
    const quoted =
      char === '"' || char === "'" ? closingQuote(source, at, /[rR]/.test(source[at - 1] ?? "")) : undefined
    if (typeof quoted === "object") {
      text += source.slice(at, quoted.end)
      at = quoted.end
    } else if (char === "#") {
      const newline = source.indexOf("\n", at)
      const end = newline === -1 ? source.length : newline
      text += " ".repeat(end - at)
      at = end
    } else {
      text += char
      at++
    }
  }
  return text
}

const readDefinition = (
  text: string,
  from: number,
  problems: Array<CelProblem>,
  source: string
): { readonly next: number; readonly read: Definition | undefined } | undefined => {
  const start = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0)
  header.lastIndex = from
  const match = header.exec(text)
  if (match === null) {
    problems.push(
      problemAt(
        source,
        start,
        Math.min(start + 1, text.length),
        "expected a definition: name(parameters) { expression }"
      )
    )
    return undefined
  }
  const offset = header.lastIndex
  const close = closingBrace(text, offset)
  if (close === undefined) {
    problems.push(problemAt(source, offset - 1, offset, "'{' is not closed: expected '}'"))
    return undefined
  }
  const [, receiver, name = "", list = ""] = match
  const end = offset - 1
  const parameters: Array<string> = []
  let rest = false
  let fault: string | undefined
  const written = list.trim() === "" ? [] : list.split(",")
  written.forEach((each, i) => {
    const named = parameter.exec(each)
    if (named === null) fault ??= `'${each.trim()}' is no parameter`
    else if (named[2] !== undefined && i < written.length - 1) fault ??= "only the last parameter can collect the rest"
    else if (parameters.includes(named[1]!)) fault ??= `two parameters are named ${named[1]}`
    else parameters.push(named[1]!)
    rest = named?.[2] !== undefined
  })
  if (fault !== undefined) problems.push(problemAt(source, start, end, fault))
  const body = parse(text.slice(offset, close))
  if ("message" in body) problems.push(problemAt(source, offset + body.start, offset + body.end, body.message))
  if (fault !== undefined || "message" in body) return { next: close + 1, read: undefined }
  const method = receiver !== undefined
  return {
    next: close + 1,
    read: { key: method ? `.${name}` : name, name, method, parameters, rest, body, start, end, offset }
  }
}

/** The offset of the brace that closes the one before `from`. */
const closingBrace = (text: string, from: number): number | undefined => {
  for (let at = from, depth = 1; at < text.length; at++) {
    const char = text[at]!
    if (char === '"' || char === "'") {
      const quoted = closingQuote(text, at, /[rR]/.test(text[at - 1] ?? ""))
      if (typeof quoted === "string") return undefined
      at = quoted.end - 1
    } else if (char === "{") depth++
    else if (char === "}" && --depth === 0) return at
  }
  return undefined
}

const isBuiltIn = (name: string, method: boolean): boolean =>
  overloadsOf(name, method).length > 0 ||
  macroNames.has(name) ||
  specialNames.has(name) ||
  name === "has" ||
  functionNames().some((known) => known.startsWith(`${name}.`))

/** Keys of functions that call themselves, directly or through others. */
const recursive = (functions: ReadonlyMap<string, Definition>): ReadonlyArray<string> => {
  const calls = new Map([...functions].map(([key, { body }]) => [key, calledBy(body, functions)]))
  const reaches = (from: string, wanted: string, seen: Set<string>): boolean => {
    for (const called of calls.get(from)!) {
      if (called === wanted) return true
      if (seen.has(called)) continue
      seen.add(called)
      if (reaches(called, wanted, seen)) return true
    }
    return false
  }
  return [...functions.keys()].filter((key) => reaches(key, key, new Set()))
}

const calledBy = (node: Node, functions: ReadonlyMap<string, unknown>): Set<string> => {
  const found = new Set<string>()
  const visit = (part: Node): void => {
    if (part.kind === "call") {
      const key = part.target === undefined ? part.name : `.${part.name}`
      if (functions.has(key)) found.add(key)
    }
    for (const child of childrenOf(part)) visit(child)
  }
  visit(node)
  return found
}

/** Problems of a body, at their places in the whole text. Its parameters can be anything. */
const checkBody = (source: string, definition: Definition, functions: CustomFunctions): ReadonlyArray<CelProblem> => {
  const own = definition.method ? ["this", ...definition.parameters] : definition.parameters
  const names = {
    variables: new Map(Object.entries(variables).map(([name, { struct }]) => [name, struct])),
    extra: new Set<string>(),
    functions
  }
  // Its offsets count from where it begins.
  const compiler = new Compiler(source.slice(definition.offset), names)
  let scope: Scope | undefined
  for (const name of own) scope = compiler.bind(name, scope)
  check(compiler, definition.body, undefined, own)
  compiler.compile(definition.body, scope)
  return compiler.problems.map(({ start, end, message, available }) =>
    problemAt(source, definition.offset + start, definition.offset + end, message, available)
  )
}
