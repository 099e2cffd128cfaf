/** What an expression reads, found in its text: the engine buffers a body or keeps a prompt only if some expression needs it. */

import { stepOf } from "./access.ts"
import type { Names } from "./compile.ts"
import { macroOf } from "./macros.ts"
import { lookup, type Scope } from "./scope.ts"
import { childrenOf, type Node } from "./syntax.ts"

export interface Attributes {
  /** Variables that are read: `request`, `jwt`. */
  readonly roots: ReadonlySet<string>
  /**
   * Paths that are read, one level below the variable: `request.path`, `jwt.sub`; the variable alone where the whole of it, or a part that
   * only run time tells, is read.
   */
  readonly paths: ReadonlySet<string>
  readonly requestBody: boolean
  readonly requestBodyPrefix: boolean
  readonly responseBody: boolean
  readonly responseBodyPrefix: boolean
  readonly llmPrompt: boolean
  readonly llmCompletion: boolean
  readonly llmToolCalls: boolean
}

/** Finds what an expression reads. A name that only run time tells counts as reading the whole of what it is a part of. */
export const analyse = (node: Node, names: Names): Attributes => {
  const reading = new Reading(names)
  reading.visit(node, undefined)
  const { roots, paths } = reading
  const reads = (root: string, field: string) => paths.has(root) || paths.has(`${root}.${field}`)
  return {
    roots,
    paths,
    requestBody: reads("request", "body"),
    requestBodyPrefix: reads("request", "bodyPrefix"),
    responseBody: reads("response", "body"),
    responseBodyPrefix: reads("response", "bodyPrefix"),
    llmPrompt: reads("llm", "prompt"),
    llmCompletion: reads("llm", "completion"),
    llmToolCalls: reads("llm", "toolCalls")
  }
}

class Reading {
  readonly roots = new Set<string>()
  readonly paths = new Set<string>()
  readonly #names: Names
  readonly #functions = new Set<string>()
  constructor(names: Names) {
    this.#names = names
  }

  visit(node: Node, scope: Scope | undefined): void {
    const step = stepOf(node)
    const root = this.#rootOf(step?.operand ?? node, scope)
    if (root !== undefined) {
      this.#read(root, step?.name)
      return
    }
    if (node.kind !== "call") {
      for (const child of childrenOf(node)) this.visit(child, scope)
      return
    }
    const macro = macroOf(node)
    if (macro === undefined) {
      if (node.name === "variables" && node.target === undefined)
        for (const name of this.#names.variables.keys()) this.#read(name)
      this.#visitFunction(node.target === undefined ? node.name : `.${node.name}`)
      for (const child of childrenOf(node)) this.visit(child, scope)
      return
    }
    this.visit(macro.outside, scope)
    let inner = scope
    for (const name of macro.names) if (name.kind === "ident") inner = { name: name.name, slot: -1, outer: inner }
    for (const body of macro.bodies) this.visit(body, inner)
  }

  #rootOf(node: Node, scope: Scope | undefined): string | undefined {
    if (node.kind !== "ident" || (!node.absolute && lookup(scope, node.name) !== undefined)) return undefined
    return this.#names.variables.has(node.name) || this.#names.extra.has(node.name) ? node.name : undefined
  }

  #read(root: string, field?: string): void {
    this.roots.add(root)
    this.paths.add(field === undefined ? root : `${root}.${field}`)
  }

  /** The body of a function of the configuration reads what it names; once is enough. */
  #visitFunction(key: string): void {
    const declared = this.#names.functions.get(key)
    if (declared === undefined || this.#functions.has(key)) return
    this.#functions.add(key)
    let scope: Scope | undefined
    for (const name of ["this", ...declared.parameters]) scope = { name, slot: -1, outer: scope }
    this.visit(declared.body, scope)
  }
}
