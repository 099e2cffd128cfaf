/**
 * What a schema says about the places of a file: which keys a mapping knows, which values are secret, where `null` means "not set".
 * It is read from the encoded side of the schema and walked together with the document.
 */
import { SchemaAST } from "effect"
import { formOf, saidOf } from "../encoded.ts"

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      /** The value is never quoted in a message. */
      readonly secret?: boolean | undefined
      /** The value is a credential, which belongs in the environment or in a file. */
      readonly credential?: boolean | undefined
      /** Keys that are read as another one, with its name. */
      readonly aliases?: Readonly<Record<string, string>> | undefined
      /** What to say to keys that are not there: where they belong, or what replaced them. */
      readonly hints?: Readonly<Record<string, string>> | undefined
      /** How an object is written, for who wrote something else in its place. */
      readonly sample?: string | undefined
      /** The value is of a schema that contains this one; see `recursive`. */
      readonly recursion?: { readonly identifier: string; readonly schema: () => SchemaAST.AST } | undefined
    }
  }
}

/** The expectation at one place; several alternatives of a union are seen as one. */
export interface Shape {
  readonly secret: boolean
  readonly credential: boolean
  /** One of the keys that are known is for a secret. */
  readonly holdsSecret: boolean
  /** Text, a number or a boolean belongs here. */
  readonly scalar: boolean
  readonly nullable: boolean
  /** A key may be left out, so an explicit `null` leaves it out too. */
  readonly optional: boolean
  /** The keys that are known by name. */
  readonly keys: ReadonlySet<string>
  /** Any other key is welcome as well. */
  readonly open: boolean
  /** The key as which a second name is read; otherwise the key itself. */
  readAs(key: string): string
  property(key: string): Shape | undefined
  item(index: number): Shape | undefined
}

/** Reads the shape of a schema's encoded form. */
export const shapeOf = (ast: SchemaAST.AST): Shape => shape([ast])

const members = (asts: ReadonlyArray<SchemaAST.AST>, into: Array<SchemaAST.AST> = []): Array<SchemaAST.AST> => {
  for (const ast of asts.map(formOf)) {
    const recursion = ast.annotations?.["recursion"] as { readonly schema: () => SchemaAST.AST } | undefined
    if (recursion !== undefined) members([recursion.schema()], into)
    else if (SchemaAST.isUnion(ast)) members(ast.types, into)
    else if (SchemaAST.isSuspend(ast)) members([ast.thunk()], into)
    else into.push(ast)
  }
  return into
}

const isFree = (ast: SchemaAST.AST) =>
  SchemaAST.isUnknown(ast) || SchemaAST.isAny(ast) || SchemaAST.isDeclaration(ast) || SchemaAST.isObjectKeyword(ast)

// An annotation of a schema with checks sits on its last check.
const isMarked = (mark: "secret" | "credential") => (ast: SchemaAST.AST) => saidOf(ast)?.[mark] === true

const single = new WeakMap<SchemaAST.AST, Shape>()

const shape = (parts: ReadonlyArray<SchemaAST.AST>): Shape => {
  const asts = parts.map(formOf)
  const only = asts.length === 1 ? asts[0]! : undefined
  const known = only === undefined ? undefined : single.get(only)
  if (known !== undefined) return known
  const made = make(asts)
  if (only !== undefined) single.set(only, made)
  return made
}

const make = (asts: ReadonlyArray<SchemaAST.AST>): Shape => {
  const all = members(asts)
  const objects = all.filter(SchemaAST.isObjects)
  const lists = all.filter(SchemaAST.isArrays)
  const named = Map.groupBy(
    objects.flatMap((object) => object.propertySignatures),
    (property) => String(property.name)
  )
  const rest = objects.flatMap((object) => object.indexSignatures).map((signature) => signature.type)
  const properties = new Map<string, Shape | undefined>()
  const free = all.some(isFree)
  const aliases = Object.assign({}, ...all.map((ast) => saidOf(ast)?.["aliases"] ?? {})) as Readonly<
    Record<string, string>
  >
  let holdsSecret: boolean | undefined
  const made: Shape = {
    secret: [...asts, ...all].some(isMarked("secret")),
    get holdsSecret() {
      holdsSecret ??= [...named.keys()].some((key) => made.property(key)?.secret === true)
      return holdsSecret
    },
    scalar: all.some((ast) => !SchemaAST.isObjects(ast) && !SchemaAST.isArrays(ast) && !SchemaAST.isNull(ast)),
    credential: all.some(isMarked("credential")),
    nullable: free || all.some(SchemaAST.isNull),
    optional: asts.some(SchemaAST.isOptional),
    keys: new Set(named.keys()),
    open: free || rest.length > 0,
    readAs: (key) => (Object.hasOwn(aliases, key) ? aliases[key]! : key),
    property: (key) => {
      const cached = properties.get(key)
      if (cached !== undefined || properties.has(key)) return cached
      const types = named.get(key)?.map((property) => property.type) ?? rest
      const made = types.length === 0 ? (free ? shape([SchemaAST.unknown]) : undefined) : shape(types)
      properties.set(key, made)
      return made
    },
    item: (index) => {
      const types = lists.flatMap((list) => list.elements[index] ?? list.rest[0] ?? [])
      return types.length === 0 ? (free ? shape([SchemaAST.unknown]) : undefined) : shape(types)
    }
  }
  return made
}
