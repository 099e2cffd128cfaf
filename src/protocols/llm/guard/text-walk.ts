/**
 * Walks every string of a document in its order and puts changed texts back where they stood. What does not change keeps its identity, up
 * to the whole body, so that an untouched body is sent byte for byte.
 */
import { maxNesting } from "../../../cel/limits.ts"
import { isObject, type JsonObject, parseJson, withMember } from "../formats/json.ts"
import { type ContentScope, looksLike, type Place, placeOf } from "./assignment.ts"

/** Gives the text that is to stand in place of `text`: the very same string for no change. */
export type Rewrite = (text: string, scope: ContentScope) => string

/** How texts are taken: as slots, joined as the format says; each string by itself, empty ones too; or by whoever looks for something. */
export type Reading =
  /** Texts that follow each other in a list of parts are one text. */
  | "slots"
  /** Every string by itself, empty ones too. */
  | "strings"
  /** As slots, and once more without anything between the parts; all names of unknown members, and what JSON text escapes, too. */
  | "search"

/** One walk over one body. */
export class TextWalk {
  /** Something was nested too deeply to be looked at: what was seen is not all there is, and a guard must not pass it. */
  tooDeep = false
  /** Something was found that cannot be taken out: a guard must not pass it. */
  unplaceable = false
  /** Names and numbers on the way to where the walk is, for readings of strings. */
  readonly trail: Array<string> = []
  private readonly names = new Map<string, string>()
  private readonly rewrite: Rewrite
  private readonly scopes: ReadonlySet<ContentScope>
  private readonly reading: Reading

  constructor(rewrite: Rewrite, scopes: ReadonlySet<ContentScope>, reading: Reading) {
    this.rewrite = rewrite
    this.scopes = scopes
    this.reading = reading
  }

  /** The body, rewritten. */
  body(place: Place, body: JsonObject): JsonObject {
    const after = this.object(body, place, "messages", undefined, false, 0)
    return isObject(after) ? after : body
  }

  private value(
    value: unknown,
    place: Place | undefined,
    scope: ContentScope,
    below: Place["below"],
    apart: boolean,
    depth: number
  ): unknown {
    if (typeof value === "string")
      return place?.skip !== undefined && looksLike[place.skip](value)
        ? value
        : this.text(value, place?.scope ?? scope, depth)
    if (typeof value !== "object" || value === null || place?.skip === "echo") return value
    const inner = place?.scope ?? scope
    // Nothing below is assigned to anything else.
    if (place === undefined && !this.scopes.has(scope)) return value
    if (depth > maxNesting) {
      this.tooDeep = true
      return value
    }
    const lower = place?.below ?? below
    const values = apart || place?.values === true
    return Array.isArray(value)
      ? this.list(value, place, inner, lower, values, depth)
      : this.object(value as JsonObject, place, inner, lower, values, depth)
  }

  private text(text: string, scope: ContentScope, depth: number): string {
    if (!this.scopes.has(scope) || (text === "" && this.reading !== "strings")) return text
    const after = this.rewrite(text, scope)
    return this.reading === "search" && after.includes("\\") ? this.escaped(after, scope, depth) : after
  }

  /** What JSON text escapes stands in clear where somebody reads it: tool arguments above all. */
  private escaped(text: string, scope: ContentScope, depth: number): string {
    const json = parseJson(text)
    if (typeof json !== "object" || json === null) return text
    const after = this.value(json, undefined, scope, undefined, true, depth + 1)
    return after === json ? text : JSON.stringify(after)
  }

  private object(
    value: JsonObject,
    usual: Place | undefined,
    outer: ContentScope,
    outerBelow: Place["below"],
    apart: boolean,
    depth: number,
    /** A member whose text is read with those of other parts. */
    without?: string
  ): JsonObject {
    const place = usual && placeOf(usual, value)
    const scope = place?.scope ?? outer
    const below = place?.below ?? outerBelow
    const values = apart || place?.values === true
    // A thought is another text than what is said beside it.
    const index = this.reading === "strings" ? (place?.signed ? "#signed" : indexIn(value)) : undefined
    if (index !== undefined) this.trail.push(index)
    let members: Map<string, unknown> | undefined
    let names: Map<string, string> | undefined
    for (const key of Object.keys(value)) {
      if (key === without) continue
      const member = place?.members.get(key) ?? below?.get(key) ?? place?.any
      if (member === undefined && this.scopes.has(scope) && (this.reading === "search" || !looksLike.name(key))) {
        const name = this.name(key, scope)
        if (name !== key) {
          names ??= new Map()
          names.set(key, name)
        }
      }
      const before = value[key]
      this.trail.push(key)
      const after = this.value(before, member, scope, below, values, depth + 1)
      this.trail.pop()
      if (after !== before) {
        members ??= new Map()
        members.set(key, after)
      }
    }
    if (index !== undefined) this.trail.pop()
    if (members === undefined && names === undefined) return value
    const changed = this.changed(value, members, names)
    return members === undefined || place === undefined ? changed : withoutPositions(changed, place.positions)
  }

  /** Schemas have the same few names over and over. */
  private name(key: string, scope: ContentScope): string {
    let name = this.names.get(key)
    if (name === undefined) {
      name = this.rewrite(key, scope)
      if (this.reading === "search") this.names.set(key, name)
    }
    return name
  }

  /** With some other members and names, all at once: an object may have very many of them. */
  private changed(
    object: JsonObject,
    members: ReadonlyMap<string, unknown> | undefined,
    names: ReadonlyMap<string, string> | undefined
  ): JsonObject {
    const entries = Object.entries(object).map(
      ([key, member]) => [names?.get(key) ?? key, members?.has(key) ? members.get(key) : member] as const
    )
    this.unplaceable ||= names !== undefined && new Set(entries.map(([key]) => key)).size < entries.length
    return Object.fromEntries(entries)
  }

  private list(
    value: ReadonlyArray<unknown>,
    place: Place | undefined,
    scope: ContentScope,
    below: Place["below"],
    apart: boolean,
    depth: number
  ): ReadonlyArray<unknown> {
    // The strings of a list that are left alone one by one.
    const items = place?.items ?? (place?.skip === undefined ? undefined : place)
    const numbered = this.reading === "strings" && place?.parts === undefined
    const parts = this.reading === "strings" || apart ? undefined : place === undefined ? unknownParts : place.parts
    const result: Array<unknown> = []
    for (let i = 0; i < value.length; ) {
      const before = value[i]
      const text = parts && this.textIn(before, items, scope)
      if (parts !== undefined && text !== undefined) {
        i = this.run(value, i, text, { items, scope, below, depth, separator: parts.separator }, result)
        continue
      }
      const counted = numbered && indexIn(before) === undefined
      if (counted) this.trail.push(String(i))
      const after = this.value(before, items, scope, below, apart, depth + 1)
      if (counted) this.trail.pop()
      if (after === before || !isObject(after) || items === undefined || !placeOf(items, after).signed)
        result.push(after)
      i++
    }
    const changed = result.length !== value.length || result.some((item, i) => item !== value[i])
    const whole =
      parts !== undefined && this.reading === "search" && value.length > 1
        ? this.split(value, result, items, scope, parts.separator, depth)
        : undefined
    return whole ?? (changed ? result : value)
  }

  /** The texts of parts that follow each other: what changes collapses into the last of them. Gives where the next part stands. */
  private run(
    list: ReadonlyArray<unknown>,
    start: number,
    first: Text,
    { items, scope, below, depth, separator }: Run,
    result: Array<unknown>
  ): number {
    const parts: Array<unknown> = []
    let end = start
    let joined = ""
    let last = first
    for (let text: Text | undefined = first; text?.scope === first.scope; text = this.textIn(list[end], items, scope)) {
      joined += end === start ? text.text : separator + text.text
      last = text
      const part = list[end++]
      const { member } = text
      parts.push(
        member === undefined ? part : this.object(part as JsonObject, items, scope, below, false, depth + 1, member)
      )
      if (separator === undefined || end === list.length) break
    }
    const after = this.text(joined, first.scope, depth)
    if (after === joined) result.push(...parts)
    else result.push(written(parts.at(-1), last, after, items))
    return end
  }

  /** The text of a content part that is read; a string is a part as well. */
  private textIn(part: unknown, usual: Place | undefined, outer: ContentScope): Text | undefined {
    const text = textIn(part, usual, outer)
    return text !== undefined && this.scopes.has(text.scope) ? text : undefined
  }

  /**
   * The list with all of its texts as one, in the last of them, where what is looked for was split over several; `undefined` where it was
   * not. `clean`: the list without what its texts hold as they follow each other.
   */
  private split(
    list: ReadonlyArray<unknown>,
    clean: ReadonlyArray<unknown>,
    items: Place | undefined,
    scope: ContentScope,
    separator: string | undefined,
    depth: number
  ): ReadonlyArray<unknown> | undefined {
    const read = list.flatMap((part) => this.textIn(part, items, scope) ?? [])
    if (read.length < 2) return undefined
    const first = read[0]!.scope
    const whole = read.map(({ text }) => text).join("")
    if (this.text(whole, first, depth) === whole) return undefined
    const alone = read.map(({ text }) => this.text(text, first, depth))
    const together = alone.join("")
    const after = this.text(together, first, depth)
    if (after === together) return undefined
    if (separator !== undefined) {
      // What spans parts as they follow each other was taken out elsewhere: both cannot be taken out of one text.
      const spaced = read.map(({ text }) => text).join(separator)
      this.unplaceable ||= this.text(spaced, first, depth) !== alone.join(separator)
    }
    const last = clean.findLastIndex((part) => this.textIn(part, items, scope) !== undefined)
    return clean.flatMap((part, at) => {
      const text = this.textIn(part, items, scope)
      return text === undefined ? [part] : at === last ? [written(part, text, after, items)] : []
    })
  }
}

const unknownParts = { separator: " " }

/** What holds for the parts of a list. */
interface Run {
  readonly items: Place | undefined
  readonly scope: ContentScope
  readonly below: Place["below"]
  readonly depth: number
  readonly separator: string | undefined
}

/** The text of a content part, and the member that it stands in; a string is a part as well. */
interface Text {
  readonly text: string
  readonly scope: ContentScope
  readonly member: string | undefined
}

const textMembers = ["text", "refusal"]

const textIn = (part: unknown, usual: Place | undefined, outer: ContentScope): Text | undefined => {
  if (typeof part === "string")
    return usual?.skip !== undefined && looksLike[usual.skip](part)
      ? undefined
      : { text: part, scope: usual?.scope ?? outer, member: undefined }
  if (!isObject(part)) return undefined
  const place = usual && placeOf(usual, part)
  if (place?.signed === true) return undefined
  for (const member of textMembers) {
    const text = Object.hasOwn(part, member) ? part[member] : undefined
    if (typeof text !== "string") continue
    return { text, scope: place?.members.get(member)?.scope ?? place?.scope ?? outer, member }
  }
  return undefined
}

const written = (part: unknown, { member }: Text, text: string, usual: Place | undefined): unknown => {
  if (member === undefined || !isObject(part)) return text
  const changed = withMember(part, member, text)
  return usual === undefined ? changed : withoutPositions(changed, placeOf(usual, part).positions)
}

const withoutPositions = (object: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  names.reduce(
    (cleared, name) =>
      Object.hasOwn(cleared, name) ? withMember(cleared, name, Array.isArray(cleared[name]) ? [] : null) : cleared,
    object
  )

/** What tells answers, blocks and calls of one stream apart. */
const indexIn = (value: unknown): string | undefined => {
  if (!isObject(value)) return undefined
  const indexes = ["index", "output_index", "content_index"].flatMap((name) =>
    typeof value[name] === "number" ? [value[name]] : []
  )
  return indexes.length === 0 ? undefined : `#${indexes.join("#")}`
}
