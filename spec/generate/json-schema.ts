/** Schemas to JSON Schema (draft 2020-12) for editors: unknown keys refused, one definition for each named thing, descriptions beside references. */
import { type JsonSchema, Schema, SchemaAST } from "effect"

export type Node = JsonSchema.JsonSchema

/** A JSON Schema with its definitions. */
export interface Document {
  readonly root: Node
  readonly definitions: Readonly<Record<string, Node>>
}

/** Reads the form of the file from a schema. */
export const document = (schema: Schema.Top): Document => {
  const { schema: root, definitions } = Schema.toJsonSchemaDocument(
    Schema.make<Schema.Top>(SchemaAST.toEncoded(schema.ast)),
    {
      onExcessProperty: "error",
      includeAnnotationKey: (key) => key === "x-recursion"
    }
  )
  return merged({
    root: simplified(root),
    definitions: Object.fromEntries(Object.entries(definitions).map(([name, node]) => [name, simplified(node)]))
  })
}

/** The file for editors. */
export const editorSchema = (schema: Schema.Top, id: string): Node => {
  const { root, definitions } = document(schema)
  return { $schema: "https://json-schema.org/draft/2020-12/schema", $id: id, ...root, $defs: definitions }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Rebuilds every node from the bottom up. */
const mapNodes = (value: unknown, f: (node: Readonly<Record<string, unknown>>) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((each) => mapNodes(each, f))
  if (!isObject(value)) return value
  return f(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapNodes(each, f)])))
}

const simplified = (node: Node): Node => mapNodes(node, simplify) as Node

const simplify = (node: Readonly<Record<string, unknown>>): Node => {
  const { allOf, "x-recursion": recursion, ...own } = node
  const rest = typeof recursion === "string" ? { ...own, $ref: `#/$defs/${recursion}` } : own
  if (!Array.isArray(allOf)) return meaningful(rest)
  const out: Record<string, unknown> = { ...rest }
  const kept: Array<unknown> = []
  for (const part of allOf as ReadonlyArray<Node>) {
    // Parts that say something new are one with the node; a second rule of the same kind stays apart.
    const clash = Object.keys(part).some((key) => key in out && key !== "description" && key !== "default")
    if (clash) kept.push(part)
    else Object.assign(out, part)
  }
  return meaningful(kept.length > 0 ? { ...out, allOf: kept } : out)
}

/** Drops what says nothing: keywords without a value, and the range of safe integers, which is a limit of this program alone. */
const meaningful = (node: Readonly<Record<string, unknown>>): Node =>
  Object.fromEntries(
    Object.entries(node).filter(
      ([key, value]) =>
        value !== undefined &&
        !(key === "maximum" && value === Number.MAX_SAFE_INTEGER) &&
        !(key === "minimum" && value === Number.MIN_SAFE_INTEGER)
    )
  )

const refPrefix = "#/$defs/"
const baseName = (name: string) => name.replace(/_\d+$/, "")

const renameRefs = (node: Node, rename: (name: string) => string): Node =>
  mapNodes(node, (each) =>
    typeof each["$ref"] === "string"
      ? { ...each, $ref: refPrefix + rename(each["$ref"].slice(refPrefix.length)) }
      : each
  ) as Node

/**
 * One definition for what is the same. Reading a schema from its other side makes a new node of every part, so that one thing comes out
 * under many names; names are put together as long as nothing tells them apart.
 */
const merged = ({ root, definitions }: Document): Document => {
  const names = Object.keys(definitions)
  let classes = new Map(names.map((name) => [name, baseName(name)]))
  for (;;) {
    const shapes = new Map(
      names.map((name) => [name, JSON.stringify(renameRefs(definitions[name]!, (ref) => classes.get(ref) ?? ref))])
    )
    const known = new Map<string, string>()
    const counts = new Map<string, number>()
    const next = new Map<string, string>()
    for (const name of names) {
      const base = baseName(name)
      const shape = `${base} ${classes.get(name)} ${shapes.get(name)}`
      let found = known.get(shape)
      if (found === undefined) {
        const count = (counts.get(base) ?? 0) + 1
        counts.set(base, count)
        found = count === 1 ? base : `${base}${count}`
        known.set(shape, found)
      }
      next.set(name, found)
    }
    if (new Set(next.values()).size === new Set(classes.values()).size) {
      const rename = (ref: string) => next.get(ref) ?? ref
      const out = new Map<string, Node>()
      for (const name of names)
        if (!out.has(rename(name))) out.set(rename(name), renameRefs(definitions[name]!, rename))
      const sorted = [...out].sort(([a], [b]) => (a < b ? -1 : 1))
      return { root: renameRefs(root, rename), definitions: Object.fromEntries(sorted) }
    }
    classes = next
  }
}
