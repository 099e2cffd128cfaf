/**
 * The text pipeline of a configuration file: expand the environment, parse, decode strictly, and report every problem at once with its place
 * in the original text. Pure: the caller reads the file and hands in the environment.
 */
import { Result, Schema } from "effect"
import { disguisesOf } from "./disguise.ts"
import { defaultLimits, type Limits, type Node, parseDocument } from "./document.ts"
import { type Environment, expand, replacementIn, toExpanded, toSource, type Unresolved } from "./expand.ts"
import { explain, type Finding } from "./explain.ts"
import { interpret } from "./interpret.ts"
import { outlineOf } from "./outline.ts"
import { formatPath, type Path } from "./path.ts"
import { type Positions, positions } from "./positions.ts"
import { inOrder, type Problem } from "./problem.ts"
import { shapeOf } from "./shape.ts"
import { source } from "./source.ts"

export interface Input {
  /** The name for messages, usually the path of the file. */
  readonly name: string
  /** YAML or JSON. */
  readonly text: string
  readonly env: Environment
  /** Replaces a leading `~`; without it a `~` stays. */
  readonly home?: string | undefined
  readonly limits?: Partial<Limits> | undefined
}

export type Loaded<A> =
  | {
      readonly ok: true
      readonly value: A
      readonly positions: Positions
      /** Where a credential is written out, instead of being taken from the environment or a file. */
      readonly inlineCredentials: ReadonlyArray<Path>
    }
  | { readonly ok: false; readonly problems: ReadonlyArray<Problem> }

/** Loads one file. Never throws. The problems are in the order of the text. */
export const load = <A, I>(input: Input, schema: Schema.Codec<A, I>): Loaded<A> => {
  const limits = { ...defaultLimits, ...input.limits }
  const original = source(input.text)
  const problem = (offset: number, message: string, code: string): Problem => ({
    file: input.name,
    ...original.position(offset),
    path: "",
    message,
    severity: "error",
    code,
    excerpt: original.excerpt(offset)
  })

  if (input.text.length > limits.size)
    return { ok: false, problems: [problem(0, `the text is longer than ${limits.size} characters`, "too-large")] }
  const expanded = expand(input.text, input.env, input.home)
  const unset = expanded.unresolved.map(({ sourceStart, message }) =>
    problem(sourceStart, message, "undefined-variable")
  )

  const document = parseDocument(expanded.text, limits)
  if (!document.ok) {
    const broken = document.problems.map(({ start, message, code }) =>
      problem(toSource(expanded, start), message, code)
    )
    return { ok: false, problems: inOrder([...unset, ...broken]) }
  }

  const { value, quotable, repeated, renamed, unnamed, credentials } = interpret(document.root, shapeOf(schema.ast))
  const disguises = disguisesOf(unnamed, expanded, input.text)
  const places = positions(input.name, outlineOf(document.root, expanded, quotable, renamed, disguises), original)
  const decoded = decode(schema, value)
  const problems = [
    ...unset.map((each, index) => ({
      ...each,
      path: places.show(pathTo(document.root, toExpanded(expanded, expanded.unresolved[index]!.sourceStart)) ?? [])
    })),
    ...repeated.map(({ path }) =>
      places.locate({
        path,
        message: "the key is repeated: it stands before, too; keep one",
        code: "repeated-key",
        about: "key"
      })
    ),
    ...(decoded.ok ? [] : decoded.findings)
      .filter(
        ({ path }) => !refersToUnset(document.root, path, expanded.unresolved, (offset) => toSource(expanded, offset))
      )
      .map(({ path, message, kind }) => places.locate({ path, message, ...codes[kind] }))
  ]
  if (problems.length > 0) return { ok: false, problems: inOrder(problems) }
  const inlineCredentials = credentials
    .filter(({ node }) => replacementIn(expanded, node.start, node.end) === undefined)
    .map(({ path }) => path)
  return decoded.ok
    ? { ok: true, value: decoded.value, positions: places, inlineCredentials }
    : { ok: false, problems: [] }
}

const codes = {
  type: {},
  value: {},
  missing: { code: "required" },
  unknown: { code: "unknown-key", about: "key" }
} as const

const unexplained: Finding = { path: [], message: "the value is not valid", kind: "value" }

const decode = <A, I>(schema: Schema.Codec<A, I>, value: unknown) => {
  const result = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error", reportInput: false })(
    value
  )
  if (Result.isSuccess(result)) return { ok: true, value: result.success } as const
  const lookup = (path: Path) =>
    path.reduce<unknown>(
      (at, key) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined),
      value
    )
  const findings = new Map(
    explain(result.failure.issue, lookup).map((finding) => [`${formatPath(finding.path)}\n${finding.message}`, finding])
  )
  return { ok: false, findings: findings.size > 0 ? [...findings.values()] : [unexplained] } as const
}

/** The path of the key or the scalar at an offset into the expanded text; of nothing for a comment. */
const pathTo = (node: Node, offset: number): Path | undefined => {
  const isIn = (start: number, end: number) => offset >= start && offset < end
  for (const [key, { keyStart, keyEnd, node: value }] of node.entries ?? []) {
    if (isIn(keyStart, keyEnd)) return [key]
    const below = isIn(value.start, value.end) ? pathTo(value, offset) : undefined
    if (below !== undefined) return [key, ...below]
  }
  for (const [index, item] of (node.items ?? []).entries()) {
    const below = isIn(item.start, item.end) ? pathTo(item, offset) : undefined
    if (below !== undefined) return [index, ...below]
  }
  return node.scalar === undefined ? undefined : []
}

/** A value with an unset variable in it is reported once, for the variable. */
const refersToUnset = (
  root: Node,
  path: Path,
  unresolved: ReadonlyArray<Unresolved>,
  original: (offset: number) => number
): boolean => {
  let node: Node | undefined = root
  for (const step of path)
    node = node?.entries?.get(String(step))?.node ?? (typeof step === "number" ? node?.items?.[step] : undefined)
  if (node?.scalar === undefined) return false
  const start = original(node.start)
  const end = original(node.end)
  return unresolved.some((each) => each.sourceStart < end && each.sourceEnd > start)
}
