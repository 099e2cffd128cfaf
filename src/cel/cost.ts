/** How much work an expression is, as far as its text tells: what can be known of its macros before they run. */
import type { Names } from "./compile.ts"
import { macroOf } from "./macros.ts"
import { childrenOf, type Node } from "./syntax.ts"
import { turnCost } from "./turn-cost.ts"

/**
 * Bounds of the turns that the macros of an expression take, each counted with the work of its body, in steps. `most` is infinite where
 * they run over something that a request brings; the work of long texts is not in it.
 */
export interface Cost {
  readonly least: number
  readonly most: number
}

const none: Cost = { least: 0, most: 0 }
const sum = (costs: ReadonlyArray<Cost>): Cost =>
  costs.reduce((total, { least, most }) => ({ least: total.least + least, most: total.most + most }), none)

/** The bounds of an expression. */
export const costOf = (node: Node, names: Names): Cost => new Costs(names).of(node)

class Costs {
  readonly #names: Names
  readonly #functions = new Map<string, Cost>()
  constructor(names: Names) {
    this.#names = names
  }

  of(node: Node): Cost {
    switch (node.kind) {
      case "call":
        return this.#call(node)
      case "logical": {
        const terms = node.terms.map((term) => this.of(term))
        return { least: terms[0]!.least, most: sum(terms).most }
      }
      case "conditional": {
        const [test, yes, no] = [this.of(node.test), this.of(node.whenTrue), this.of(node.whenFalse)]
        return { least: test.least + Math.min(yes.least, no.least), most: test.most + Math.max(yes.most, no.most) }
      }
      default:
        return sum(childrenOf(node).map((child) => this.of(child)))
    }
  }

  #call(node: Node & { readonly kind: "call" }): Cost {
    const macro = macroOf(node)
    if (macro === undefined) {
      const args = sum(childrenOf(node).map((child) => this.of(child)))
      const lazy = ["default", "coalesce", "or", "orValue"].includes(node.name)
      return sum([lazy ? { least: 0, most: args.most } : args, this.#function(node)])
    }
    const outside = this.of(macro.outside)
    const bodies = sum(macro.bodies.map((body) => this.of(body)))
    if (macro.form !== "loop") return { least: outside.least, most: outside.most + bodies.most }
    const turn = macro.bodies.reduce((steps, body) => steps + turnCost(body), 0)
    const length = lengthOf(macro.outside)
    // A turn may be the last one, and the transformation is reached only where the condition holds.
    const stops = node.name === "all" || node.name === "exists"
    const certain = macro.bodies.length === 1 ? bodies.least : 0
    const least = length === undefined || length === 0 ? 0 : (stops ? 1 : length) * (turn + certain)
    const most = length === 0 ? 0 : (length ?? Number.POSITIVE_INFINITY) * (turn + bodies.most)
    return sum([outside, { least, most }])
  }

  #function(node: Node & { readonly kind: "call" }): Cost {
    const key = node.target === undefined ? node.name : `.${node.name}`
    const declared = this.#names.functions.get(key)
    if (declared === undefined) return none
    const known = this.#functions.get(key)
    if (known !== undefined) return known
    const { most } = this.of(declared.body)
    const cost = { least: 0, most: most + turnCost(declared.body) }
    this.#functions.set(key, cost)
    return cost
  }
}

/** The length of what a macro runs over, where the text tells. */
const lengthOf = (node: Node): number | undefined => {
  if (node.kind === "list") return node.elements.some((element) => element.optional) ? undefined : node.elements.length
  return node.kind === "map" && node.entries.length < 2 && !node.entries.some((entry) => entry.optional)
    ? node.entries.length
    : undefined
}
