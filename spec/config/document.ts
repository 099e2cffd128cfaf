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
  | { readonly ok: false; readonly problems: ReadonlyArray<SyntaxProblem> }

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

/** Ends the conversion; never leaves this file. */
class Refused {
  readonly problem: SyntaxProblem
  constructor(start: number, message: string, code: string) {
    this.problem = { start, message, code }
  }
}

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
    const documents = [...composer.compose(tokens(text, limits, unclosed))]
    const document = documents[0]
    if (document === undefined) return { ok: true, root: { start: 0, end: 0, entries: new Map(), size: 1 } }
    const failures = [...document.errors, ...document.warnings]
    if (failures.length > 0) return refused(describe(failures, unclosed, text))
    const second = documents[1]
    if (second !== undefined)
      return refused([{ start: second.range[0], message: sentences["MULTIPLE_DOCS"]!, code: "yaml" }])
    return { ok: true, root: convert(document, limits) }
  } catch (error) {
    if (error instanceof Refused) return refused([error.problem])
    return refused([{ start: 0, message: "the text cannot be parsed", code: "yaml" }])
  }
}

const refused = (problems: ReadonlyArray<SyntaxProblem>): ParsedDocument => ({ ok: false, problems })

/** One problem a line. What is not closed is told where it was opened, and alone: everything after it is a consequence. */
const describe = (
  failures: ReadonlyArray<YAMLError>,
  unclosed: Unclosed,
  text: string
): ReadonlyArray<SyntaxProblem> => {
  if (unclosed.quote !== undefined)
    return [{ start: unclosed.quote, message: "the quote that begins here is not closed", code: "yaml" }]
  const bracket = unclosed.brackets.at(-1)
  if (bracket !== undefined)
    return [{ start: bracket, message: "the bracket that begins here is not closed", code: "yaml" }]
  const byLine = new Map<number, SyntaxProblem>()
  for (const { pos, code } of failures) {
    const start = Math.min(pos[0], text.length)
    const line = text.lastIndexOf("\n", start - 1)
    if (!byLine.has(line))
      byLine.set(line, { start, message: sentences[code] ?? "the text cannot be parsed here", code: "yaml" })
  }
  return [...byLine.values()]
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

const convert = (document: Document.Parsed, limits: Limits): Node => {
  const anchors = new Map<string, Node>()

  const bounded = (node: Node): Node => {
    if (node.size > limits.values)
      throw new Refused(node.start, `more than ${limits.values} values, aliases counted each time`, "too-large")
    return node
  }

  const keyOf = (key: unknown, at: number): { text: string; start: number; end: number } => {
    const target = isAlias(key) ? anchors.get(key.source) : undefined
    const node = key as YamlNode | null
    const [start, end] = node?.range ?? [at, at]
    const value = isScalar(key) ? key.value : target?.scalar
    if (value === null || value === undefined || typeof value === "object")
      throw new Refused(start, "a key must be a string", "yaml")
    const text = isScalar(key) && typeof value !== "string" ? (key.source ?? String(value)) : String(value)
    if (text === "<<")
      throw new Refused(
        start,
        "merge keys are not supported; use an alias for the whole value, or write the fields",
        "merge-key"
      )
    if (text === "__proto__") throw new Refused(start, "this key is not allowed", "yaml")
    return { text, start, end }
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
    if (target === undefined) throw new Refused(start, unknownAlias, "yaml")
    return { ...target, start, end }
  }

  const content = (node: YamlNode, start: number, end: number, depth: number): Node => {
    if (isMap(node)) {
      const entries = new Map<string, Entry>()
      let size = 1
      for (const pair of node.items) {
        const key = keyOf(pair.key, start)
        const value = visit(pair.value as YamlNode | null, key.end, depth + 1)
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
    if (typeof value === "number" && !Number.isFinite(value))
      throw new Refused(start, "expected a finite number", "yaml")
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      return { start, end, scalar: value, size: 1 }
    throw new Refused(start, "this kind of value is not supported", "yaml")
  }

  const root = document.contents as YamlNode | null
  // A file that holds comments alone configures nothing.
  if (root === null || (isScalar(root) && root.value === null && root.source === ""))
    return { start: 0, end: 0, entries: new Map(), size: 1 }
  return visit(root, 0, 0)
}
