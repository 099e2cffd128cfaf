/**
 * `subscriptions/listen` (2026-07-28): one stream of change notifications made of those of several targets. It begins
 * when every selected target has acknowledged, with one acknowledgement for all.
 */

import { edited, objectAt, path, settingMembers, stringIn, valueIn } from "../../json/text.ts"
import { decodeMessage, idText, isNotJsonRpc, type RpcNotification, resultMessage } from "./envelope.ts"
import { code, type McpFailure, notSent, noUpstreams, rpcRefusal, unknownItem } from "./errors.ts"
import { badParams, callTo, type Exchange, fail, noteError, send } from "./exchange.ts"
import { prefixedUri, splitUri } from "./names.ts"
import type { TargetLink } from "./target-link.ts"

const subscriptionId = "io.modelcontextprotocol/subscriptionId"
const serverInfo = "io.modelcontextprotocol/serverInfo"
const acknowledged = "notifications/subscriptions/acknowledged"

const flags = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] as const
type Flag = (typeof flags)[number]

interface Filter {
  readonly flags: ReadonlySet<Flag>
  readonly uris: ReadonlyArray<string>
}

const flagOf: Readonly<Record<string, Flag>> = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged"
}

const unsupported = rpcRefusal(503, code.internal, "subscriptions/listen is not supported for stdio/SSE upstreams")
const noAcknowledgement = rpcRefusal(500, code.internal, "upstream did not acknowledge the subscription")

const filterIn = (value: unknown): Filter | undefined => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const filter = value as Readonly<Record<string, unknown>>
  const uris = filter["resourceSubscriptions"] ?? []
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) return undefined
  return { flags: new Set(flags.filter((flag) => filter[flag] === true)), uris }
}

const filterJson = ({ flags, uris }: Filter): string =>
  JSON.stringify({
    ...Object.fromEntries([...flags].map((flag) => [flag, true])),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {})
  })

/** The share of each target: its own URIs, and every flag. */
type Shares = ReadonlyMap<TargetLink, Filter>

const sharesOf = ({ session, modern, authorize, message }: Exchange, filter: Filter): Shares | McpFailure => {
  const { passThrough } = session.naming
  const uris = new Map<TargetLink, Array<string>>()
  for (const uri of filter.uris) {
    const owner = passThrough ? { target: session.links()[0]?.target.name ?? "", name: uri } : splitUri(uri)
    if (owner === undefined) return notSent(modern, "invalid request: invalid resource name")
    const link = session.link(owner.target)
    if (link === undefined) return notSent(modern, `unknown service ${owner.target}`)
    const item = { kind: "resource", target: owner.target, name: owner.name, method: message.method } as const
    if (authorize?.(item) === false) return unknownItem("resource", uri)
    uris.set(link, [...(uris.get(link) ?? []), owner.name])
  }
  const links = filter.flags.size > 0 ? session.links() : session.links().filter((link) => uris.has(link))
  return new Map(links.map((link) => [link, { flags: filter.flags, uris: uris.get(link) ?? [] }]))
}

/** Opens the stream at the targets that the filter concerns. */
export const subscribe = (exchange: Exchange) => {
  const { session, message, params, modern } = exchange
  const span = path(message.text, params, "notifications")
  const filter = span && filterIn(valueIn(message.text, span))
  if (span === undefined || filter === undefined) return fail(exchange, badParams(modern))
  const shares = sharesOf(exchange, filter)
  if ("_tag" in shares) return fail(exchange, shares)
  if (shares.size === 0) return fail(exchange, session.links().length === 0 ? noUpstreams(modern) : badParams(modern))
  for (const link of shares.keys()) if (link.shared) return fail(exchange, unsupported)
  const [first] = shares.keys()
  if (session.naming.passThrough) return send(exchange, first!, undefined, message.text, (answer) => answer.text)
  merge(exchange, shares, (share) =>
    edited(message.text, [{ start: span.start, end: span.end, by: filterJson(share) }])
  )
}

const merge = (exchange: Exchange, shares: Shares, textFor: (share: Filter) => string) => {
  const { backend, reply, message } = exchange
  const id = idText(message)
  const failOpen = backend.config.failureMode === "failOpen"
  const accepted = new Map<TargetLink, Filter>()
  const waiting = new Set(shares.keys())
  const open = new Set(shares.keys())
  let early: Array<string> = []
  let failure: McpFailure | undefined
  let over = false

  const finish = (end: () => void) => {
    if (over) return
    over = true
    for (const link of open) link.cancelled(message.id)
    end()
  }
  const settled = (link: TargetLink) => {
    if (!waiting.delete(link) || waiting.size > 0 || over || accepted.size === 0) return
    reply.message(
      acknowledgement(
        id,
        [...accepted].map(([link, filter]) => clientFilter(link, filter))
      ),
      undefined
    )
    for (const text of early) reply.message(text, undefined)
    early = []
  }
  const gone = (link: TargetLink) => {
    open.delete(link)
    settled(link)
    if (open.size > 0) return
    finish(() => {
      if (accepted.size === 0) fail(exchange, failure ?? noAcknowledgement)
      else reply.answer(resultMessage(id, completed(id, backend.product)), undefined)
    })
  }
  const refused = (link: TargetLink, problem: McpFailure) => {
    failure ??= problem
    if (failOpen) gone(link)
    else {
      open.delete(link)
      finish(() => fail(exchange, problem))
    }
  }
  const heard = (link: TargetLink, text: string): boolean => {
    const note = decodeMessage(text)
    if (over || isNotJsonRpc(note) || note.kind !== "notification") return true
    if (waiting.has(link)) {
      const params = note.params?.members
      const span = note.method === acknowledged ? path(note.text, params, "notifications") : undefined
      const filter = span && filterIn(valueIn(note.text, span))
      if (filter === undefined) refused(link, noAcknowledgement)
      else {
        accepted.set(link, within(filter, shares.get(link)!))
        settled(link)
      }
      return true
    }
    if (!passes(link, note, accepted.get(link)!)) return true
    const tagged = withSubscriptionId(note, id)
    if (waiting.size > 0) {
      early.push(tagged)
      return true
    }
    return reply.message(tagged, undefined)
  }

  for (const [link, share] of shares) {
    const out = {
      message: (text: string) => text === "" || heard(link, text),
      whenDrained: (resume: () => void) => reply.whenDrained(resume),
      gone: () => reply.gone(),
      late: () => reply.late(),
      answered: (answer: Parameters<typeof noteError>[1] | { readonly kind: "response" }) => {
        if (answer.kind === "error") {
          noteError(exchange, answer)
          refused(link, rpcRefusal(200, reply.facts.errorCode ?? code.internal, reply.facts.errorMessage ?? ""))
        } else gone(link)
      },
      failed: (problem: McpFailure) => refused(link, problem),
      suspended: () => gone(link)
    }
    link.call(callTo(exchange, undefined, textFor(share), false, (answer) => answer.text, out))
    if (over) return
  }
}

/** What a target accepted, as far as it was asked for. */
const within = (filter: Filter, share: Filter): Filter => ({
  flags: new Set([...filter.flags].filter((flag) => share.flags.has(flag))),
  uris: filter.uris.filter((uri) => share.uris.includes(uri))
})

const clientFilter = (link: TargetLink, { flags, uris }: Filter): Filter => ({
  flags,
  uris: uris.map((uri) => prefixedUri(link.target.name, uri))
})

const passes = (link: TargetLink, note: RpcNotification, accepted: Filter): boolean => {
  const flag = flagOf[note.method]
  if (flag !== undefined) return accepted.flags.has(flag)
  if (note.method !== "notifications/resources/updated") return false
  // The link has put the URI into the client's form.
  const uri = stringIn(note.text, path(note.text, note.params?.members, "uri"))
  return accepted.uris.some((own) => prefixedUri(link.target.name, own) === uri)
}

const acknowledgement = (id: string, filters: ReadonlyArray<Filter>): string => {
  const all: Filter = {
    flags: new Set(filters.flatMap((filter) => [...filter.flags])),
    uris: filters.flatMap((filter) => filter.uris)
  }
  const meta = `{${JSON.stringify(subscriptionId)}:${id}}`
  return `{"jsonrpc":"2.0","method":"${acknowledged}","params":{"notifications":${filterJson(all)},"_meta":${meta}}}`
}

const withSubscriptionId = (note: RpcNotification, id: string): string => {
  const { text, params } = note
  const entry = [subscriptionId, id] as const
  if (params === undefined)
    return edited(text, settingMembers(text.indexOf("{"), note.members, [["params", `{"_meta":${json(entry)}}`]]))
  const members = note.params?.members ?? []
  const meta = path(text, members, "_meta")
  const known = meta && objectAt(text, meta.start)
  if (meta === undefined || known === undefined)
    return edited(text, settingMembers(params.start, members, [["_meta", json(entry)]]))
  return edited(text, settingMembers(meta.start, known, [entry]))
}

const json = ([key, value]: readonly [string, string]) => `{${JSON.stringify(key)}:${value}}`

const completed = (id: string, product: Exchange["backend"]["product"]): string =>
  `{"resultType":"complete","_meta":{${JSON.stringify(subscriptionId)}:${id},${JSON.stringify(serverInfo)}:${JSON.stringify(product)}}}`
