/** Where each method goes: to the owner of an item or to all targets, with names and URIs in the target's form. */

import { type Edit, edited, path, type Span, stringIn } from "../../json/text.ts"
import { type McpFailure, notSent, noUpstreams, unknownItem, unknownMethod } from "./errors.ts"
import { badParams, type Exchange, fail, send } from "./exchange.ts"
import { answerForClient, relatedTask } from "./inbound.ts"
import { initialize } from "./initialize.ts"
import { inventory, toAll } from "./lists-dispatch.ts"
import { uncacheable } from "./merge.ts"
import { type ItemKind, type MethodRule, methodRule } from "./methods.ts"
import { type Owned, splitName, splitTask, splitUri } from "./names.ts"
import { ownersOf } from "./ownership.ts"
import { subscribe } from "./subscriptions.ts"

/** An item of a request, by its target and its name there. Nothing was sent to the target so far, nor was it started. */
type Found = Owned

const isFailure = (found: Found | McpFailure): found is McpFailure => "_tag" in found

/** Sends a request to where it belongs. Everything that comes of it goes to the reply. */
export const dispatch = (exchange: Exchange) => {
  const { message, reply } = exchange
  const rule = methodRule(message.method)
  reply.facts.resourceType ??= rule?.resourceType
  switch (rule?.to) {
    case undefined:
      return toWhoeverKnows(exchange)
    case "handshake":
      return initialize(exchange)
    case "listen":
      return subscribe(exchange)
    case "all":
      return toAll(exchange, rule!)
    case "name":
      return toNamed(exchange, rule!, rule!.item!, ["name"])
    case "uri":
      return toIdentified(exchange, rule!, rule!.item!, ["uri"], splitUri)
    case "task":
      return toIdentified(exchange, rule!, rule!.item!, ["taskId"], splitTask)
    case "reference": {
      const { text } = message
      const isPrompt = stringIn(text, path(text, exchange.params, "ref", "type")) === "ref/prompt"
      reply.facts.resourceType = isPrompt ? "prompt" : "resource"
      return isPrompt
        ? toNamed(exchange, rule!, "prompt", ["ref", "name"])
        : toIdentified(exchange, rule!, "resource", ["ref", "uri"], splitUri)
    }
  }
}

/** A method of no known revision: a single target may know it. Rules cannot judge it, so with rules it is refused. */
const toWhoeverKnows = (exchange: Exchange) => {
  const { message, modern, session, authorize } = exchange
  const link = session.naming.passThrough && authorize === undefined && !modern ? session.links()[0] : undefined
  if (link === undefined) fail(exchange, unknownMethod(modern, message.method))
  else send(exchange, link, undefined, message.text, (answer) => answer.text)
}

/** The item has an identifier that tells its target. */
const toIdentified = (
  exchange: Exchange,
  rule: MethodRule,
  kind: ItemKind,
  where: readonly [string, ...ReadonlyArray<string>],
  split: (identifier: string) => Owned | undefined
) => {
  const { naming } = exchange.session
  const span = path(exchange.message.text, exchange.params, ...where)
  const identifier = stringIn(exchange.message.text, span)
  if (identifier === undefined) return fail(exchange, badParams(exchange.modern))
  // Ids of tasks are unique already where there is one target, whatever its names look like.
  const plain = naming.passThrough || (kind === "task" && !naming.multiplexing)
  const found = plain ? onlyTarget(exchange, identifier) : ownerTold(exchange, split(identifier))
  if (isFailure(found)) fail(exchange, found)
  else toOwner(exchange, rule, kind, found, span!)
}

/** The item has a name: its prefix tells the target, or the targets have to be asked whose it is. */
const toNamed = (
  exchange: Exchange,
  rule: MethodRule,
  kind: "tool" | "prompt" | ItemKind,
  where: readonly [string, ...ReadonlyArray<string>]
) => {
  const { session, message, modern } = exchange
  const { naming, ownership } = session
  const span = path(message.text, exchange.params, ...where)
  const name = stringIn(message.text, span)
  if (name === undefined) return fail(exchange, badParams(modern))
  const go = (found: Found | McpFailure) => {
    if (isFailure(found)) fail(exchange, found)
    else toOwner(exchange, rule, kind, found, span!)
  }
  if (naming.passThrough) return go(onlyTarget(exchange, name))
  if (naming.namesPrefixed) return go(ownerTold(exchange, splitName(name)))
  const method = kind === "tool" ? "tools/list" : "prompts/list"
  const known = ownership.of(method)?.get(name)
  if (known !== undefined) return go({ target: known.target.name, name })
  inventory(exchange, method, (items) => {
    const owners = ownersOf(items)
    ownership.remember(method, owners)
    const link = owners.get(name)
    const problem = owners.has(name) ? `${kind} ${name} is served by multiple targets` : `unknown ${kind} ${name}`
    go(link === undefined ? notSent(modern, `invalid request: ${problem}`) : { target: link.target.name, name })
  })
}

const onlyTarget = (exchange: Exchange, name: string): Found | McpFailure => {
  const target = exchange.session.firstTarget
  return target === undefined ? noUpstreams(exchange.modern) : { target, name }
}

const ownerTold = ({ modern, session }: Exchange, owner: Owned | undefined): Found | McpFailure => {
  if (owner === undefined) return notSent(modern, "invalid request: invalid resource name")
  return session.serves(owner.target) ? owner : notSent(modern, `unknown service ${owner.target}`)
}

/** `span` holds the item's name in the client's form. */
const toOwner = (exchange: Exchange, rule: MethodRule, kind: ItemKind, { target, name }: Found, span: Span) => {
  const { message, session, authorize, modern, reply } = exchange
  const { text, method } = message
  reply.facts.target = target
  reply.facts.name = name
  const clientName = stringIn(text, span)!
  if (authorize?.({ kind, target, name, method }) === false) return fail(exchange, unknownItem(kind, clientName))
  const link = session.link(target)
  if (link === undefined) return fail(exchange, noUpstreams(modern))
  const edits: Array<Edit> = []
  if (clientName !== name) edits.push({ start: span.start, end: span.end, by: JSON.stringify(name) })
  const task = session.naming.multiplexing ? path(text, exchange.params, "_meta", relatedTask, "taskId") : undefined
  const owner = task && splitTask(stringIn(text, task) ?? "")
  if (owner?.target === target) edits.push({ start: task!.start, end: task!.end, by: JSON.stringify(owner.name) })
  send(exchange, link, name, edited(text, edits), (answer) => {
    reply.facts.result = answer.text
    const own = answerForClient(session.naming, target, method, answer)
    // What was edited stands inside the result: its start has not moved.
    return modern && rule.cacheable ? uncacheable(own, answer.result.start) : own
  })
}
