/** Requests that concern all targets: lists, `ping`, the log level, `server/discover`. */

import { edited, path, settingMembers, stringIn } from "../../json/text.ts"
import { decodeCursor } from "./cursor.ts"
import { errorMessage, idText, type RpcResponse, resultMessage } from "./envelope.ts"
import { code, noUpstreams, rpcRefusal } from "./errors.ts"
import { broadcast, type Exchange, fail, send } from "./exchange.ts"
import { itemForClient, type ListView, listForClient } from "./lists.ts"
import { listResult, mergedDiscover, mergedList, uncacheable } from "./merge.ts"
import { type MethodRule, methodRule } from "./methods.ts"
import { type Inventory, incompatible, ownersOf, takeInventory } from "./ownership.ts"

type NamedList = "tools/list" | "prompts/list"

/** A target that knows no `server/discover` is told to the client, so that it falls back to `initialize`. */
const discover = "server/discover"

/** Sends a request to all targets, or to the only one. */
export const toAll = (exchange: Exchange, rule: MethodRule) => {
  const { session, message, authorize } = exchange
  const { naming } = session
  const view = rule.list && { method: message.method, list: rule.list, naming, authorize }
  if (naming.passThrough || (message.method === discover && !naming.multiplexing)) toOnly(exchange, rule, view)
  else if (view?.list.key === "name" && !naming.namesPrefixed) unprefixedList(exchange, view)
  else toEach(exchange, view)
}

const toOnly = (exchange: Exchange, rule: MethodRule, view: ListView | undefined) => {
  const { session, message, modern } = exchange
  const link = session.links()[0]
  if (link === undefined) return fail(exchange, noUpstreams(modern))
  send(exchange, link, undefined, message.text, (answer) => {
    const text = view === undefined ? answer.text : listForClient(view, link.target.name, answer)
    if (text === undefined) return incompatibleAnswer(message.method, answer)
    return modern && rule.cacheable ? uncacheable(text, answer.result.start) : text
  })
}

const incompatibleAnswer = (method: string, { text, idSpan }: RpcResponse): string =>
  errorMessage(text.slice(idSpan.start, idSpan.end), code.internal, incompatible(method).message)

const toEach = (exchange: Exchange, view: ListView | undefined) => {
  const { backend, session, message, modern, params } = exchange
  const { method, text } = message
  const cursor = view && stringIn(text, path(text, params, "cursor"))
  const cursors = cursor === undefined ? undefined : decodeCursor(cursor)
  if (cursor !== undefined && cursors === undefined)
    return fail(exchange, rpcRefusal(200, code.invalidParams, "invalid cursor"))
  const links = session.links()
  broadcast(exchange, {
    links: cursors === undefined ? links : links.filter((link) => cursors.has(link.target.name)),
    textFor: (link) => {
      const own = cursors?.get(link.target.name)
      if (own === undefined || params === undefined) return text
      return edited(text, settingMembers(message.params!.start, params, [["cursor", JSON.stringify(own)]]))
    },
    failOpen: backend.config.failureMode === "failOpen" && method !== discover,
    lenient: method !== discover && method !== "ping",
    merge: (answers) => {
      if (view !== undefined) return mergedList(answers, view, modern) ?? incompatible(method)
      return method === discover ? mergedDiscover(answers, backend.product) : "{}"
    }
  })
}

/** Names without a prefix: one that several targets serve belongs to nobody, so all pages have to be known. */
const unprefixedList = (exchange: Exchange, view: ListView) => {
  const { session, reply, message, modern } = exchange
  inventory(exchange, view.method as NamedList, (all) => {
    const owners = ownersOf(all)
    session.ownership.remember(view.method, owners)
    const texts: Array<string> = []
    for (const { link, items } of all)
      for (const item of items) {
        const text = owners.get(item.name) === link ? itemForClient(view, link.target.name, item) : undefined
        if (text !== undefined) texts.push(text)
      }
    reply.answer(resultMessage(idText(message), listResult(view, texts, undefined, modern)), undefined)
  })
}

/** Reads a list of all targets to its end; answers the request itself if that fails. */
export const inventory = (
  exchange: Exchange,
  method: NamedList,
  then: (inventory: ReadonlyArray<Inventory>) => void
) => {
  const { backend, session, headers, ledger, modern, reply } = exchange
  takeInventory(
    {
      links: session.links(),
      method,
      list: methodRule(method)!.list!,
      headers,
      ledger,
      failOpen: backend.config.failureMode === "failOpen",
      maxPages: backend.config.limits.listPages,
      related: reply,
      none: noUpstreams(modern)
    },
    (result) => {
      if ("_tag" in result) fail(exchange, result)
      else then(result)
    }
  )
}
