/**
 * How objects of the configuration are described: their fields, required, optional or with a default, and what holds between fields. All of it
 * is said about the form in the file, so that the decoder, the JSON Schema and the reference pages tell the same.
 */
import {
  Effect,
  type JsonSchema,
  Schema,
  SchemaAST,
  SchemaGetter,
  type SchemaIssue,
  SchemaParser,
  Struct
} from "effect"

/**
 * Says something of the form in the file. That is the innermost of the schemas that a value is decoded through; to turn a schema
 * around and back says it too, but copies all that it contains, which adds up over the depth of a file.
 */
const ofForm = <S extends Schema.Top>(schema: S, say: (form: Schema.Top) => Schema.Top): S =>
  schema.rebuild(sayingOfForm(schema.ast, say)) as S

const sayingOfForm = (ast: SchemaAST.AST, say: (form: Schema.Top) => Schema.Top): SchemaAST.AST => {
  const { encoding } = ast
  if (encoding === undefined) return say(Schema.make(ast)).ast
  const last = encoding.at(-1)!
  const link = new SchemaAST.Link(sayingOfForm(last.to, say), last.transformation)
  return Object.assign(Object.create(Object.getPrototypeOf(ast)), ast, { encoding: [...encoding.slice(0, -1), link] })
}

/** An object whose form in the file must pass these checks. */
const checkedObject = <S extends Schema.Top>(
  schema: S,
  { propertySignatures, indexSignatures, annotations, context, checks }: SchemaAST.Objects,
  ofTheForm: SchemaAST.Checks
): S =>
  schema.rebuild(
    new SchemaAST.Objects(propertySignatures, indexSignatures, annotations, checks, undefined, context, ofTheForm)
  ) as S

/** Annotates the form in the file; one with checks has its annotations on the last of them. */
const annotated = <S extends Schema.Top>(schema: S, annotations: Schema.Annotations.Documentation<unknown>): S => {
  const { ast } = schema
  // A check of the value takes its annotations; the form does not have it.
  if (ast.checks !== undefined) return Schema.annotateEncoded(annotations)(schema) as unknown as S
  if (!("encodingChecks" in ast) || ast.encodingChecks === undefined)
    return ofForm(schema, (form) => form.annotate(annotations))
  if (!SchemaAST.isObjects(ast) || ast.encoding !== undefined)
    return Schema.annotateEncoded(annotations)(schema) as unknown as S
  const checks = ast.encodingChecks.with(-1, ast.encodingChecks.at(-1)!.annotate(annotations))
  return checkedObject(schema, ast, checks as unknown as SchemaAST.Checks)
}

/** A field that must be there. */
export const required = <S extends Schema.Top>(schema: S, description: string): S =>
  ofForm(schema, (form) => form.annotateKey({ description }))

/** A field that may be left out. An explicit `null` in a file leaves it out, too. */
export const optional = <S extends Schema.Top>(schema: S, description: string): Schema.optionalKey<S> =>
  ofForm(Schema.optionalKey(schema), (form) => form.annotateKey({ description }))

/** A field that the language has, and that this build refuses. Generated configurations do without it. */
export const planned = <S extends Schema.Top>(schema: S, description: string): Schema.optionalKey<S> =>
  ofForm(Schema.optionalKey(schema), (form) =>
    form.annotateKey({ description: `${description} Not available yet.`, planned: true })
  )

/** A field that takes `value`, in the form of the file, when it is left out. The default is exported with the schema. */
export const defaulted = <S extends Schema.Top>(
  schema: S,
  value: S["Encoded"],
  description: string
): Schema.withDecodingDefaultKey<S> =>
  Schema.optionalKey(Schema.toEncoded(schema))
    .annotateKey({ description, default: value })
    .pipe(
      Schema.decodeTo(schema, {
        decode: SchemaGetter.withDefault(Effect.succeed(value)),
        encode: SchemaGetter.passthrough({ strict: false })
      })
    )

/** Names a form of the file for the JSON Schema and the reference pages. */
export const named = <S extends Schema.Top>(schema: S, identifier: string, description: string): S =>
  annotated(schema, { identifier, description })

/** Tells where keys belong that an object does not have, or what replaced them. */
export const hinted = <S extends Schema.Top>(schema: S, hints: Readonly<Record<string, string>>): S =>
  annotated(schema, { hints })

/** Shows how an object is written to who wrote something else in its place. */
export const sampled = <S extends Schema.Top>(schema: S, sample: string): S => annotated(schema, { sample })

/** What must hold in the form of the file, beyond each field by itself. */
export interface Rule<I> {
  /** The sentence for what is wrong, with the path below the object where it is not the object itself; nothing when all is well. */
  readonly check: (
    form: I
  ) => string | { readonly path: ReadonlyArray<PropertyKey>; readonly issue: string } | undefined
  /** The same in JSON Schema. A rule that it cannot express is left to the decoder. */
  readonly jsonSchema?: JsonSchema.JsonSchema
}

const checks = <I>(rules: ReadonlyArray<Rule<I>>) =>
  rules.map(({ check, jsonSchema = {} }) =>
    Schema.makeFilter<unknown>((form) => check(form as I), { toJsonSchema: () => jsonSchema })
  )

/** Adds rules about the form of the file. */
export const ruled = <S extends Schema.Top>(schema: S, ...rules: ReadonlyArray<Rule<S["Encoded"]>>): S => {
  const [first, ...others] = checks(rules)
  if (first === undefined) return schema
  const { ast } = schema
  if (!SchemaAST.isObjects(ast) || ast.encoding !== undefined)
    return Schema.flip(Schema.flip(schema).check(first, ...others)) as unknown as S
  // The same without turning it around.
  const { encodingChecks = [] } = ast
  return checkedObject(schema, ast, [...encodingChecks, first, ...others] as unknown as SchemaAST.Checks)
}

const nothing: Rule<object> = {
  check: (form) => {
    const [key] = Object.keys(form)
    return key === undefined ? undefined : { path: [key], issue: "unknown key" }
  },
  jsonSchema: { maxProperties: 0 }
}

/** An object with a name and a description, and what must hold between its fields. */
export const object = <const F extends Schema.Struct.Fields>(
  identifier: string,
  description: string,
  fields: F,
  ...rules: ReadonlyArray<Rule<Schema.Struct<F>["Encoded"]>>
): Schema.Struct<F> => {
  // A struct without fields would take anything but null.
  const empty = Object.keys(fields).length === 0
  const struct = empty
    ? (ruled(Schema.Record(Schema.String, Schema.Json), nothing) as unknown as Schema.Struct<F>)
    : Schema.Struct(fields)
  return named(ruled(struct, ...rules), identifier, description)
}

/** A rule for keys that are two names of one thing, or that make no sense together. */
export const exclusive = (
  first: string,
  second: string,
  message = `${first} and ${second} exclude each other`
): Rule<object> => ({
  check: (form) => (first in form && second in form ? message : undefined),
  jsonSchema: { not: { required: [first, second] } }
})

/** The fields of an object. */
export type Fields = { readonly [key: string]: Schema.Top }

/** Exactly one of the keys of `T` is there; reading another one is allowed and yields `undefined`. */
type One<T, K extends keyof T = keyof T> = K extends keyof T
  ? { readonly [P in K]: T[P] } & { readonly [P in Exclude<keyof T, K>]?: never }
  : never

type TypesOf<F extends Fields> = { readonly [K in keyof F]: F[K]["Type"] }
type EncodedOf<F extends Fields> = { readonly [K in keyof F]: F[K]["Encoded"] }

/** Exactly one of `choices` next to the `shared` fields: narrow with `"host" in target` or `target.host !== undefined`. */
export interface ExactlyOneOf<F extends Fields, Shared extends Fields>
  extends Schema.Codec<
    One<TypesOf<F>> & Schema.Struct<Shared>["Type"],
    One<EncodedOf<F>> & Schema.Struct<Shared>["Encoded"],
    (F[keyof F] | Shared[keyof Shared])["DecodingServices"],
    (F[keyof F] | Shared[keyof Shared])["EncodingServices"]
  > {}

/**
 * An object of which the keys say what it is. A file with none or several of them is told so in one sentence, where a union of objects
 * would report every alternative.
 */
export const exactlyOneOf = <const F extends Fields, const Shared extends Fields = {}>(
  identifier: string,
  description: string,
  choices: F,
  shared?: Shared,
  ...rules: ReadonlyArray<Rule<Schema.Struct<Shared>["Encoded"]>>
): ExactlyOneOf<F, Shared> => {
  const keys = Object.keys(choices)
  const expected = `expected exactly one of ${keys.join(", ")}`
  const one: Rule<object> = {
    check: (form) => {
      const present = keys.filter((key) => key in form)
      if (present.length === 1) return undefined
      return present.length === 0 ? expected : `${expected}, got ${present.join(" and ")}`
    },
    jsonSchema: { oneOf: keys.map((key) => ({ required: [key] })) }
  }
  const struct = Schema.Struct({ ...Struct.map(choices, Schema.optionalKey), ...shared })
  // The rule is what makes the narrower type true.
  return named(
    ruled(struct, one, ...(rules as ReadonlyArray<Rule<object>>)),
    identifier,
    description
  ) as unknown as ExactlyOneOf<F, Shared>
}

/**
 * Gives some fields of an object a second name. A file may use either, not both; decoded there is only the first one.
 * `aliases` maps the second name to the first.
 */
export const withAliases = <const F extends Schema.Struct.Fields>(
  schema: Schema.Struct<F>,
  aliases: { readonly [alias: string]: keyof F & string }
): Schema.Codec<Schema.Struct<F>["Type"], Schema.Struct<F>["Encoded"]> => {
  const wire = SchemaAST.toEncoded(schema.ast)
  if (!SchemaAST.isObjects(wire)) throw new Error("only an object has fields to rename")
  const typeOf = (name: string) => wire.propertySignatures.find((property) => property.name === name)!.type
  const added = Object.entries(aliases).map(([alias, name]) => {
    const second = Schema.optionalKey(Schema.make<Schema.Top>(typeOf(name)))
    return new SchemaAST.PropertySignature(
      alias,
      second.annotateKey({ description: `The same as \`${name}\`.`, default: undefined }).ast
    )
  })
  // A required field may be there under its other name; that it is there at all is for the decoded object to see.
  const freed = wire.propertySignatures.map((property) =>
    Object.values(aliases).includes(String(property.name)) && !SchemaAST.isOptional(property.type)
      ? new SchemaAST.PropertySignature(property.name, Schema.optionalKey(Schema.make<Schema.Top>(property.type)).ast)
      : property
  )
  const rules = Object.entries(aliases).flatMap(([alias, name]): ReadonlyArray<Rule<object>> => {
    const one = exclusive(alias, name, `${alias} and ${name} are two names of one setting; keep one`)
    const either = { anyOf: [{ required: [name] }, { required: [alias] }] }
    return SchemaAST.isOptional(typeOf(name)) ? [one] : [one, { check: () => undefined, jsonSchema: either }]
  })
  const free = new SchemaAST.Objects(freed, wire.indexSignatures, wire.annotations, wire.checks)
  let form: Schema.Codec<unknown> = extended(free, added)
  for (const check of checks(rules)) form = form.check(check)
  const { identifier, description } = SchemaAST.resolve(wire) ?? {}
  form = form.annotate({ identifier: identifier as string, description: description as string, aliases })
  const rename = (value: unknown) =>
    Object.fromEntries(
      Object.entries(value as object).map(([key, each]) => [Object.hasOwn(aliases, key) ? aliases[key] : key, each])
    )
  const decoded = schema as unknown as Schema.Codec<Schema.Struct<F>["Type"], unknown>
  return form.pipe(
    Schema.decodeTo(decoded, {
      decode: SchemaGetter.transform(rename),
      encode: SchemaGetter.passthrough({ strict: false })
    })
  ) as unknown as Schema.Codec<Schema.Struct<F>["Type"], Schema.Struct<F>["Encoded"]>
}

/**
 * A schema that contains itself. In the form of the file the inner one is named only: Effect's `suspend` would be unfolded without end by the
 * reading of a schema from its other side, which every description of a form does.
 */
export const recursive = <A>(identifier: string, schema: () => Schema.Codec<A, unknown>): Schema.Codec<A, unknown> => {
  type Parse<T> = (input: unknown, options: SchemaAST.ParseOptions) => Effect.Effect<T, SchemaIssue.Issue>
  let decode: Parse<A> | undefined
  let encode: Parse<Schema.Json> | undefined
  return Schema.Json.annotate({
    "x-recursion": identifier,
    recursion: { identifier, schema: () => Schema.toEncoded(schema()).ast }
  }).pipe(
    Schema.decodeTo(Schema.Unknown, {
      decode: SchemaGetter.transformEffect((input: unknown, options: SchemaAST.ParseOptions) => {
        decode ??= SchemaParser.decodeUnknownEffect(schema())
        return decode(input, options)
      }),
      encode: SchemaGetter.transformEffect((value: unknown, options: SchemaAST.ParseOptions) => {
        encode ??= SchemaParser.encodeUnknownEffect(schema()) as Parse<Schema.Json>
        return encode(value, options)
      })
    })
  ) as unknown as Schema.Codec<A, unknown>
}

/** The same object with more properties. */
export const extended = (
  wire: SchemaAST.Objects,
  added: ReadonlyArray<SchemaAST.PropertySignature>
): Schema.Codec<unknown> =>
  Schema.make<Schema.Codec<unknown>>(
    new SchemaAST.Objects([...wire.propertySignatures, ...added], wire.indexSignatures, wire.annotations, wire.checks)
  )
