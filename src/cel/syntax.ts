/** The syntax tree that the compiler, the checker and the explanation work on: our own, so that the parser behind it can change. */

/** Offsets into the source: UTF-16 units, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

export type Literal = null | boolean | bigint | number | string | Uint8Array | { readonly uint: bigint }

export type BinaryOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "+" | "-" | "*" | "/" | "%"

export type Node =
  | (Span & { readonly kind: "literal"; readonly value: Literal })
  /** `absolute` is the leading dot, which names a variable even where a macro's variable has the same name. */
  | (Span & { readonly kind: "ident"; readonly name: string; readonly absolute: boolean })
  | (Span & { readonly kind: "select"; readonly operand: Node; readonly field: string; readonly optional: boolean })
  | (Span & { readonly kind: "index"; readonly operand: Node; readonly index: Node; readonly optional: boolean })
  /** A call without (`target` undefined) or with a receiver. Macros are calls here. */
  | (Span & {
      readonly kind: "call"
      readonly name: string
      readonly target: Node | undefined
      readonly args: ReadonlyArray<Node>
    })
  | (Span & { readonly kind: "list"; readonly elements: ReadonlyArray<Element> })
  | (Span & { readonly kind: "map"; readonly entries: ReadonlyArray<Entry> })
  | (Span & { readonly kind: "unary"; readonly operator: "!" | "-"; readonly operand: Node })
  | (Span & { readonly kind: "binary"; readonly operator: BinaryOperator; readonly left: Node; readonly right: Node })
  /** A chain of one logical operator, flat: a rule with a thousand terms nests no deeper than one with two. */
  | (Span & { readonly kind: "logical"; readonly operator: "&&" | "||"; readonly terms: ReadonlyArray<Node> })
  | (Span & { readonly kind: "conditional"; readonly test: Node; readonly whenTrue: Node; readonly whenFalse: Node })

export interface Element {
  readonly node: Node
  readonly optional: boolean
}

export interface Entry {
  readonly key: Node
  readonly value: Node
  readonly optional: boolean
}

export type NodeOf<Kind extends Node["kind"]> = Extract<Node, { readonly kind: Kind }>

/** The parts of a node in order of evaluation. */
export const childrenOf = (node: Node): ReadonlyArray<Node> => {
  switch (node.kind) {
    case "literal":
    case "ident":
      return []
    case "select":
      return [node.operand]
    case "index":
      return [node.operand, node.index]
    case "call":
      return node.target === undefined ? node.args : [node.target, ...node.args]
    case "list":
      return node.elements.map((element) => element.node)
    case "map":
      return node.entries.flatMap((entry) => [entry.key, entry.value])
    case "unary":
      return [node.operand]
    case "binary":
      return [node.left, node.right]
    case "logical":
      return node.terms
    case "conditional":
      return [node.test, node.whenTrue, node.whenFalse]
  }
}
