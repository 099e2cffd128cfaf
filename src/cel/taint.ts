/** Which parts of an expression carry a secret, by its text: what an explanation must not show. */
import { stepOf } from "./access.ts"
import { type Bindings, isSensitiveParameter } from "./bindings.ts"
import type { Names } from "./compile.ts"
import { isSensitive } from "./headers.ts"
import { macroOf } from "./macros.ts"
import { isStruct, type Struct } from "./schema.ts"
import { childrenOf, type Node, type NodeOf } from "./syntax.ts"

/** What beside the headers that always are, and the secrets of variables, is secret. */
type Sensitive = Pick<Bindings, "request" | "sensitiveHeaders" | "sensitiveParameters">

/** Whether the query of the request has a parameter that holds a credential. */
const hasCredential = ({ request, sensitiveParameters }: Sensitive): boolean => {
  return [request?.uri, request?.pathAndQuery].some((text) => {
    const query = text?.split("?").slice(1).join("?") ?? ""
    // Without the ampersand a leading question mark would be dropped.
    return [...new URLSearchParams(`&${query}`).keys()].some((name) => isSensitiveParameter(name, sensitiveParameters))
  })
}

/** The parts whose values come from a secret: unredacted, a sensitive header, or made of such a part. */
export const taintOf = (node: Node, names: Names, sensitive: Sensitive): ReadonlySet<Node> => {
  const taint = new Taint(names, sensitive)
  taint.visit(node, undefined)
  return taint.parts
}

/** Variables that the expression introduces, and whether what they stand for is secret. */
interface Local {
  readonly name: string
  readonly secret: boolean
  readonly outer: Local | undefined
}

class Taint {
  readonly parts = new Set<Node>()
  readonly #names: Names
  readonly #sensitive: Sensitive
  readonly #functions = new Map<string, boolean>()

  constructor(names: Names, sensitive: Sensitive) {
    this.#names = names
    this.#sensitive = sensitive
  }

  visit(node: Node, locals: Local | undefined): boolean {
    const secret = this.#isSecret(node, locals)
    if (secret) this.parts.add(node)
    return secret
  }

  #isSecret(node: Node, locals: Local | undefined): boolean {
    const path = this.#path(node, locals)
    if (path === "query") return hasCredential(this.#sensitive)
    if (path !== undefined) return path === "headers" || (typeof path === "object" && holdsHeaders(path))
    const step = stepOf(node)
    if (step !== undefined && this.#path(step.operand, locals) === "headers")
      return isSensitive(step.name.toLowerCase(), this.#sensitive.sensitiveHeaders)
    if (node.kind === "ident") {
      for (let at = locals; at !== undefined; at = at.outer) if (at.name === node.name) return at.secret
      return false
    }
    if (node.kind === "call") return this.#call(node, locals)
    // Every part is visited, so that each is marked for itself.
    return childrenOf(node)
      .map((child) => this.visit(child, locals))
      .some(Boolean)
  }

  #call(node: NodeOf<"call">, locals: Local | undefined): boolean {
    const macro = macroOf(node)
    if (macro !== undefined) {
      const outside = this.visit(macro.outside, locals)
      let inner = locals
      for (const name of macro.names)
        if (name.kind === "ident") inner = { name: name.name, secret: outside, outer: inner }
      return macro.bodies.map((body) => this.visit(body, inner)).some(Boolean) || (outside && macro.form !== "binding")
    }
    const children = childrenOf(node).map((child) => this.visit(child, locals))
    if (node.name === "unredacted") return true
    if (node.name === "variables" && node.target === undefined) return true
    if (node.name === "redacted" && node.target !== undefined && this.#path(node.target, locals) === "headers")
      return false
    return children.some(Boolean) || this.#function(node.target === undefined ? node.name : `.${node.name}`)
  }

  /** A function of the configuration whose body reaches for a secret. */
  #function(key: string): boolean {
    const declared = this.#names.functions.get(key)
    if (declared === undefined) return false
    const known = this.#functions.get(key)
    if (known !== undefined) return known
    let locals: Local | undefined
    for (const name of ["this", ...declared.parameters]) locals = { name, secret: false, outer: locals }
    const secret = new Taint(this.#names, this.#sensitive).visit(declared.body, locals)
    this.#functions.set(key, secret)
    return secret
  }

  /** What of the host a part is without a call: a structure, headers, a text with a query or another value; `undefined` for anything else. */
  #path(node: Node, locals: Local | undefined): Struct | "headers" | "query" | "value" | undefined {
    if (node.kind === "ident") {
      for (let at = locals; at !== undefined; at = at.outer)
        if (at.name === node.name && !node.absolute) return undefined
      return this.#names.variables.get(node.name)
    }
    const step = stepOf(node)
    const parent = step && this.#path(step.operand, locals)
    if (step === undefined || typeof parent !== "object") return undefined
    const field = Object.hasOwn(parent.fields, step.name) ? parent.fields[step.name] : undefined
    if (field === undefined) return parent.rest === undefined ? undefined : "value"
    if (isStruct(field.type)) return field.type
    return field.type === "headers" ? "headers" : field.query ? "query" : "value"
  }
}

const holdsHeaders = (struct: Struct): boolean =>
  Object.values(struct.fields).some(({ type }) => (isStruct(type) ? holdsHeaders(type) : type === "headers"))
