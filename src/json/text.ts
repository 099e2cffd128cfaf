/**
 * JSON as text: where a value begins and ends, and how to replace it without touching the rest. A relay that parses
 * and prints again loses what a parser cannot keep (long integers, `1.0`, key order); this one changes only its own
 * parts. Everything scanned is checked against the grammar (RFC 8259) and against a depth limit.
 */

/** A value in a text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A member of an object: its span is that of the value. */
export interface Member extends Span {
  readonly key: string
  /** Where the key's quote stands. */
  readonly at: number
}

/** Deeper documents are refused, here and for everyone behind us. */
export const maxDepth = 128

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** What stands in a string as it is: the regular expression engine runs over it faster than a loop would. */
const plainPattern = /[^"\\\u0000-\u001f]*/y
const escapePattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The first position from `at` on that is not white space. */
export const skipSpace = (text: string, at: number): number => {
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

const endOfString = (text: string, at: number): number => {
  let i = at + 1
  for (;;) {
    plainPattern.lastIndex = i
    plainPattern.test(text)
    i = plainPattern.lastIndex
    const code = text.charCodeAt(i)
    if (code === quote) return i + 1
    if (code !== backslash) return -1
    escapePattern.lastIndex = i
    if (!escapePattern.test(text)) return -1
    i = escapePattern.lastIndex
  }
}

const endOfNumber = (text: string, at: number): number => {
  numberPattern.lastIndex = at
  return numberPattern.test(text) ? numberPattern.lastIndex : -1
}

/** The end of the object that starts at `at`; `members` collects what stands in it. -1: no object, or a bad one. */
const endOfObject = (text: string, at: number, depth: number, members: Array<Member> | undefined): number => {
  let i = skipSpace(text, at + 1)
  if (text.charCodeAt(i) === closeObject) return i + 1
  for (;;) {
    if (text.charCodeAt(i) !== quote) return -1
    const keyAt = i
    const keyEnd = endOfString(text, i)
    if (keyEnd < 0) return -1
    i = skipSpace(text, keyEnd)
    if (text.charCodeAt(i) !== colon) return -1
    const start = skipSpace(text, i + 1)
    const end = endOfValue(text, start, depth + 1)
    if (end < 0) return -1
    members?.push({ key: unquote(text, keyAt, keyEnd), at: keyAt, start, end })
    i = skipSpace(text, end)
    const code = text.charCodeAt(i)
    if (code === closeObject) return i + 1
    if (code !== comma) return -1
    i = skipSpace(text, i + 1)
  }
}

const endOfArray = (text: string, at: number, depth: number, elements: Array<Span> | undefined): number => {
  let i = skipSpace(text, at + 1)
  if (text.charCodeAt(i) === closeArray) return i + 1
  for (;;) {
    const end = endOfValue(text, i, depth + 1)
    if (end < 0) return -1
    elements?.push({ start: i, end })
    i = skipSpace(text, end)
    const code = text.charCodeAt(i)
    if (code === closeArray) return i + 1
    if (code !== comma) return -1
    i = skipSpace(text, i + 1)
  }
}

/** The end of the value that starts exactly at `at`, or -1 where the grammar or the depth limit is broken. */
const endOfValue = (text: string, at: number, depth: number): number => {
  if (depth > maxDepth) return -1
  switch (text.charCodeAt(at)) {
    case quote:
      return endOfString(text, at)
    case openObject:
      return endOfObject(text, at, depth, undefined)
    case openArray:
      return endOfArray(text, at, depth, undefined)
    case 0x74:
      return text.startsWith("true", at) ? at + 4 : -1
    case 0x66:
      return text.startsWith("false", at) ? at + 5 : -1
    case 0x6e:
      return text.startsWith("null", at) ? at + 4 : -1
    default:
      return endOfNumber(text, at)
  }
}

/** The string between two quotes that `endOfString` has accepted. */
const unquote = (text: string, start: number, end: number): string => {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : inner
}

/** Two readers of one text may pick different ones of two equal keys; whatever we decide on must not be ambiguous. */
const hasDuplicates = (members: ReadonlyArray<Member>): boolean => {
  if (members.length > 16) return new Set(members.map((member) => member.key)).size < members.length
  for (let i = 1; i < members.length; i++)
    for (let j = 0; j < i; j++) if (members[i]!.key === members[j]!.key) return true
  return false
}

const wholeText = (text: string, at: number, end: number): boolean => end > at && skipSpace(text, end) === text.length

/** The members of the object at `at`, or `undefined` if there is no sound object or two members have one key. */
export const objectAt = (text: string, at: number): ReadonlyArray<Member> | undefined => {
  if (text.charCodeAt(at) !== openObject) return undefined
  const members: Array<Member> = []
  return endOfObject(text, at, 0, members) < 0 || hasDuplicates(members) ? undefined : members
}

/** The elements of the array at `at`, or `undefined` if there is no sound array. */
export const arrayAt = (text: string, at: number): ReadonlyArray<Span> | undefined => {
  if (text.charCodeAt(at) !== openArray) return undefined
  const elements: Array<Span> = []
  return endOfArray(text, at, 0, elements) < 0 ? undefined : elements
}

/** `objectAt` for a text that holds one object and nothing else. */
export const objectText = (text: string): ReadonlyArray<Member> | undefined => {
  const at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== openObject) return undefined
  const members: Array<Member> = []
  return wholeText(text, at, endOfObject(text, at, 0, members)) && !hasDuplicates(members) ? members : undefined
}

/** `arrayAt` for a text that holds one array and nothing else. */
export const arrayText = (text: string): ReadonlyArray<Span> | undefined => {
  const at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== openArray) return undefined
  const elements: Array<Span> = []
  return wholeText(text, at, endOfArray(text, at, 0, elements)) ? elements : undefined
}

/** The member with a key. */
export const member = (members: ReadonlyArray<Member>, key: string): Member | undefined => {
  for (const member of members) if (member.key === key) return member
  return undefined
}

/** The member of a member: `path(text, members, "_meta", "progressToken")`. */
export const path = (
  text: string,
  members: ReadonlyArray<Member> | undefined,
  key: string,
  ...rest: ReadonlyArray<string>
): Member | undefined => {
  if (members === undefined) return undefined
  const found = member(members, key)
  const [next, ...deeper] = rest
  return found === undefined || next === undefined ? found : path(text, objectAt(text, found.start), next, ...deeper)
}

/** Does a string stand there? */
export const isString = (text: string, span: Span): boolean => text.charCodeAt(span.start) === quote

/** The string a span holds, or `undefined` if it holds something else. */
export const stringIn = (text: string, span: Span | undefined): string | undefined =>
  span !== undefined && isString(text, span) ? unquote(text, span.start, span.end) : undefined

/** The parsed value of a span that was scanned. For values that the relay reads as a whole. */
export const valueIn = (text: string, span: Span): unknown => JSON.parse(text.slice(span.start, span.end))

/** Text to put in the place of a span; an empty span inserts. */
export interface Edit extends Span {
  readonly by: string
}

/** The text with spans replaced. The edits do not overlap and may come in any order. */
export const edited = (text: string, edits: ReadonlyArray<Edit>): string => {
  if (edits.length === 0) return text
  if (edits.length === 1) {
    const only = edits[0]!
    return text.slice(0, only.start) + only.by + text.slice(only.end)
  }
  let out = ""
  let from = 0
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    out += text.slice(from, edit.start) + edit.by
    from = edit.end
  }
  return out + text.slice(from)
}

/** The object's text with only those members that `keep` accepts, each as it was. */
export const filteredObject = (
  text: string,
  members: ReadonlyArray<Member>,
  keep: (member: Member) => boolean
): string =>
  `{${members
    .filter(keep)
    .map((member) => text.slice(member.at, member.end))
    .join(",")}}`

/**
 * Sets members of the object at `objectStart`: values (JSON text) are replaced where the key is there, the others are
 * added together behind the opening brace.
 */
export const settingMembers = (
  objectStart: number,
  members: ReadonlyArray<Member>,
  entries: ReadonlyArray<readonly [key: string, value: string]>
): ReadonlyArray<Edit> => {
  const edits: Array<Edit> = []
  const added: Array<string> = []
  for (const [key, value] of entries) {
    const found = member(members, key)
    if (found === undefined) added.push(`${JSON.stringify(key)}:${value}`)
    else edits.push({ start: found.start, end: found.end, by: value })
  }
  const at = objectStart + 1
  if (added.length > 0) edits.push({ start: at, end: at, by: `${added.join(",")}${members.length === 0 ? "" : ","}` })
  return edits
}

/** One line: a sound JSON text has line breaks only between its tokens, where a blank means the same. */
export const oneLine = (text: string): string =>
  text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]/g, " ") : text
