/** The work of one turn of a macro: what a run is charged for, and what the bounds of an expression are counted from. */
import { childrenOf, type Node } from "./syntax.ts"

/** The work that one evaluation of a part stands for, in steps, macros inside it counted once. */
export const turnCost = (node: Node): number => 2 + (countNodes(node) >> 2)

const countNodes = (node: Node): number => childrenOf(node).reduce((count, child) => count + countNodes(child), 1)
