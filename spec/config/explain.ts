/** What a failed decode says, in sentences of a configuration file: one finding a value, the closest alternative of a union only, no values. */
import { type Schema, SchemaAST, SchemaIssue } from "effect"
import { withoutBlank } from "./disguise.ts"
import { nearest } from "./nearest.ts"
import { formatPath, type Path } from "./path.ts"
import { synonymOf } from "./synonyms.ts"

export interface Finding {
  readonly path: Path
  readonly message: string
  /** A value of another type, one that breaks a rule, a key that is missing, or one that is not known. */
  readonly kind: "type" | "value" | "missing" | "unknown"
  /** The outermost place on the way at which it was chosen which of several forms was meant. */
  readonly choice?: Path
  /** The key that was meant by one that is not known. */
  readonly meant?: string
  /** Another finding says it: the key is there under another name. */
  readonly isImplied?: boolean
}

/** Reads a value of the file, to say of what kind it is and to compare it with the literals that are allowed. */
export type Lookup = (path: Path) => unknown

/** Every finding of an issue tree. */
export const explain = (issue: SchemaIssue.Issue, lookup: Lookup): ReadonlyArray<Finding> => {
  const findings = visit(issue, [], lookup)
  const meant = new Set(
    findings.flatMap(({ path, meant }) => (meant === undefined ? [] : formatPath([...path.slice(0, -1), meant])))
  )
  return findings.map((finding) =>
    finding.kind === "missing" && meant.has(formatPath(finding.path)) ? { ...finding, isImplied: true } : finding
  )
}

const visit = (issue: SchemaIssue.Issue, path: Path, lookup: Lookup): ReadonlyArray<Finding> => {
  switch (issue._tag) {
    case "Pointer":
      return visit(
        issue.issue,
        [...path, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))],
        lookup
      )
    case "Composite":
      return issue.issues.flatMap((inner) => visit(inner, path, lookup))
    case "Encoding":
      return visit(issue.issue, path, lookup)
    case "AnyOf":
      return alternatives(issue, path, lookup)
    case "Filter": {
      const message = SchemaIssue.defaultCheckHook(issue)
      if (message !== undefined) return [{ path, message: sentence(message), kind: "value" }]
      const expected = issue.filter.annotations?.expected
      if (issue.issue._tag === "InvalidValue" && typeof expected === "string")
        return [{ path, message: `expected ${expected}`, kind: "value" }]
      return visit(issue.issue, path, lookup)
    }
    case "MissingKey":
      return [{ path, message: "required", kind: "missing" }]
    case "UnexpectedKey":
      return [{ path, kind: "unknown", ...unknownKey(issue, path, lookup) }]
    case "InvalidType":
      return [{ path, message: mismatch([issue.ast], lookup(path)), kind: "type" }]
    default:
      return [{ path, message: sentence(SchemaIssue.defaultLeafHook(issue)), kind: "value" }]
  }
}

const sentence = (message: string) => message.replace(/^Expected /, "expected ")

const unknownKey = (
  issue: SchemaIssue.UnexpectedKey,
  path: Path,
  lookup: Lookup
): Pick<Finding, "message" | "meant"> => {
  // As it is written: what has a default is not missing.
  const written = SchemaAST.toEncoded(issue.ast)
  const hints = SchemaAST.resolve(written)?.["hints"]
  const key = String(path.at(-1))
  if (hints !== undefined && Object.hasOwn(hints, key)) return { message: hints[key]! }
  if (SchemaAST.isObjects(issue.ast)) {
    const parameter = issue.ast.indexSignatures[0]?.parameter
    const expected = parameter !== undefined && SchemaAST.isString(parameter) ? patternOf(parameter) : undefined
    if (expected !== undefined) return { message: `expected ${expected}` }
  }
  const known = SchemaAST.isObjects(issue.ast) ? namesOf(issue.ast) : []
  const name = withoutBlank.exec(key)?.[1]
  if (name !== undefined && known.includes(name))
    return { message: `unknown key; a blank is missing after ${name}:`, meant: name }
  const lacking = SchemaAST.isObjects(written) ? lackingIn(written, lookup(path.slice(0, -1)), lookup(path)) : []
  const meant = synonymOf(key, new Set(known)) ?? nearest(key, known, lacking)
  if (meant !== undefined) return { message: `unknown key, did you mean ${meant}?`, meant }
  return { message: known.length > 0 && known.length <= few ? `unknown key; ${these(known)}` : "unknown key" }
}

/** The keys of an object, each under its first name. */
const namesOf = (ast: SchemaAST.Objects): ReadonlyArray<string> => {
  const aliases = SchemaAST.resolve(ast)?.["aliases"] ?? {}
  return ast.propertySignatures.map(({ name }) => String(name)).filter((name) => !Object.hasOwn(aliases, name))
}

/** The keys that an object must have and has not, of those that take a value such as this one. */
const lackingIn = (ast: SchemaAST.Objects, object: unknown, value: unknown): ReadonlyArray<string> =>
  ast.propertySignatures
    .filter(
      ({ name, type }) =>
        !SchemaAST.isOptional(type) &&
        !Object.hasOwn(Object(object), name) &&
        flatten([type]).some((ast) => takes(ast, value))
    )
    .map(({ name }) => String(name))

/** Whether a value is of the type at least. */
const takes = (ast: SchemaAST.AST, value: unknown): boolean => {
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
      return typeof value === "string"
    case "Number":
      return typeof value === "number"
    case "Boolean":
      return typeof value === "boolean"
    case "Literal":
      return typeof value === typeof ast.literal
    case "Arrays":
      return Array.isArray(value)
    case "Objects":
    case "ObjectKeyword":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    default:
      return true
  }
}

// A list that nobody reads to its end helps nobody.
const few = 8

const these = (known: ReadonlyArray<string>) =>
  known.length === 1 ? `the one that is known is ${known[0]}` : `known are ${known.join(", ")}`

/** Of the alternatives that failed, the one that the writer most likely meant. */
const alternatives = (issue: SchemaIssue.AnyOf, path: Path, lookup: Lookup): ReadonlyArray<Finding> => {
  const value = lookup(path)
  const branches = issue.issues.map((inner) => visit(inner, path, lookup))
  const findings = branches.flat()
  const isOwn = (finding: Finding) => finding.path.length === path.length
  if (findings.every((finding) => isOwn(finding) && finding.kind === "type"))
    return [{ path, message: mismatch(issue.ast.types, value), kind: "type" }]
  // Alternatives that all refuse the value itself are named together.
  if (findings.every(isOwn)) {
    const messages = [...new Set(findings.map((finding) => finding.message))]
    const expected = messages.every((message) => message.startsWith("expected "))
    const message = expected ? `expected ${messages.map((each) => each.slice(9)).join(" or ")}` : messages.join("; or ")
    return [{ path, message, kind: "value" }]
  }
  const cost = (branch: ReadonlyArray<Finding>) =>
    branch.reduce(
      (sum, { path: at, kind }) =>
        sum + (at.length > path.length + 1 ? 1 : kind === "missing" || kind === "unknown" ? 4 : 2),
      0
    )
  const best = branches.reduce((best, branch) => (cost(branch) < cost(best) ? branch : best))
  // An object that has nothing of what it should have was meant to be something else.
  const strange =
    best.every(({ path: at, kind }) => at.length === path.length + 1 && (kind === "missing" || kind === "unknown")) &&
    best.filter(({ kind }) => kind === "unknown").length === Object.keys(value ?? {}).length &&
    best.some(({ kind }) => kind === "missing") &&
    !best.some(({ message }) => message.includes("did you mean")) &&
    flatten(issue.ast.types).some((ast) => !SchemaAST.isObjects(ast))
  return strange
    ? [{ path, message: mismatch(issue.ast.types, value), kind: "type" }]
    : best.map((finding) => ({ ...finding, choice: path }))
}

const mismatch = (asts: ReadonlyArray<SchemaAST.AST>, value: unknown): string => {
  const flat = flatten(asts)
  const literals = flat.filter(SchemaAST.isLiteral).map((ast) => ast.literal)
  const kinds = [...new Set(flat.filter((ast) => !SchemaAST.isLiteral(ast)).map(kindOf))]
  const choices = [
    ...(literals.length === 1 ? [JSON.stringify(literals[0])] : []),
    ...(literals.length > 1 ? [`one of ${literals.map((literal) => JSON.stringify(literal)).join(", ")}`] : []),
    ...kinds
  ]
  const close =
    typeof value === "string"
      ? nearest(
          value,
          literals.filter((literal) => typeof literal === "string")
        )
      : undefined
  // A list that nobody reads to its end is left out where the answer is at hand.
  if (close !== undefined && literals.length > 8) return `not known; did you mean "${close}"?`
  const sameType = literals.some((literal) => typeof literal === typeof value)
  const got =
    close !== undefined ? `; did you mean "${close}"?` : sameType ? "" : `, got ${nameOf(value)}${remedy(flat, value)}`
  return `expected ${choices.join(" or ")}${got}`
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false
}

/** What to write in place of a value of another type. It never quotes the value. */
const remedy = (asts: ReadonlyArray<SchemaAST.AST>, value: unknown): string => {
  const takes = (is: (ast: SchemaAST.AST) => boolean) => asts.some(is)
  if (typeof value === "string") {
    const meant = booleans[value.toLowerCase()]
    if (takes(SchemaAST.isBoolean) && meant !== undefined) return `; write ${meant}, without quotes`
    if (takes(SchemaAST.isNumber) && /^[0-9]+(\.[0-9]+)?$/.test(value)) return "; remove the quotes"
  }
  if (
    takes((ast) => SchemaAST.isString(ast) && patternOf(ast) === undefined) &&
    (typeof value === "number" || typeof value === "boolean")
  )
    return "; put it in quotes"
  if (value === null) return ""
  if (takes(SchemaAST.isArrays) && !takes(SchemaAST.isString) && !Array.isArray(value))
    return typeof value === "object" ? '; begin each entry with "- "' : "; write it in [ ]"
  const sample = asts.map((ast) => SchemaAST.resolve(ast)?.["sample"]).find((each) => each !== undefined)
  if (sample !== undefined) return `; write ${sample}`
  const object = asts.find(SchemaAST.isObjects)
  if (object === undefined) return ""
  if (Array.isArray(value)) return '; write its keys without "- "'
  const keys = namesOf(object)
  return keys.length > 0 && keys.length <= few ? `; its keys are ${keys.join(", ")}` : ""
}

const flatten = (asts: ReadonlyArray<SchemaAST.AST>): ReadonlyArray<SchemaAST.AST> =>
  asts.flatMap((ast) => {
    const encoded = SchemaAST.toEncoded(ast)
    if (SchemaAST.isUnion(encoded)) return flatten(encoded.types)
    if (SchemaAST.isSuspend(encoded)) return flatten([encoded.thunk()])
    return [encoded]
  })

const kindOf = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "String":
      return patternOf(ast) ?? "a string"
    case "TemplateLiteral":
      return "a string"
    case "Number":
      return "a number"
    case "Boolean":
      return "a boolean"
    case "Objects": {
      const names = ast.propertySignatures
        .filter(({ type }) => !SchemaAST.isOptional(type))
        .map(({ name }) => String(name))
      return names.length === 0 ? "an object" : `an object with ${names.join(", ")}`
    }
    case "ObjectKeyword":
      return "an object"
    case "Arrays":
      return "a list"
    case "Null":
      return "null"
    default:
      return SchemaAST.resolveIdentifier(ast) ?? "another value"
  }
}

/** What a text must look like, in words, where a pattern says it. */
const patternOf = (ast: SchemaAST.String): string | undefined => {
  const check = ast.checks?.at(-1)
  const { representation, expected } = (check?.annotations ?? {}) as Schema.Annotations.Filter
  return representation?.id === "effect/schema/isPattern" ? expected : undefined
}

const nameOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  switch (typeof value) {
    case "string":
      return "a string"
    case "number":
      return "a number"
    case "boolean":
      return "a boolean"
    default:
      return "an object"
  }
}
