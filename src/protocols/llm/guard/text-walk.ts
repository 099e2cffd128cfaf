/**
 * Walks the texts of a request or an answer in document order and puts changed texts back where they stood. What does not change keeps
 * its identity, up to the whole body, so that an untouched body is sent byte for byte.
 */
import { isObject, type JsonObject, mapSame, withMember } from "../formats/json.ts"

/** The parts of a conversation that a guard can be limited to. */
export const contentScopes = ["systemPrompt", "messages", "toolOutput", "toolInput"] as const
export type ContentScope = (typeof contentScopes)[number]

/** What guards look at when nothing else is configured. */
export const defaultScopes: ReadonlySet<ContentScope> = new Set(["systemPrompt", "messages"])

/** Gives the text that is to stand in place of `text`: the very same string for no change. */
export type Rewrite = (text: string, scope: ContentScope) => string

/** How deep free-form tool traffic is searched. Deeper than any tool's, and shallow enough for the stack. */
const maxDepth = 128

/** One walk over one body. */
export class TextWalk {
  /** Something was nested too deeply to be looked at: what was seen is not all there is, and a guard must not pass it. */
  tooDeep = false
  private readonly rewrite: Rewrite
  private readonly scopes: ReadonlySet<ContentScope>

  constructor(rewrite: Rewrite, scopes: ReadonlySet<ContentScope>) {
    this.rewrite = rewrite
    this.scopes = scopes
  }

  covers(scope: ContentScope): boolean {
    return this.scopes.has(scope)
  }

  /** A text slot. Values that are no text stay as they are. */
  text(value: unknown, scope: ContentScope): unknown {
    return typeof value === "string" && value !== "" && this.covers(scope) ? this.rewrite(value, scope) : value
  }

  /** Every string inside a free-form value, but for names of types and encoded media. */
  strings(value: unknown, scope: ContentScope): unknown {
    return this.covers(scope) ? this.deep(value, scope, 0) : value
  }

  private deep(value: unknown, scope: ContentScope, depth: number): unknown {
    if (typeof value === "string") return this.text(value, scope)
    if (depth > maxDepth) {
      this.tooDeep ||= typeof value === "object" && value !== null
      return value
    }
    if (Array.isArray(value)) return mapSame(value, (item: unknown) => this.deep(item, scope, depth + 1))
    if (!isObject(value) || value["type"] === "base64" || value["type"] === "image") return value
    let changed: JsonObject = value
    for (const [key, member] of Object.entries(value)) {
      if (key === "type") continue
      const after = this.deep(member, scope, depth + 1)
      if (after !== member) changed = withMember(changed, key, after)
    }
    return changed
  }

  /**
   * A list of content parts. Text parts that follow each other are one text, joined by `separator`, so that a pattern may span them; when
   * that text changes it collapses into the last of them. Other parts go through `other`.
   */
  parts(
    value: unknown,
    scope: ContentScope,
    separator: string,
    kind: TextPart,
    other: (part: unknown) => unknown = same
  ): unknown {
    if (!Array.isArray(value)) return value
    const result: Array<unknown> = []
    let changed = false
    for (let i = 0; i < value.length; ) {
      const part: unknown = value[i]
      const text = kind.read(part)
      if (text === undefined) {
        const after = other(part)
        changed ||= after !== part
        result.push(after)
        i++
        continue
      }
      let end = i + 1
      let joined = text
      for (let next = kind.read(value[end]); next !== undefined; next = kind.read(value[end])) {
        joined += separator + next
        end++
      }
      const after = this.text(joined, scope)
      if (typeof after !== "string" || after === joined) result.push(...value.slice(i, end))
      else {
        result.push(kind.write(value[end - 1], after))
        changed = true
      }
      i = end
    }
    return changed ? result : value
  }
}

const same = (part: unknown): unknown => part

/** How the text of one kind of content part is read and written. */
export interface TextPart {
  readonly read: (part: unknown) => string | undefined
  readonly write: (part: unknown, text: string) => unknown
}

/** Parts whose `type` is one of `types` and whose text is in the member of that type's name given here. */
export const textPart = (members: Readonly<Record<string, string>>): TextPart => {
  const memberOf = (part: unknown): string | undefined => {
    const type = isObject(part) ? part["type"] : undefined
    return typeof type === "string" && Object.hasOwn(members, type) ? members[type] : undefined
  }
  return {
    read: (part) => {
      const key = memberOf(part)
      const text = key !== undefined && isObject(part) ? part[key] : undefined
      return typeof text === "string" ? text : undefined
    },
    write: (part, text) => {
      const key = memberOf(part)
      return key !== undefined && isObject(part) ? withMember(part, key, text) : part
    }
  }
}

/** `object` with `change` applied to one member, if it is there; the same object when nothing changes. */
export const changeMember = (object: JsonObject, key: string, change: (value: unknown) => unknown): JsonObject => {
  if (!Object.hasOwn(object, key)) return object
  const before = object[key]
  const after = change(before)
  return after === before ? object : withMember(object, key, after)
}

/** The same for each object of a list in a member. */
export const changeItems = (object: JsonObject, key: string, change: (item: JsonObject) => JsonObject): JsonObject =>
  changeMember(object, key, (value) =>
    Array.isArray(value) ? mapSame(value, (item: unknown) => (isObject(item) ? change(item) : item)) : value
  )
