/** Generated configurations of a policy, and generated requests that have to do with them. */
import { Arbitrary, Redacted, Result, Schema, SchemaAST } from "effect"
import { sites } from "../../pipeline/site.ts"
import type { AnyPolicy } from "../../pipeline/stage.ts"
import { spoken, type Vocabulary, vocabulary, vocabularyOfConnections } from "./vocabulary.ts"

/** The body of a request or an answer: in memory, or pushed chunk by chunk. */
export interface Content {
  readonly chunks: ReadonlyArray<string>
  readonly streamed: boolean
  /** Of a streamed one: why it breaks off behind its chunks. Default: it ends there. */
  readonly breaks?: string | undefined
}

/** A request as a client sends it. */
export interface Request {
  readonly method: string
  readonly scheme: "http" | "https"
  /** Canonical: lower case, without the default port. */
  readonly authority: string
  /** Path and query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Content | undefined
  /** The path prefix by which the route is matched; `undefined` when it is matched by something else. */
  readonly prefix: string | undefined
  /** The address of the client. Default: 192.0.2.1. */
  readonly from?: string | undefined
}

/** A configuration in both of its forms. */
export interface Configuration {
  /** As a file has it. */
  readonly written: unknown
  /** As the policy is compiled from it. */
  readonly decoded: unknown
}

/** One of some values, each as likely as the others. */
export const oneOf = <A>(...values: ReadonlyArray<A>): Arbitrary.Arbitrary<A> =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: values.length - 1 }))),
    (index) => values[index]!
  )

/** A value of one of some arbitraries. */
export const anyOf = <A>(...arbitraries: ReadonlyArray<Arbitrary.Arbitrary<A>>): Arbitrary.Arbitrary<A> =>
  Arbitrary.flatMap(oneOf(...arbitraries), (arbitrary) => arbitrary)

/** True as often as false. */
export const flag = oneOf(true, false)

/** Values of a form, with words instead of arbitrary texts and numbers wherever there are some. */
const written = (ast: SchemaAST.AST, words: Vocabulary, property: string): Arbitrary.Arbitrary<unknown> => {
  if (SchemaAST.isString(ast) || SchemaAST.isNumber(ast)) {
    const kind = SchemaAST.isString(ast) ? "string" : "number"
    const identifier = SchemaAST.resolveIdentifier(ast)
    // An expression is one wherever it stands.
    const own = identifier === "CelExpression" ? undefined : wordsOf(words, property)
    const known = (own ?? wordsOf(words, identifier))?.filter((w) => typeof w === kind)
    if (known !== undefined && known.length > 0) return oneOf<unknown>(...known)
  }
  if (SchemaAST.isUnion(ast))
    return anyOf(
      ...ast.types.filter(({ annotations }) => !isPlanned(annotations)).map((type) => written(type, words, property))
    )
  if (SchemaAST.isArrays(ast) && ast.elements.length === 0 && ast.rest.length === 1)
    return Arbitrary.array(written(ast.rest[0]!, words, property), { maxLength: 3 })
  if (SchemaAST.isObjects(ast)) return members(ast, words)
  return Arbitrary.schema(Schema.make<Schema.Codec<unknown>>(ast))
}

/** What the language has, and this build does not. */
const isPlanned = (annotations: Readonly<Record<string, unknown>> | undefined) => annotations?.["planned"] === true

const wordsOf = (words: Vocabulary, name: string | undefined) =>
  name !== undefined && Object.hasOwn(words, name) ? words[name] : undefined

const absent = Symbol("absent")

/** Optional members are there or not; now and then only one of them is, for objects of which the keys say what they are. */
const members = (ast: SchemaAST.Objects, words: Vocabulary): Arbitrary.Arbitrary<unknown> => {
  const available = ast.propertySignatures.filter(({ type }) => !isPlanned(type.context?.annotations))
  const fields = Object.fromEntries(
    available.map(({ name, type }) => {
      const value = written(type, words, String(name))
      const optional = SchemaAST.isOptional(type)
      return [String(name), Arbitrary.map(Arbitrary.all([value, flag]), ([v, there]) => ({ v, there, optional }))]
    })
  )
  const optional = Object.keys(fields).length
  const extra = ast.indexSignatures.map(({ parameter, type }) =>
    Arbitrary.array(Arbitrary.all([written(parameter, words, ""), written(type, words, "")]), { maxLength: 2 })
  )
  return Arbitrary.map(
    Arbitrary.all([
      Arbitrary.all(fields),
      Arbitrary.all(extra),
      oneOf<number | undefined>(undefined, ...Array.from({ length: optional }, (_, i) => i))
    ]),
    ([values, entries, only]) => {
      const found = Object.entries(values).map(([name, { v, there, optional }], index) => [
        name,
        !optional || (only === undefined ? there : only === index) ? v : absent
      ])
      return Object.fromEntries([...found, ...entries.flat()].filter(([, value]) => value !== absent))
    }
  )
}

export interface ConfigurationOptions {
  /** Words beside those of the proxy's own policies, by property name or by identifier. */
  readonly words?: Vocabulary | undefined
}

/** Configurations that decode: what a file can hold. Whether one compiles is for the policy to say. */
export const configurations = (
  policy: AnyPolicy,
  { words = {} }: ConfigurationOptions = {}
): Arbitrary.Arbitrary<Configuration> => {
  const schema: Schema.Codec<unknown, unknown> = policy.schema
  const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
  const usual = policy.sites.every((site) => sites[site].sees === "request") ? vocabulary : vocabularyOfConnections
  return Arbitrary.filterMap(written(SchemaAST.toEncoded(schema.ast), { ...usual, ...words }, ""), (form) => {
    return Result.map(decode(form), (decoded): Configuration => ({ written: form, decoded }))
  })
}

/** The texts of a configuration, secrets included: what a request must say to be known. */
const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Redacted.isRedacted(value)) return textsOf(Redacted.value(value))
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([key, inner]) => (Array.isArray(value) ? [] : [key]).concat(textsOf(inner)))
}

const isToken = (text: string) => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}$/.test(text)
const isValue = (text: string) => /^[\x21-\x7e]{1,100}$/.test(text)
/** Those that frame a message are the client's own affair. */
const framing = new Set(["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "expect"])

/** A configuration may call a header like a member that every object has. */
const valuesOf = (name: string) => (Object.hasOwn(spoken.headers, name) ? spoken.headers[name]! : [])

/** Bodies of any chunking. */
export const content: Arbitrary.Arbitrary<Content> = Arbitrary.all({
  chunks: Arbitrary.array(oneOf(...spoken.chunks), { maxLength: 4 }),
  streamed: flag
})

/** Requests made of the usual words and of those of some configurations, as they were decoded. */
export const requests = (...decoded: ReadonlyArray<unknown>): Arbitrary.Arbitrary<Request> => {
  const texts = [...new Set(decoded.flatMap(textsOf))]
  const spokenNames = Object.keys(spoken.headers)
  const names = [...spokenNames, ...texts.filter(isToken).map((text) => text.toLowerCase())].filter(
    (name) => !framing.has(name)
  )
  const own = texts.filter(isValue).flatMap((text) => [text, `Bearer ${text}`])
  const header = Arbitrary.flatMap(oneOf(...names), (name) =>
    Arbitrary.map(oneOf(...valuesOf(name), ...own, "1"), (value) => [name, value] as const)
  )
  return Arbitrary.map(
    Arbitrary.all({
      method: oneOf(...spoken.methods),
      scheme: oneOf<"http" | "https">("http", "https"),
      authority: oneOf(...spoken.hosts),
      path: oneOf(...spoken.paths),
      headers: Arbitrary.array(header, { maxLength: 5 }),
      body: anyOf<Content | undefined>(oneOf(undefined), content),
      prefix: oneOf<"/" | undefined>("/", undefined),
      from: oneOf<string | undefined>(undefined, ...spoken.clients)
    }),
    (request) => ({ ...request, body: ["GET", "HEAD", "OPTIONS"].includes(request.method) ? undefined : request.body })
  )
}
