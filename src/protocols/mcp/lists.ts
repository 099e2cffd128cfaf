/** Lists of items in the client's form: without the items that authorization denies, renamed for the federation. */

import {
  arrayAt,
  type Edit,
  edited,
  filteredObject,
  type Member,
  member,
  objectAt,
  path,
  type Span,
  stringIn
} from "../../json/text.ts"
import type { McpAuthorize } from "./contract.ts"
import type { RpcResponse } from "./envelope.ts"
import type { MethodRule } from "./methods.ts"
import { type Naming, prefixedName, prefixedUri } from "./names.ts"

/** Which list, and who looks at it. */
export interface ListView {
  readonly method: string
  readonly list: NonNullable<MethodRule["list"]>
  readonly naming: Naming
  readonly authorize: McpAuthorize | undefined
}

/** An item of a target's list. */
export interface ListedItem {
  /** At the target. */
  readonly name: string
  readonly text: string
}

/** The items as the target sent them; `undefined` if the result is no such list. */
export const itemsOf = (list: ListView["list"], message: RpcResponse): ReadonlyArray<ListedItem> | undefined => {
  const array = path(message.text, objectAt(message.text, message.result.start), list.items)
  const elements = array && arrayAt(message.text, array.start)
  if (elements === undefined) return undefined
  const items: Array<ListedItem> = []
  for (const { start, end } of elements) {
    const name = stringIn(message.text, path(message.text, objectAt(message.text, start), list.key))
    if (name === undefined) return undefined
    items.push({ name, text: message.text.slice(start, end) })
  }
  return items
}

/** An item for the client; `undefined` if the client must not know it. */
export const itemForClient = (view: ListView, target: string, item: ListedItem): string | undefined => {
  const { authorize, list, method, naming } = view
  const kind = list.items === "tools" ? "tool" : list.items === "prompts" ? "prompt" : "resource"
  if (authorize?.({ kind, target, name: item.name, method }) === false) return undefined
  const text = kind === "tool" ? withAppResource(view, target, item.text) : item.text
  const renamed =
    list.key === "name"
      ? naming.namesPrefixed
        ? prefixedName(target, item.name)
        : item.name
      : naming.passThrough
        ? item.name
        : prefixedUri(target, item.name)
  if (renamed === item.name) return text
  const span = member(objectAt(text, 0) ?? [], list.key)!
  return edited(text, [{ start: span.start, end: span.end, by: JSON.stringify(renamed) }])
}

/** A tool may name the resource that draws it (MCP apps): renamed like any resource, removed when it is denied. */
const withAppResource = (view: ListView, target: string, text: string): string => {
  const members = objectAt(text, 0) ?? []
  const meta = member(members, "_meta")
  const metaMembers = meta && objectAt(text, meta.start)
  if (meta === undefined || metaMembers === undefined) return text
  const flat = member(metaMembers, "ui/resourceUri")
  const ui = member(metaMembers, "ui")
  const uiMembers = ui && objectAt(text, ui.start)
  const nested = uiMembers && member(uiMembers, "resourceUri")
  const edits: Array<Edit> = []
  const gone = new Set<Member>()
  const consider = (span: Member | undefined, remove: (span: Member) => void) => {
    const uri = stringIn(text, span)
    if (span === undefined || uri === undefined) return
    if (view.authorize?.({ kind: "resource", target, name: uri, method: view.method }) === false) remove(span)
    else if (!view.naming.passThrough) edits.push({ ...spanOf(span), by: JSON.stringify(prefixedUri(target, uri)) })
  }
  consider(flat, (span) => gone.add(span))
  consider(nested, (span) => {
    if (uiMembers!.length === 1) gone.add(ui!)
    else edits.push({ ...spanOf(ui!), by: filteredObject(text, uiMembers!, (member) => member !== span) })
  })
  if (gone.size === 0) return edited(text, edits)
  if (gone.size === metaMembers.length) return filteredObject(text, members, (member) => member !== meta)
  // What is removed and what is renamed cannot be one edit each: first rename, then look again and remove.
  const keys = new Set([...gone].map((member) => member.key))
  const renamed = edited(text, edits)
  const again = member(objectAt(renamed, 0) ?? [], "_meta")!
  const kept = filteredObject(renamed, objectAt(renamed, again.start) ?? [], (member) => !keys.has(member.key))
  return edited(renamed, [{ ...spanOf(again), by: kept }])
}

const spanOf = ({ start, end }: Span): Span => ({ start, end })

/** The whole answer of one target for the client, with all other fields kept; `undefined` if it is no such list. */
export const listForClient = (view: ListView, target: string, message: RpcResponse): string | undefined => {
  // A list of tools is looked into only if something in it may change.
  if (view.authorize === undefined && view.naming.passThrough) return message.text
  const items = itemsOf(view.list, message)
  if (items === undefined) return undefined
  const array = path(message.text, objectAt(message.text, message.result.start), view.list.items)!
  const kept = items.map((item) => itemForClient(view, target, item)).filter((text) => text !== undefined)
  return edited(message.text, [{ ...spanOf(array), by: `[${kept.join(",")}]` }])
}

/** Where the next page starts, if there is one. */
export const nextCursorOf = (message: RpcResponse): string | undefined =>
  stringIn(message.text, path(message.text, objectAt(message.text, message.result.start), "nextCursor"))
