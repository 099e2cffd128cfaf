/**
 * JSON Schema as Gemini takes it: a subset of OpenAPI without references, unions of types, constants or conditions. What the subset can say in
 * other words is said so; the rest is left out.
 */
import { isObject, type JsonObject } from "../../formats/json.ts"

const maxDepth = 64
/** References that are used twice are written twice: a small schema can unfold into a very large one. */
const maxNodes = 10_000
/** Rewriting one node may uncover the next thing to rewrite. */
const maxRewrites = 64

const kept: ReadonlySet<string> = new Set([
  "type",
  "format",
  "description",
  "title",
  "nullable",
  "enum",
  "items",
  "properties",
  "required",
  "anyOf",
  "default",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "propertyOrdering"
])

type Node = Readonly<Record<string, unknown>>

/** What one node is being rewritten with: the definitions, and the names of those that are unfolded around it. */
interface Scope {
  readonly definitions: ReadonlyMap<string, unknown>
  readonly unfolded: ReadonlySet<string>
}

const without = (node: Node, ...keys: ReadonlyArray<string>): Node =>
  Object.fromEntries(Object.entries(node).filter(([key]) => !keys.includes(key)))

const definitionsOf = (schema: JsonObject): ReadonlyMap<string, unknown> => {
  const found = new Map<string, unknown>()
  for (const holder of [schema["$defs"], schema["definitions"]])
    if (isObject(holder)) for (const [name, definition] of Object.entries(holder)) found.set(name, definition)
  return found
}

const typeOfConstant = (value: unknown): string | undefined => {
  if (typeof value === "string") return "string"
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number"
  if (typeof value === "boolean") return "boolean"
  if (Array.isArray(value)) return "array"
  return isObject(value) ? "object" : undefined
}

const strings = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : []

const rewriteConst = (node: Node): Node => {
  if (!Object.hasOwn(node, "const")) return node
  const value = node["const"]
  const type = node["type"] ?? typeOfConstant(value)
  return { ...without(node, "const"), enum: [value], ...(type !== undefined && { type }) }
}

/** A list of types is one type that may be null, or a choice. */
const rewriteTypes = (node: Node): Node => {
  const { type } = node
  if (!Array.isArray(type)) return node
  const others = type.filter((each) => each !== "null")
  const nullable = others.length < type.length ? { nullable: true } : {}
  if (others.length === 0) return { ...without(node, "type"), ...nullable }
  if (others.length === 1) return { ...node, ...nullable, type: others[0] }
  return { ...without(node, "type"), ...nullable, anyOf: others.map((each) => ({ type: each })) }
}

const isNull = (node: unknown): boolean => isObject(node) && node["type"] === "null"

const rewriteAnyOf = (node: Node): Node => {
  if (node["anyOf"] === undefined && Array.isArray(node["oneOf"]))
    return { ...without(node, "oneOf"), anyOf: node["oneOf"] }
  const branches = node["anyOf"]
  if (!Array.isArray(branches)) return node
  const others = branches.filter((branch) => !isNull(branch))
  const nullable = others.length < branches.length ? { nullable: true } : {}
  if (others.length === 0) return { ...without(node, "anyOf"), ...nullable }
  const [only] = others
  if (others.length === 1) return { ...(isObject(only) ? only : {}), ...without(node, "anyOf"), ...nullable }
  return others.length < branches.length ? { ...node, ...nullable, anyOf: others } : node
}

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)

/** Says in the subset's words what one node says, until there is nothing left to rewrite. */
class NodeRewriter {
  private readonly definitions: ReadonlyMap<string, unknown>
  readonly unfolded: Set<string>

  constructor(scope: Scope) {
    this.definitions = scope.definitions
    this.unfolded = new Set(scope.unfolded)
  }

  settle(start: Node): Node {
    let node = start
    for (let round = 0; round < maxRewrites; round++) {
      const before = node
      node = this.flattenAllOf(this.unfold(node))
      node = rewriteAnyOf(rewriteTypes(rewriteConst(node)))
      if (node === before) break
    }
    return node
  }

  /** Members beside the reference win. A definition inside itself is a recursion, and is not unfolded again. */
  private unfold(node: Node): Node {
    const reference = node["$ref"]
    if (typeof reference !== "string") return node
    const name = nameOf(reference)
    const target = this.definitions.get(name)
    if (!isObject(target) || this.unfolded.has(name)) return node
    this.unfolded.add(name)
    return { ...target, ...without(node, "$ref") }
  }

  /** Properties and required names are united; of everything else the first that says it wins. */
  private flattenAllOf(node: Node): Node {
    if (!Array.isArray(node["allOf"])) return node
    let merged = without(node, "allOf")
    for (const branch of node["allOf"]) {
      if (!isObject(branch)) continue
      const part = this.unfold(branch)
      const own = isObject(merged["properties"]) ? merged["properties"] : {}
      const more = isObject(part["properties"]) ? part["properties"] : {}
      const properties = { ...more, ...own }
      const required = [...new Set([...strings(merged["required"]), ...strings(part["required"])])]
      merged = {
        ...part,
        ...merged,
        ...(Object.keys(properties).length > 0 && { properties }),
        ...(required.length > 0 && { required })
      }
    }
    return merged
  }
}

const finishNode = (node: Node): Node => {
  const out: Record<string, unknown> = { ...node }
  if (out["type"] === undefined && out["anyOf"] === undefined)
    out["type"] = Array.isArray(out["enum"]) ? "string" : "object"
  const type = typeof out["type"] === "string" ? out["type"].toLowerCase() : undefined
  if (type === "array" && !isObject(out["items"])) out["items"] = { type: "object" }
  if (type !== "string") delete out["enum"]
  if (out["format"] !== "enum" && out["format"] !== "date-time") delete out["format"]
  return Object.fromEntries(Object.entries(out).filter(([key]) => kept.has(key)))
}

class Normalizer {
  private nodes = 0
  tooLarge = false

  node(schema: unknown, scope: Scope, depth: number): Node {
    if (!isObject(schema)) return { type: "object" }
    if (depth > maxDepth || ++this.nodes > maxNodes) this.tooLarge = true
    if (this.tooLarge) return {}
    const rewriter = new NodeRewriter(scope)
    const node = finishNode(rewriter.settle(schema))
    const inner: Scope = { definitions: scope.definitions, unfolded: rewriter.unfolded }
    const next = (child: unknown) => this.node(child, inner, depth + 1)
    const { properties, items, anyOf } = node
    return {
      ...node,
      ...(isObject(properties) && {
        properties: Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, next(child)]))
      }),
      ...(items !== undefined && { items: next(items) }),
      ...(Array.isArray(anyOf) && { anyOf: anyOf.map(next) })
    }
  }
}

/** The schema in Gemini's subset; what is no schema becomes an open object. `undefined` = too deep or too large once unfolded. */
export const normalizeSchema = (schema: unknown): JsonObject | undefined => {
  const normalizer = new Normalizer()
  const definitions = isObject(schema) ? definitionsOf(schema) : new Map<string, unknown>()
  const node = normalizer.node(schema, { definitions, unfolded: new Set() }, 0)
  return normalizer.tooLarge ? undefined : node
}
