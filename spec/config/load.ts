/**
 * The text pipeline of a configuration file: expand the environment, parse, decode strictly, and report every problem at once with its place
 * in the original text. Pure: the caller reads the file and hands in the environment.
 */
import { Result, Schema } from "effect"
import { disguisesOf } from "./disguise.ts"
import { defaultLimits, type Limits, type Node, type ParsedDocument, parseDocument } from "./document.ts"
import { type Environment, expand, replacementIn, toExpanded, toSource, type Unresolved } from "./expand.ts"
import { explain, type Finding } from "./explain.ts"
import { type Gap, gapAt, isConsequence, originOf, placesOfRest, startsWith, without } from "./gaps.ts"
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
  | { readonly ok: false; readonly problems: ReadonlyArray<Problem>; readonly rest: Rest<A> | undefined }

/** A file without what is wrong in it, so that it can be told what else is wrong; nothing else is to be done with it. */
export interface Rest<A> {
  readonly value: A
  readonly positions: Positions
  readonly inlineCredentials: ReadonlyArray<Path>
  readonly gaps: ReadonlyArray<Gap>
}

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
    return failed([problem(0, `the text is longer than ${limits.size} characters`, "too-large")])
  const expanded = expand(input.text, input.env, input.home)
  const unset = expanded.unresolved.map(({ sourceStart, message }) =>
    problem(sourceStart, message, "undefined-variable")
  )

  const document = parseDocument(expanded.text, limits)
  const broken = document.ok
    ? []
    : document.problems.map(({ start, message, code }) => problem(toSource(expanded, start), message, code))
  const { root } = document
  if (root === undefined) return failed([...unset, ...broken])
  const sound = document.ok ? Number.POSITIVE_INFINITY : document.sound

  const { value, quotable, repeated, renamed, unnamed, credentials } = interpret(root, shapeOf(schema.ast))
  const disguises = disguisesOf(unnamed, expanded, input.text)
  const places = positions(input.name, outlineOf(root, expanded, quotable, renamed, disguises), original)
  const inlineCredentials = credentials
    .filter(({ node }) => replacementIn(expanded, node.start, node.end) === undefined)
    .map(({ path }) => path)
  const unsetPaths = expanded.unresolved.map(({ sourceStart }) => {
    const start = toExpanded(expanded, sourceStart)
    return (start < sound ? pathTo(root, start) : undefined) ?? []
  })
  const decoded = decode(schema, value)
  const [told, rest] = !document.ok
    ? [
        decoded.ok ? [] : decoded.findings.filter((finding) => isSound(finding, root, document, expanded.text)),
        undefined
      ]
    : decoded.ok && unsetPaths.length === 0
      ? [[], undefined]
      : decodeRest(schema, value, decoded, unsetPaths, roundsFor(input.text.length))
  const problems = [
    ...broken,
    ...unset.map((each, index) => ({ ...each, path: places.show(unsetPaths[index]!) })),
    ...repeated
      .filter(({ keyStart }) => keyStart < sound)
      .map(({ path }) =>
        places.locate({
          path,
          message: "the key is repeated: it stands before, too; keep one",
          code: "repeated-key",
          about: "key"
        })
      ),
    ...told
      .filter(
        ({ path, isImplied }) =>
          isImplied !== true && !refersToUnset(root, path, expanded.unresolved, (offset) => toSource(expanded, offset))
      )
      .map(({ path, message, kind }) => places.locate({ path, message, ...codes[kind] }))
  ]
  if (decoded.ok && problems.length === 0)
    return { ok: true, value: decoded.value, positions: places, inlineCredentials }
  if (!document.ok) return failed(problems)
  if (decoded.ok && unsetPaths.length === 0)
    return failed(problems, { value: decoded.value, positions: places, inlineCredentials, gaps: [] })
  return failed(problems, rest && { ...rest, positions: placesOfRest(places, rest.gaps), inlineCredentials: [] })
}

const failed = <A>(problems: ReadonlyArray<Problem>, rest?: Rest<A>): Loaded<A> => ({
  ok: false,
  problems: inOrder(problems),
  rest
})

const codes = {
  type: {},
  value: {},
  missing: { code: "required" },
  unknown: { code: "unknown-key", about: "key" }
} as const

type Unreadable = Extract<ParsedDocument, { readonly ok: false }>

const unexplained: Finding = { path: [], message: "the value is not valid", kind: "value" }

const decode = <A, I>(schema: Schema.Codec<A, I>, value: unknown): Decoded<A> => {
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

type Decoded<A> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly findings: ReadonlyArray<Finding> }

/** How much is taken out, and how often what is left is decoded again, before it is given up: a long text takes long. */
const most = 500
const roundsFor = (size: number) => Math.max(8, Math.min(64, Math.floor(2_000_000 / size)))

/** What may do in place of a value that has to be there, tried in this order. */
const standIns: ReadonlyArray<NonNullable<Gap["standIn"]>> = [1, "a", "localhost:80", "http://localhost", [], {}]

/** Takes out what is wrong, and what cannot be without it, until the rest can be decoded; with all that is told on the way. */
const decodeRest = <A, I>(
  schema: Schema.Codec<A, I>,
  value: unknown,
  first: Decoded<A>,
  wrong: ReadonlyArray<Path>,
  rounds: number
): readonly [told: ReadonlyArray<Finding>, rest: Pick<Rest<A>, "value" | "gaps"> | undefined] => {
  const gaps = new Map<string, Gap>()
  const add = (gap: Gap) => gaps.set(formatPath(gap.path), gap)
  const takeOut = (path: Path): boolean => {
    const gap = gapAt(value, path)
    if (gap !== undefined) add(gap)
    return gap !== undefined && gaps.size < most
  }
  /** Whether there is a way to go on with what is wrong at a place. */
  const mend = ({ path, kind }: Finding, isOwn: boolean): boolean => {
    const at = [...gaps.values()].find((gap) => startsWith(path, gap.path))
    // What another form of the value would need was never meant to be there.
    if (at === undefined && (kind !== "missing" || !isOwn)) return takeOut(path)
    const gap: Gap = at ?? { path, words: path.map(String) }
    const tried = gap.standIn === undefined ? -1 : standIns.indexOf(gap.standIn)
    const standIn = standIns[tried + 1]
    // What holds it goes with it. Nothing can stand in the place of an item of a list, nor where it is not needed.
    if (standIn === undefined || (tried === -1 && kind !== "missing")) return takeOut(gap.path.slice(0, -1))
    add({ ...gap, standIn })
    return true
  }
  const told: Array<Finding> = first.ok ? [] : [...first.findings]
  const started = wrong.every(takeOut) && told.every((finding) => mend(finding, true))
  for (let left = rounds; started && left > 0; left--) {
    const found = [...gaps.values()]
    const decoded = decode(schema, without(value, found))
    if (decoded.ok) return [told, { value: decoded.value, gaps: found }]
    const goesOn = decoded.findings.every((finding) => {
      const isOwn = !isConsequence(found, finding.path, finding.choice)
      const placed = { ...finding, path: originOf(finding.path, found) }
      if (isOwn) told.push(placed)
      return mend(placed, isOwn)
    })
    if (!goesOn) break
  }
  return [told, undefined]
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

/** What is written at a path, or where nothing is, what should hold it. */
const nearest = (root: Node, path: Path): Node => {
  let node = root
  for (const step of path) {
    const inner = node.entries?.get(String(step))?.node ?? (typeof step === "number" ? node.items?.[step] : undefined)
    if (inner === undefined) return node
    node = inner
  }
  return node
}

/** Whether a finding is about what was read in spite of problems of the text, and not about what they may have taken away. */
const isSound = ({ path, kind }: Finding, root: Node, { problems, sound }: Unreadable, text: string): boolean => {
  const { start, end } = nearest(root, path)
  if (end > sound || problems.some((problem) => problem.start >= start && problem.start < end)) return false
  // It may go on, or what is missing may stand, in the line that could not be read.
  return kind === "unknown" || /^\s*[^\s#]/m.test(text.slice(end, Math.min(sound, text.length)))
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
