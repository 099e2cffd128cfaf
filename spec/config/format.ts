/**
 * The canonical form of a configuration text: the keys of each mapping in the order of the reference, one indentation,
 * everything else as its author wrote it, comments and references to the environment above all. It means what it meant.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  parseDocument as parse,
  type Scalar,
  type ScalarTag,
  type Tags,
  visit,
  YAMLMap,
  YAMLSeq,
  type Node as YamlNode
} from "yaml"
import { parseDocument, type SyntaxProblem } from "./document.ts"
import type { Shape } from "./shape.ts"

export type Formatted =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problems: ReadonlyArray<SyntaxProblem> }

/**
 * Formats a text, of whatever is known to be of this shape. It is not expanded; offsets of problems are into it. Comments
 * below one another at several depths are all taken for one of the innermost value, which shows when they are read again.
 */
export const format = (text: string, shape: Shape): Formatted => {
  let last = once(text, shape)
  for (let times = 0; last.ok && times < 3; times++) {
    const next = once(last.text, shape)
    if (!next.ok || next.text === last.text) return last
    last = next
  }
  return last
}

const once = (text: string, shape: Shape): Formatted => {
  const source = text.replaceAll("\r\n", "\n")
  const hidden = hideReferences(source)
  const parsed = parseDocument(hidden.text)
  if (!parsed.ok) return { ok: false, problems: parsed.problems }
  const [body, tail] = splitTail(hidden.text)
  const document = read(body)
  if (document.contents === null) return { ok: true, text: source === "" ? "" : `${source.trimEnd()}\n` }
  const isJson = /^\s*[[{"]/.test(source) && isJsonText(source)

  spread(document, body)
  separateHeader(document)
  handOn(document, body)
  // An alias must stay behind its anchor.
  order(document.contents, hasAlias(document) ? undefined : shape, true)
  const written = isJson
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0, flowCollectionPadding: true })
  const out = `${written.trimEnd()}\n${tail}`
  // Blank lines before the tail may be of the last value.
  return sameMeaning(read(hidden.text).contents, read(out).contents)
    ? { ok: true, text: hidden.restore(out) }
    : { ok: false, problems: [{ start: 0, message: "the text cannot be written in another way", code: "format" }] }
}

const isJsonText = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const first = 0xe001
const radix = 0xf8ff - first

/** References, and escapes of what would be one or lead to the home directory: read, they are not what was written. */
const reference = /\$\$|\$\{[^}\n]*\}|\\\\|\\(?:x|u00|U000000)(?:24|7e)/gi

/**
 * A reference with braces may hold what YAML gives a meaning to. It is replaced by a word of its length, of characters that no
 * configuration holds, so that places stay the same.
 */
export const hideReferences = (text: string): { readonly text: string; readonly restore: (text: string) => string } => {
  if (/[\uE000-\uF8FF]/.test(text)) return { text, restore: (same) => same }
  const references: Array<string> = []
  const hidden = text.replace(reference, (found) => {
    if (found.length < 4) return found
    const number = references.push(found) - 1
    const digits = String.fromCharCode(first + Math.floor(number / radix), first + (number % radix))
    return `\uE000${digits}`.padEnd(found.length, "\uE000")
  })
  return {
    text: hidden,
    restore: (written) =>
      written.replace(
        /\uE000([\uE001-\uF8FF])([\uE001-\uF8FF])\uE000*/g,
        (_, high: string, low: string) =>
          references[(high.charCodeAt(0) - first) * radix + low.charCodeAt(0) - first] ?? ""
      )
  }
}

/** Comments at the margin that end the file are of the file, not of its last and innermost value. */
const splitTail = (text: string): readonly [body: string, tail: string] => {
  const lines = text.split("\n")
  let end = lines.length
  while (end > 0 && /^\s*(?:#.*)?$/.test(lines[end - 1]!)) end--
  // The lines of a block of text may look like comments.
  while (end < lines.length && !lines[end]!.startsWith("#")) end++
  const tail = lines.slice(end).join("\n").trim()
  if (tail === "" || end === 0) return [text, ""]
  const blank = lines[end - 1]!.trim() === "" ? "\n" : ""
  return [lines.slice(0, end).join("\n"), `${blank}${tail.replace(/\n{3,}/g, "\n\n")}\n`]
}

const stringTag = "tag:yaml.org,2002:str"

/** Folded text keeps the lines that its author gave it. */
const keepLines = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify: (item, context, onComment, onChompKeep) => {
    // A comment behind its header is placed with it.
    const lines = item.type === "BLOCK_FOLDED" && !item.comment ? foldedLines(item) : undefined
    if (lines === undefined || context.inFlow === true || context.implicitKey === true)
      return tag.stringify?.(item, context, onComment, onChompKeep) ?? String(item.value)
    const indent = context.indent === "" ? "  " : context.indent
    return `${lines.header}\n${lines.lines.map((line) => (line === "" ? "" : indent + line)).join("\n")}`
  }
})

/** The header and the lines of a folded text, without their indentation; `undefined` where it says its indentation itself. */
const foldedLines = (item: Scalar): { readonly header: string; readonly lines: ReadonlyArray<string> } | undefined => {
  const token = item.srcToken
  if (token?.type !== "block-scalar") return undefined
  const header = token.props.find(({ type }) => type === "block-scalar-header")
  if (header === undefined || !("source" in header) || /\d|\+/.test(header.source)) return undefined
  const lines = token.source.trimEnd().split("\n")
  const indent = Math.min(...lines.filter((line) => line !== "").map((line) => line.length - line.trimStart().length))
  return { header: header.source, lines: lines.map((line) => line.slice(indent)) }
}

const isStringTag = (tag: Tags[number]): tag is ScalarTag =>
  typeof tag === "object" && tag.tag === stringTag && tag.collection === undefined

const read = (text: string) =>
  parse(text, {
    keepSourceTokens: true,
    prettyErrors: false,
    uniqueKeys: false,
    merge: false,
    customTags: (tags) => tags.map((tag) => (isStringTag(tag) ? keepLines(tag) : tag))
  })

/** Lists have no space inside their brackets, and what was written on several lines is written as a block. */
const spread = (document: Document.Parsed, text: string): void => {
  visit(document, {
    Collection: (_, node) => {
      const [start, end] = node.range ?? [0, 0]
      if (node.flow === true && node.items.length > 0 && text.slice(start, end).includes("\n")) node.flow = false
      if (isSeq(node))
        node.toString = (context, onComment, onChompKeep) =>
          YAMLSeq.prototype.toString.call(
            node,
            context && { ...context, flowCollectionPadding: "" },
            onComment,
            onChompKeep
          )
      else if (isMap(node))
        node.toString = (context, onComment, onChompKeep) =>
          YAMLMap.prototype.toString.call(
            node,
            context && { ...context, flowCollectionPadding: " " },
            onComment,
            onChompKeep
          )
    }
  })
}

/** What stands above the first key: the comment of the file, and after a blank line that of the key. */
const separateHeader = (document: Document.Parsed): void => {
  const { contents } = document
  if (!isMap(contents)) return
  const key = contents.items[0]?.key
  if (!isScalar(key) || typeof key.commentBefore !== "string" || typeof document.commentBefore === "string") return
  const comment = key.commentBefore
  const blank = comment.lastIndexOf("\n\n")
  const isHeader = /^ yaml-language-server:/.test(comment)
  if (blank < 0 && !isHeader) return
  document.commentBefore = blank < 0 ? comment : comment.slice(0, blank)
  key.commentBefore = blank < 0 ? null : comment.slice(blank + 2)
}

/** A list at the margin of its key ends with the comment of the key that follows: no indentation tells them apart. */
const handOn = (document: Document.Parsed, text: string): void => {
  visit(document, {
    Map: (_, { items, srcToken }) => {
      for (const [index, { value }] of items.entries()) {
        const next = items[index + 1]?.key
        if (!isSeq(value) || typeof value.comment !== "string" || !isScalar(next)) continue
        if (srcToken?.type !== "block-map" || value.srcToken?.type !== "block-seq") continue
        if (srcToken.indent !== value.srcToken.indent) continue
        next.commentBefore = [value.comment, ...((next.commentBefore ?? "") ? [next.commentBefore] : [])].join("\n")
        next.spaceBefore = /\n[ \t]*\n/.test(text.slice(value.range?.[1], next.range?.[0]))
        value.comment = null
      }
    }
  })
}

const hasAlias = (document: Document.Parsed): boolean => {
  let found = false
  visit(document, {
    Alias: () => {
      found = true
      return visit.BREAK
    }
  })
  return found
}

/** Puts the keys that are known by name into their order, a name before all others; free keys stay behind, in the order of the file. */
const order = (node: unknown, shape: Shape | undefined, isRoot = false): void => {
  if (isSeq(node)) for (const [index, item] of node.items.entries()) order(item, shape?.item(index))
  if (!isMap(node)) return
  for (const { key, value } of node.items) order(value, shape?.property(textOf(key)))
  // The comment above the first key stands for the whole mapping, but it goes where the key goes.
  if (!isRoot) moveComment(node, node.items[0]?.key)
  if (shape !== undefined && shape.keys.size > 0) {
    const ranks = new Map([...shape.keys].map((key, index) => [key, index]))
    const rank = ({ key }: Pair) => (textOf(key) === "name" ? -1 : (ranks.get(textOf(key)) ?? ranks.size))
    node.items.sort((a, b) => rank(a) - rank(b))
  }
  const first = node.items[0]?.key
  if (!isScalar(first)) return
  first.spaceBefore = false
  if (!isRoot) moveComment(first, node)
}

const moveComment = (from: YamlNode, to: unknown): void => {
  if (!isNode(to) || typeof from.commentBefore !== "string") return
  to.commentBefore =
    typeof to.commentBefore === "string" ? `${from.commentBefore}\n${to.commentBefore}` : from.commentBefore
  from.commentBefore = null
}

const textOf = (key: unknown): string => (isScalar(key) ? String(key.value) : "")

const isPlain = (scalar: Scalar) => scalar.type === "PLAIN"

/** The same values under the same keys, and references that are read as the same kind of value. */
const sameMeaning = (a: unknown, b: unknown): boolean => {
  if (isScalar(a) && isScalar(b))
    return Object.is(a.value, b.value) && (!/[$~\uE000]/.test(String(a.value)) || isPlain(a) === isPlain(b))
  if (isAlias(a) && isAlias(b)) return a.source === b.source
  if (!isCollection(a) || !isCollection(b) || isSeq(a) !== isSeq(b) || a.items.length !== b.items.length) return false
  if (isSeq(a)) return a.items.every((item, index) => sameMeaning(item, b.items[index]))
  const byKey = (pairs: ReadonlyArray<unknown>) => Map.groupBy(pairs.filter(isPair), ({ key }) => textOf(key))
  const others = byKey(b.items)
  return [...byKey(a.items)].every(
    ([key, pairs]) =>
      pairs.length === others.get(key)?.length &&
      pairs.every(({ value }, index) => sameMeaning(value, others.get(key)?.[index]?.value))
  )
}
