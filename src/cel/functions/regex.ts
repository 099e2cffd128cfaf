/** Regular expressions: `matches`, replacing and extracting. A pattern that the expression spells out is compiled with it. */
import { type Frame, type Outcome, outOfWork, tooLarge } from "../frame.ts"
import { type Body, global, invalid, method, type Overload } from "../function.ts"
import { maxElements, maxTextLength } from "../limits.ts"
import { type Match, Pattern } from "../pattern.ts"
import { CelError } from "../problem.ts"
import { CelList, type CelValue, Optional } from "../value.ts"

type Apply = (frame: Frame, pattern: Pattern, text: string, ...rest: ReadonlyArray<CelValue>) => Outcome

/** A body that takes the pattern from its second argument, compiled before if that is constant. */
const withPattern = (apply: Apply): { readonly body: Body; readonly prepare: NonNullable<Overload["prepare"]> } => ({
  body: (frame, text, source, ...rest) => {
    const pattern = Pattern.dynamic(source as string, frame)
    return pattern instanceof CelError ? pattern : apply(frame, pattern, text as string, ...rest)
  },
  prepare: ([, source]) => {
    if (typeof source !== "string") return undefined
    const pattern = Pattern.compile(source)
    if (pattern instanceof CelError) return pattern
    return (frame, text, _, ...rest) => apply(frame, pattern, text as string, ...rest)
  }
})

const matches = withPattern((frame, pattern, text) => pattern.test(text, frame))

/** What stands in a replacement: `$1`, `$name`, `${name}` or `\1`, and `$$` for the sign itself. */
const dollar = /\$(?:(\$)|(\d+)|([A-Za-z_]\w*)|\{(\w+)\})/g
const backslash = /\\(?:(\\)|(\d))/g

const expandDollar = (replacement: string, pattern: Pattern, text: string, match: Match): string =>
  replacement.replace(dollar, (_, sign, number, name, braced) => {
    if (sign !== undefined) return "$"
    const group = number ?? name ?? braced
    return groupText(text, match[/^\d+$/.test(group) ? Number(group) : (pattern.groupNames[group] ?? -1)])
  })

const groupText = (text: string, group: readonly [number, number] | undefined): string =>
  group === undefined || group[0] === -1 ? "" : text.slice(group[0], group[1])

/** The first match only; groups as `$1`, `$name` and `${name}`. */
const replaceFirst = withPattern((frame, pattern, text, replacement) => {
  const match = pattern.find(text, 0, frame)
  if (match instanceof CelError) return match
  if (match === undefined) return text
  const [start, end] = match[0]!
  return bounded(
    frame,
    text.slice(0, start) + expandDollar(replacement as string, pattern, text, match) + text.slice(end)
  )
})

const bounded = (frame: Frame, text: string): Outcome =>
  text.length > maxTextLength ? tooLarge : frame.spendText(text.length) ? text : outOfWork

/** All matches one after another, or so many. */
const allMatches = (frame: Frame, pattern: Pattern, text: string, limit: number): ReadonlyArray<Match> | CelError => {
  const found: Array<Match> = []
  for (let from = 0; from <= text.length && found.length < limit; ) {
    const match = pattern.find(text, from, frame)
    if (match instanceof CelError) return match
    if (match === undefined) break
    if (found.push(match) > maxElements) return tooLarge
    const [start, end] = match[0]!
    from = end > start ? end : end + (text.codePointAt(end)! > 0xffff ? 2 : 1)
  }
  return found
}

/** `regex.replace`: groups as `\1`, which must exist. */
const replaceMatches = withPattern((frame, pattern, text, replacement, count) => {
  const template = replacement as string
  if (!frame.spend(template.length >> 2)) return outOfWork
  for (const [, , group] of template.matchAll(backslash))
    if (Number(group) > pattern.groups) return invalid(`the pattern has no group ${group}`)
  const limit = count === undefined || (count as bigint) < 0n ? Number.POSITIVE_INFINITY : Number(count)
  const found = allMatches(frame, pattern, text, limit)
  if (found instanceof CelError) return found
  let result = ""
  let from = 0
  for (const match of found) {
    const [start, end] = match[0]!
    result += text.slice(from, start)
    result += template.replace(backslash, (_, sign, group) =>
      sign === undefined ? groupText(text, match[Number(group)]) : "\\"
    )
    if (result.length > maxTextLength) return tooLarge
    from = end
  }
  return bounded(frame, result + text.slice(from))
})

const severalGroups = invalid("the pattern has more than one group")

/** The group of a match, or the whole of it where the pattern has none; `undefined` where the group took no part. */
const extracted = (pattern: Pattern, text: string, match: Match): string | undefined => {
  const [start, end] = match[pattern.groups]!
  return start === -1 ? undefined : text.slice(start, end)
}

const extract = withPattern((frame, pattern, text) => {
  if (pattern.groups > 1) return severalGroups
  const match = pattern.find(text, 0, frame)
  if (match instanceof CelError) return match
  const found = match && extracted(pattern, text, match)
  return found === undefined ? Optional.none : new Optional(found)
})

const extractAll = withPattern((frame, pattern, text) => {
  if (pattern.groups > 1) return severalGroups
  const found = allMatches(frame, pattern, text, Number.POSITIVE_INFINITY)
  if (found instanceof CelError) return found
  return new CelList(found.map((match) => extracted(pattern, text, match)).filter((part) => part !== undefined))
})

export const regexFunctions = [
  method("matches", ["string", "string"], "bool", matches.body, matches),
  global("matches", ["string", "string"], "bool", matches.body, matches),
  method("regexReplace", ["string", "string", "string"], "string", replaceFirst.body, replaceFirst),
  global("regex.replace", ["string", "string", "string"], "string", replaceMatches.body, replaceMatches),
  global("regex.replace", ["string", "string", "string", "int"], "string", replaceMatches.body, replaceMatches),
  global("regex.extract", ["string", "string"], "optional", extract.body, extract),
  global("regex.extractAll", ["string", "string"], "list", extractAll.body, extractAll)
]
