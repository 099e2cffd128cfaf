/**
 * Where every value of a file stands, as flat arrays: what is kept of a document once it is read. It takes little memory,
 * and crosses from one thread to another without being walked.
 */
import type { Entry, Node } from "./document.ts"
import { type Expanded, replacementIn, toSource } from "./expand.ts"
import type { Path } from "./path.ts"
import type { Pieces } from "./source.ts"

/** The values of a file, each before what it holds; the values of one mapping or list follow one another. Offsets are into the original text. */
export interface Outline {
  /** Six numbers a value, as `at` reads them. */
  readonly values: Int32Array
  /** Every key of the file, once. */
  readonly names: ReadonlyArray<string>
  /** The keys and scalars. Shown are keys, harmless values, and references that only name a variable. */
  readonly pieces: Pieces
  /** By key, what is shown in its place, where that is another text. */
  readonly disguises: ReadonlyMap<string, string>
}

/** Where a path leads. */
export interface Place {
  /** Where the value begins: the one that is named, or else the last one on the way to it. */
  readonly start: number
  /** Where its key begins; `undefined` for list items and the root. */
  readonly keyStart: number | undefined
  /** Whether the path led to its end. */
  readonly exact: boolean
}

const start = 0
const keyStart = 1
const key = 2
const first = 3
const count = 4
/** The name as which the key is read, where that is another one. */
const also = 5
const stride = 6
const absent = -1

/** Takes down a document. An alias stands for all that is below its anchor. */
export const outlineOf = (
  root: Node,
  expanded: Expanded,
  quotable: ReadonlySet<Node>,
  renamed: ReadonlyMap<Entry, string>,
  disguises: ReadonlyMap<string, string>
): Outline => {
  const values = new Int32Array(root.size * stride)
  const ids = new Map<string, number>()
  const idOf = (name: string): number => {
    let id = ids.get(name)
    if (id === undefined) {
      id = ids.size
      ids.set(name, id)
    }
    return id
  }
  const nodes: Array<Node> = []
  const add = (node: Node, begins: number, name: number, second = absent) => {
    const at = nodes.length * stride
    values[at + start] = toSource(expanded, node.start)
    values[at + keyStart] = begins
    values[at + key] = name
    values[at + also] = second
    nodes.push(node)
  }
  add(root, absent, absent)
  for (let index = 0; index < nodes.length; index++) {
    const { entries, items } = nodes[index]!
    values[index * stride + first] = nodes.length
    values[index * stride + count] = entries?.size ?? items?.length ?? 0
    for (const [name, entry] of entries ?? []) {
      const second = renamed.get(entry)
      add(
        entry.node,
        toSource(expanded, entry.keyStart),
        idOf(name),
        second === undefined || entries?.has(second) === true ? absent : idOf(second)
      )
    }
    for (const item of items ?? []) add(item, absent, absent)
  }
  return { values, names: [...ids.keys()], pieces: piecesOf(root, expanded, quotable, disguises), disguises }
}

/** Follows a path as far as it leads. */
export const walk = ({ values, names }: Outline, path: Path): Place => {
  const childOf = (parent: number, step: string | number): number | undefined => {
    const begin = values[parent * stride + first]!
    const size = values[parent * stride + count]!
    if (size === 0) return undefined
    if (values[begin * stride + key] === absent)
      return typeof step === "number" && step >= 0 && step < size ? begin + step : undefined
    const name = String(step)
    for (let child = begin; child < begin + size; child++) {
      const at = child * stride
      if (names[values[at + key]!] === name || names[values[at + also]!] === name) return child
    }
    return undefined
  }
  let index = 0
  let exact = true
  for (const step of path) {
    const child = childOf(index, step)
    if (child === undefined) {
      exact = false
      break
    }
    index = child
  }
  const begins = values[index * stride + keyStart]!
  return { start: values[index * stride + start]!, keyStart: begins === absent ? undefined : begins, exact }
}

const piecesOf = (
  root: Node,
  expanded: Expanded,
  quotable: ReadonlySet<Node>,
  disguises: ReadonlyMap<string, string>
): Pieces => {
  const pieces: Array<readonly [start: number, end: number, shown: boolean]> = []
  const seen = new Set<object>()
  const add = (start: number, end: number, shown: boolean) => {
    // What comes from the environment is shown by its reference, never by its value.
    const replacement = replacementIn(expanded, start, end)
    const whole = replacement !== undefined && replacement.start <= start && replacement.end >= end
    if (replacement === undefined || (!shown && !whole))
      pieces.push([toSource(expanded, start), toSource(expanded, end, "end"), shown])
  }
  const visit = (node: Node): void => {
    const content = node.entries ?? node.items
    if (content === undefined) add(node.start, node.end, quotable.has(node))
    if (content === undefined || seen.has(content)) return
    seen.add(content)
    if (node.entries !== undefined)
      for (const [key, entry] of node.entries) {
        add(entry.keyStart, entry.keyEnd, !disguises.has(key))
        visit(entry.node)
      }
    else for (const item of node.items ?? []) visit(item)
  }
  visit(root)
  for (const { sourceStart, sourceEnd, nameOnly } of expanded.replacements)
    pieces.push([sourceStart, sourceEnd, nameOnly])
  pieces.sort((a, b) => a[0] - b[0])
  return Int32Array.from(pieces.flatMap(([start, end, shown]) => [start, end, shown ? 1 : 0]))
}
