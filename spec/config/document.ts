/**
 * Text to a tree that keeps the place of every value and key. YAML 1.2, of which JSON is a part: anchors and aliases work, merge keys and
 * tags of one's own do not. Size, depth and what aliases may add are bounded; no input makes it throw.
 */
import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  Parser,
  type YAMLError,
  type Node as YamlNode
} from "yaml"

/** One value of the file. Offsets are into the text that was parsed; `end` is exclusive. */
export interface Node {
  readonly start: number
  readonly end: number
  /** A scalar's value; `undefined` for the other two kinds. */
  readonly scalar?: string | number | boolean | null
  readonly entries?: ReadonlyMap<string, Entry>
  readonly items?: ReadonlyArray<Node>
  /** Values in this tree, aliases counted as if they were written out. */
  readonly size: number
}

/** A key of a mapping with its value. */
export interface Entry {
  readonly keyStart: number
  readonly keyEnd: number
  readonly node: Node
  /** Where the same key was written before. */
  readonly earlier?: number
}

/** A problem of the text itself, at an offset. */
export interface SyntaxProblem {
  readonly start: number
  readonly message: string
  readonly code: string
}

/** Bounds on one file. */
export interface Limits {
  /** UTF-16 units of the text, before and after expansion. Default 16 Mi. */
  readonly size: number
  /** Mappings and lists inside one another. Default 100. */
  readonly depth: number
  /** Values, those reached through aliases counted every time. Default one million. */
  readonly values: number
}

export const defaultLimits: Limits = { size: 16 * 1024 * 1024, depth: 100, values: 1_000_000 }

export type ParsedDocument =
  | { readonly ok: true; readonly root: Node }
  | {
      readonly ok: false
      /** In the order of the text. */
      readonly problems: ReadonlyArray<SyntaxProblem>
      /** What was read all the same. */
      readonly root?: Node | undefined
      /** Up to where it is what was written: behind it, parts may be lost. */
      readonly sound: number
    }

const unknownAlias =
  'what begins with * is an alias of YAML, and there is no anchor of this name before it; to mean the text, put it in quotes, as "*"'

// The parser's own sentences may quote the text, which after expansion holds secrets: only its codes are used.
const sentences: Readonly<Record<string, string>> = {
  ALIAS_PROPS: "an alias cannot have an anchor or a tag",
  BAD_ALIAS: unknownAlias,
  BAD_COLLECTION_TYPE: "the tag does not fit the value",
  BAD_DIRECTIVE: "unknown YAML directive",
  BAD_DQ_ESCAPE: "unknown escape sequence in a double-quoted string; write a backslash as \\\\, or use single quotes",
  BAD_INDENT: "wrong indentation; indent the line like its neighbours",
  BAD_PROP_ORDER: "anchors and tags must come after the indicators of a value",
  BAD_SCALAR_START: "a plain value cannot begin with this character; put the value in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "this is indented as if it belonged to the value before it; indent it like its neighbours, or, if the value holds a colon and a blank, put it in quotes",
  BLOCK_IN_FLOW: "a key in block form cannot stand inside [ ] or { }; is a comma missing between two entries?",
  IMPOSSIBLE: "the text cannot be parsed here",
  KEY_OVER_1024_CHARS: "a key must end within 1024 characters",
  MISSING_CHAR: "a comma is missing here, or a colon after a key, or the line is not indented like its neighbours",
  MULTILINE_IMPLICIT_KEY: "a colon is missing after this key, or the next line is not indented like it",
  MULTIPLE_ANCHORS: "a value can have one anchor",
  MULTIPLE_DOCS: "a file holds one document; remove the --- line",
  MULTIPLE_TAGS: "a value can have one tag",
  NON_STRING_KEY: "a key must be a string",
  RESOURCE_EXHAUSTION: "the text is nested too deeply",
  TAB_AS_INDENT: "indent with spaces, not with tabs",
  TAG_RESOLVE_FAILED: "unknown tag, or a value that does not fit its tag",
  UNEXPECTED_TOKEN:
    "nothing can follow the end of a value here; if the value begins with a quote that belongs to it, put all of it in other quotes"
}

/** Ends the reading of what is too much of something; never leaves this file. */
class Refused {
  readonly problem: SyntaxProblem
  constructor(start: number, message: string, code: string) {
    this.problem = { start, message, code }
  }
}

/** Takes a problem that the reading goes on after. */
type Tell = (start: number, message: string, code?: string) => void

/** What the text opens and does not close, by offset. */
interface Unclosed {
  quote?: number
  readonly brackets: Array<number>
}

/** Parses one document. */
export const parseDocument = (text: string, limits: Limits = defaultLimits): ParsedDocument => {
  if (text.length > limits.size)
    return refused([{ start: 0, message: `the text is longer than ${limits.size} characters`, code: "too-large" }])
  try {
    const unclosed: Unclosed = { brackets: [] }
    const composer = new Composer({ prettyErrors: false, uniqueKeys: false, merge: false })
    const [document, second] = [...composer.compose(tokens(text, limits, unclosed))]
    if (document === undefined) return { ok: true, root: { start: 0, end: 0, entries: new Map(), size: 1 } }
    const failures = [...document.errors, ...document.warnings]
    const problems = failures.length === 0 ? [] : [...describe(failures, unclosed, text)]
    if (second !== undefined)
      problems.push({ start: second.range[0], message: sentences["MULTIPLE_DOCS"]!, code: "yaml" })
    return problems.length === 0 ? converted(document, limits) : recovered(document, limits, text, problems)
  } catch (error) {
    if (error instanceof Refused) return refused([error.problem])
    return refused([{ start: 0, message: "the text cannot be parsed", code: "yaml" }])
  }
}

const refused = (problems: ReadonlyArray<SyntaxProblem>): ParsedDocument => ({ ok: false, problems, sound: 0 })

/** All of it was read, though it may hold what is no configuration. */
const converted = (document: Document.Parsed, limits: Limits): ParsedDocument => {
  const odd: Array<SyntaxProblem> = []
  const root = convert(document, limits, (start, message, code = "yaml") => odd.push({ start, message, code }))
  return odd.length === 0 ? { ok: true, root } : { ok: false, problems: odd, root, sound: Number.POSITIVE_INFINITY }
}

/** What stands before the line of the first problem was read; behind it, something may look odd only because of what is lost. */
const recovered = (
  document: Document.Parsed,
  limits: Limits,
  text: string,
  problems: ReadonlyArray<SyntaxProblem>
): ParsedDocument => {
  const lineAt = (offset: number) => text.lastIndexOf("\n", offset - 1) + 1
  const first = lineAt(Math.min(...problems.map(({ start }) => start)))
  const odd: Array<SyntaxProblem> = []
  let root: Node | undefined
  try {
    root = convert(document, limits, (start, message, code = "yaml") => {
      if (start < first) odd.push({ start, message, code })
    })
  } catch {
    // What a parser makes of a broken text need not be a tree.
  }
  // A value of several lines that a problem ends may have begun by mistake.
  const sound = Math.min(first, ...odd.map(({ start }) => lineAt(start)), lineAt(root ? beginOf(root, first) : first))
  return { ok: false, problems: [...odd, ...problems].toSorted((a, b) => a.start - b.start), root, sound }
}

/** Where the scalar begins that an offset is in; the offset itself where it is in none. */
const beginOf = ({ start, end, scalar, entries, items }: Node, offset: number): number => {
  if (scalar !== undefined) return start < offset && end > offset ? start : offset
  const inner = items ?? [...(entries?.values() ?? [])].map(({ node }) => node)
  return Math.min(offset, ...inner.map((node) => beginOf(node, offset)))
}

/** One problem a line. What is not closed is told where it was opened, and as the last: everything after it is a consequence. */
const describe = (
  failures: ReadonlyArray<YAMLError>,
  unclosed: Unclosed,
  text: string
): ReadonlyArray<SyntaxProblem> => {
  const opened = unclosed.quote ?? unclosed.brackets.at(-1)
  const byLine = new Map<number, SyntaxProblem>()
  for (const { pos, code } of failures) {
    const start = Math.min(pos[0], text.length)
    if (opened !== undefined && start >= opened) continue
    const line = text.lastIndexOf("\n", start - 1)
    if (!byLine.has(line))
      byLine.set(line, { start, message: sentences[code] ?? "the text cannot be parsed here", code: "yaml" })
  }
  if (opened === undefined) return [...byLine.values()]
  const what = unclosed.quote === undefined ? "bracket" : "quote"
  return [...byLine.values(), { start: opened, message: `the ${what} that begins here is not closed`, code: "yaml" }]
}

/** The concrete syntax, watched as it grows: what is nested too deeply is refused before anything recursive sees it. */
const tokens = function* (text: string, limits: Limits, unclosed: Unclosed) {
  const parser = new Parser()
  let abandoned: ReadonlyArray<number> = []
  for (const lexeme of new Lexer().lex(text)) {
    const first = lexeme[0]
    if (lexeme === "[" || lexeme === "{") unclosed.brackets.push(parser.offset)
    else if (lexeme === "]" || lexeme === "}") unclosed.brackets.pop()
    else if (lexeme === flowErrorEnd && abandoned.length === 0) abandoned = unclosed.brackets.splice(0)
    else if ((first === '"' || first === "'") && (lexeme.length === 1 || !lexeme.endsWith(first)))
      unclosed.quote ??= parser.offset
    yield* parser.next(lexeme)
    // A mapping inside a list and its value take up to three places on the parser's stack.
    if (parser.stack.length > limits.depth * 3 + 8)
      throw new Refused(parser.offset, `nested more than ${limits.depth} levels deep`, "too-deep")
  }
  yield* parser.end()
  unclosed.brackets.push(...abandoned)
}

// What the lexer puts where a line is indented less than the brackets it is in.
const flowErrorEnd = "\u0018"

const convert = (document: Document.Parsed, limits: Limits, tell: Tell): Node => {
  const anchors = new Map<string, Node>()

  const bounded = (node: Node): Node => {
    if (node.size > limits.values)
      throw new Refused(node.start, `more than ${limits.values} values, aliases counted each time`, "too-large")
    return node
  }

  /** Its text, unless it is none that a file may have. */
  const keyOf = (key: unknown, at: number): { text: string | undefined; start: number; end: number } => {
    const target = isAlias(key) ? anchors.get(key.source) : undefined
    const node = key as YamlNode | null
    const [start, end] = node?.range ?? [at, at]
    const value = isScalar(key) ? key.value : target?.scalar
    if (value === null || value === undefined || typeof value === "object") {
      tell(start, "a key must be a string")
      return { text: undefined, start, end }
    }
    const text = isScalar(key) && typeof value !== "string" ? (key.source ?? String(value)) : String(value)
    if (text === "<<")
      tell(start, "merge keys are not supported; use an alias for the whole value, or write the fields", "merge-key")
    if (text === "__proto__") tell(start, "this key is not allowed")
    return { text: text === "<<" || text === "__proto__" ? undefined : text, start, end }
  }

  const visit = (node: YamlNode | null, at: number, depth: number): Node => {
    if (node === null) return { start: at, end: at, scalar: null, size: 1 }
    const [start, end] = node.range ?? [at, at]
    if (depth > limits.depth) throw new Refused(start, `nested more than ${limits.depth} levels deep`, "too-deep")
    if (isAlias(node)) return alias(node, start, end)
    const converted = bounded(content(node, start, end, depth))
    if ("anchor" in node && node.anchor !== undefined) anchors.set(node.anchor, converted)
    return converted
  }

  const alias = (node: Alias, start: number, end: number): Node => {
    const target = anchors.get(node.source)
    if (target !== undefined) return { ...target, start, end }
    tell(start, unknownAlias)
    return { start, end, scalar: null, size: 1 }
  }

  const content = (node: YamlNode, start: number, end: number, depth: number): Node => {
    if (isMap(node)) {
      const entries = new Map<string, Entry>()
      let size = 1
      for (const pair of node.items) {
        const key = keyOf(pair.key, start)
        const value = visit(pair.value as YamlNode | null, key.end, depth + 1)
        if (key.text === undefined) continue
        const before = entries.get(key.text)
        const entry: Entry = { keyStart: key.start, keyEnd: key.end, node: value }
        entries.set(key.text, before === undefined ? entry : { ...entry, earlier: before.keyStart })
        size += value.size
      }
      return { start, end, entries, size }
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => visit(item as YamlNode | null, start, depth + 1))
      return { start, end, items, size: items.reduce((sum, item) => sum + item.size, 1) }
    }
    const value = isScalar(node) ? node.value : undefined
    if (typeof value === "number" && !Number.isFinite(value)) tell(start, "expected a finite number")
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      return { start, end, scalar: value, size: 1 }
    tell(start, "this kind of value is not supported")
    return { start, end, scalar: null, size: 1 }
  }

  const root = document.contents as YamlNode | null
  // A file that holds comments alone configures nothing.
  if (root === null || (isScalar(root) && root.value === null && root.source === ""))
    return { start: 0, end: 0, entries: new Map(), size: 1 }
  return visit(root, 0, 0)
}
