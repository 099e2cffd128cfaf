/** The document as a plain value, in the light of what the schema knows: unset keys left out, repeated keys found, secrets kept apart. */
import type { UnnamedKey } from "./disguise.ts"
import type { Entry, Node } from "./document.ts"
import type { Path } from "./path.ts"
import type { Shape } from "./shape.ts"

/** A key that stands twice in a mapping. */
export interface RepeatedKey {
  readonly path: Path
  readonly keyStart: number
}

export interface Interpretation {
  readonly value: unknown
  /** Scalars that a message may quote: reached through known keys alone, and not secret. */
  readonly quotable: ReadonlySet<Node>
  readonly repeated: ReadonlyArray<RepeatedKey>
  /** The keys that are read as another one. */
  readonly renamed: ReadonlyMap<Entry, string>
  /** The keys that the schema does not know by name. */
  readonly unnamed: ReadonlyArray<UnnamedKey>
  /** Credentials that are written as text, with their values. */
  readonly credentials: ReadonlyArray<{ readonly path: Path; readonly node: Node }>
}

/** An address with user information, wherever it stands. */
const hasPassword = (scalar: Node["scalar"]) => typeof scalar === "string" && /:\/\/[^/?#\s]*@/.test(scalar)

/** Walks the document and the shape together. */
export const interpret = (root: Node, rootShape: Shape): Interpretation => {
  const quotable = new Set<Node>()
  // Two aliases share the values below their anchor; what is secret in one place is secret in both.
  const hidden = new Set<Node>()
  const repeated: Array<RepeatedKey> = []
  const credentials: Array<{ readonly path: Path; readonly node: Node }> = []
  const renamed = new Map<Entry, string>()
  const unnamed: Array<UnnamedKey> = []

  const visit = (node: Node, shape: Shape | undefined, path: Path, known: boolean): unknown => {
    const open = known && shape !== undefined && !shape.secret
    if (node.entries !== undefined) {
      const value: Record<string, unknown> = {}
      for (const [key, entry] of node.entries) {
        const name = shape?.readAs(key) ?? key
        if (name !== key) renamed.set(entry, name)
        const named = shape !== undefined && shape.keys.has(key)
        const inner = shape?.property(key)
        if (!named) unnamed.push({ key, entry, among: shape })
        if (entry.earlier !== undefined) repeated.push({ path: [...path, key], keyStart: entry.keyStart })
        if (entry.node.scalar === null && named && inner?.optional === true && !inner.nullable) continue
        // Below a free key only values with a name of their own are quoted: headers and environments hold tokens.
        const reached = named || (inner !== undefined && inner.keys.size > 0)
        value[key] = visit(entry.node, inner, [...path, key], open && reached)
      }
      return value
    }
    if (node.items !== undefined)
      return node.items.map((item, index) => visit(item, shape?.item(index), [...path, index], open))
    if (shape?.credential === true && typeof node.scalar === "string") credentials.push({ path, node })
    // A value where none belongs may be a key that lost its name; so may one in place of an object that holds a secret.
    if (open && shape.scalar && !shape.holdsSecret && !hasPassword(node.scalar)) quotable.add(node)
    else hidden.add(node)
    return node.scalar
  }

  return {
    value: visit(root, rootShape, [], true),
    quotable: quotable.difference(hidden),
    repeated,
    renamed,
    unnamed,
    credentials
  }
}
