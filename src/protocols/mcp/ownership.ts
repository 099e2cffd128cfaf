/**
 * Who serves a name when names carry no prefix (`prefixMode: never`): reads the lists of all targets to the end and
 * remembers the owners until a target says that its list has changed.
 */
import type { Call, CallOutlet, RequestOutlet } from "./call.ts"
import type { Ledger } from "./call-record.ts"
import { errorOf, type RpcResponse } from "./envelope.ts"
import { code, type McpFailure, rpcRefusal } from "./errors.ts"
import { itemsOf, type ListedItem, type ListView, nextCursorOf } from "./lists.ts"
import type { TargetLink } from "./target-link.ts"

/** Owner by name; `undefined` as a value where several targets serve the name. */
export type Owners = ReadonlyMap<string, TargetLink | undefined>

/** The memory of one session, by list method. */
export class Ownership {
  readonly #known = new Map<string, Owners>()

  of(listMethod: string): Owners | undefined {
    return this.#known.get(listMethod)
  }

  remember(listMethod: string, owners: Owners): void {
    this.#known.set(listMethod, owners)
  }

  /** `notifications/tools/list_changed` makes `tools/list` unknown. */
  forget(notification: string): void {
    this.#known.delete(notification.replace("notifications/", "").replace("/list_changed", "/list"))
  }
}

/** All items of one target. */
export interface Inventory {
  readonly link: TargetLink
  readonly items: ReadonlyArray<ListedItem>
}

/** Whose lists to read, and within which bounds. */
export interface InventoryRequest {
  readonly links: ReadonlyArray<TargetLink>
  readonly method: string
  readonly list: ListView["list"]
  readonly headers: ReadonlyArray<string>
  readonly ledger: Ledger
  readonly failOpen: boolean
  readonly maxPages: number
  readonly related: RequestOutlet
  readonly none: McpFailure
}

let resolutions = 0

/** A target's result is not what the method promises. */
export const incompatible = (method: string): McpFailure =>
  rpcRefusal(500, code.internal, `upstream returned a result incompatible with \`${method}\``)

/** Reads the lists of all targets, all pages, side by side. `done` runs once. */
export const takeInventory = (
  request: InventoryRequest,
  done: (inventory: ReadonlyArray<Inventory> | McpFailure) => void
) => {
  const { links, method, list, headers, ledger, failOpen, maxPages, related } = request
  const items = new Map<TargetLink, Array<ListedItem>>()
  let open = links.length
  let failure: McpFailure | undefined
  let over = false
  if (open === 0) return done(request.none)

  const finish = (result: ReadonlyArray<Inventory> | McpFailure) => {
    if (over) return
    over = true
    done(result)
  }
  const closed = (problem: McpFailure | undefined) => {
    failure ??= problem
    if (problem !== undefined && !failOpen) return finish(problem)
    if (--open > 0) return
    const inventory = links.flatMap((link) => (items.has(link) ? [{ link, items: items.get(link)! }] : []))
    finish(inventory.length === 0 && failure !== undefined ? failure : inventory)
  }

  const page = (link: TargetLink, cursor: string | undefined, number: number) => {
    if (over) return
    if (number > maxPages)
      return closed(rpcRefusal(500, code.internal, `exceeded ${maxPages} pages listing ${list.items}`))
    const id = `hg-resolve-${++resolutions}`
    const idText = JSON.stringify(id)
    const params = cursor === undefined ? "{}" : JSON.stringify({ cursor })
    const out: CallOutlet = {
      message: (text, mark) => related.message(text, mark),
      whenDrained: (resume) => related.whenDrained(resume),
      gone: () => related.gone(),
      late: () => related.late(),
      answered: (answer) => {
        if (answer.kind === "response") arrived(link, answer, number)
        else if (errorOf(answer).code === code.methodNotFound) arrived(link, undefined, number)
        else closed(errorFailure(errorOf(answer)))
      },
      failed: closed,
      suspended: () => closed(rpcRefusal(500, code.internal, "no answer"))
    }
    const call: Call = {
      id,
      idText,
      method,
      name: undefined,
      text: `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${params}}`,
      token: undefined,
      headers,
      ledger,
      resumable: false,
      transform: (answer) => answer.text,
      out
    }
    link.call(call)
  }

  const arrived = (link: TargetLink, answer: RpcResponse | undefined, number: number) => {
    const own = items.get(link) ?? []
    items.set(link, own)
    if (answer === undefined) return closed(undefined)
    const found = itemsOf(list, answer)
    if (found === undefined) return closed(incompatible(method))
    own.push(...found)
    const cursor = nextCursorOf(answer)
    if (cursor === undefined) closed(undefined)
    else page(link, cursor, number + 1)
  }

  for (const link of links) page(link, undefined, 1)
}

const errorFailure = (error: { readonly code: number | undefined; readonly message: string }): McpFailure =>
  rpcRefusal(200, error.code ?? code.internal, error.message)

/** Who serves which name. */
export const ownersOf = (inventory: ReadonlyArray<Inventory>): Owners => {
  const owners = new Map<string, TargetLink | undefined>()
  for (const { link, items } of inventory)
    for (const { name } of items) owners.set(name, owners.has(name) && owners.get(name) !== link ? undefined : link)
  return owners
}
