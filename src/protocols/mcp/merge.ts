/** Several targets as one server: merged answers to `initialize`, `server/discover` and the lists. */

import { edited, member, objectAt, settingMembers, valueIn } from "../../json/text.ts"
import { encodeCursor } from "./cursor.ts"
import type { RpcResponse } from "./envelope.ts"
import type { Answered } from "./fan-out.ts"
import { itemForClient, itemsOf, type ListView, nextCursorOf } from "./lists.ts"
import type { Product } from "./session.ts"
import { isKnown } from "./versions.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const resultOf = (message: RpcResponse): Json => {
  const value = valueIn(message.text, message.result)
  return isObject(value) ? value : {}
}

const preamble =
  "Several MCP servers stand behind this gateway. Their tools and prompts are told apart by the server's name in front of the item's own; what each server says about itself follows under its name."

const instructionsOf = (parts: ReadonlyArray<{ readonly target: string; readonly result: Json }>): string =>
  parts.reduce((text, { target, result }) => {
    const own = result["instructions"]
    return typeof own === "string" && own !== "" ? `${text}\n\n[${target}]\n${own}` : text
  }, preamble)

/** Members that at least one has. Settings survive where all who have the member agree on them. */
const union = (objects: ReadonlyArray<unknown>): Json | undefined => {
  const merged = new Map<string, unknown>()
  for (const object of objects) {
    if (!isObject(object)) continue
    for (const [key, value] of Object.entries(object))
      merged.set(key, merged.has(key) && JSON.stringify(merged.get(key)) !== JSON.stringify(value) ? {} : value)
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged)
}

/**
 * What the federation can do: lists that may change at any time, and beyond that what one of its members can do and the
 * relay can route.
 */
const capabilitiesOf = (results: ReadonlyArray<Json>, subscribe: boolean): Json => {
  const all = results.map((result) => (isObject(result["capabilities"]) ? result["capabilities"] : {}))
  const some = (name: string) => all.some((capabilities) => isObject(capabilities[name]))
  const extensions = union(all.map((capabilities) => capabilities["extensions"]))
  const experimental = union(all.map((capabilities) => capabilities["experimental"]))
  const tasks = union(all.map((capabilities) => capabilities["tasks"]))
  return {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: subscribe ? { listChanged: true, subscribe: true } : { listChanged: true },
    ...(some("logging") ? { logging: {} } : {}),
    ...(some("completions") ? { completions: {} } : {}),
    // Tasks are found by their id; a list of all tasks is no method of the federation.
    ...(tasks === undefined
      ? {}
      : { tasks: Object.fromEntries(Object.entries(tasks).filter(([key]) => key !== "list")) }),
    ...(extensions === undefined ? {} : { extensions }),
    ...(experimental === undefined ? {} : { experimental })
  }
}

const named = (answers: ReadonlyArray<Answered>) =>
  answers.map(({ link, answer }) => ({ target: link.target.name, result: resultOf(answer) }))

/** The result of `initialize`, as JSON text, with the version that everyone can speak. */
export const mergedInitialize = (
  answers: ReadonlyArray<Answered>,
  clientVersion: string,
  product: Product,
  stateful: boolean
): { readonly text: string; readonly version: string } => {
  const parts = named(answers)
  let version = clientVersion
  for (const { result } of parts) {
    const own = result["protocolVersion"]
    if (typeof own === "string" && own < version) version = own
  }
  const capabilities = capabilitiesOf(
    parts.map(({ result }) => result),
    stateful
  )
  const serverInfo = { name: product.name, title: product.title, version: product.version }
  const text = JSON.stringify({
    protocolVersion: version,
    capabilities,
    serverInfo,
    instructions: instructionsOf(parts)
  })
  return { text, version }
}

/** The protocol version that an `initialize` result names. */
export const negotiatedVersion = (message: RpcResponse): string | undefined => {
  const version = resultOf(message)["protocolVersion"]
  return typeof version === "string" ? version : undefined
}

const modernStamp = { resultType: "complete", ttlMs: 0, cacheScope: "private" } as const

/** The result of `server/discover`. */
export const mergedDiscover = (answers: ReadonlyArray<Answered>, product: Product): string => {
  const parts = named(answers)
  const versions = parts.map(({ result }) =>
    Array.isArray(result["supportedVersions"]) ? (result["supportedVersions"] as ReadonlyArray<unknown>) : []
  )
  const supportedVersions = (versions[0] ?? []).filter(
    (version): version is string =>
      typeof version === "string" && isKnown(version) && versions.every((own) => own.includes(version))
  )
  const serverInfo = { name: product.name, title: product.title, version: product.version }
  return JSON.stringify({
    ...modernStamp,
    supportedVersions,
    capabilities: capabilitiesOf(
      parts.map(({ result }) => result),
      true
    ),
    instructions: instructionsOf(parts),
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo }
  })
}

/** The result of a list, or `undefined` if a target's answer is no such list. */
export const mergedList = (answers: ReadonlyArray<Answered>, view: ListView, modern: boolean): string | undefined => {
  const texts: Array<string> = []
  const cursors = new Map<string, string>()
  for (const { link, answer } of answers) {
    const items = itemsOf(view.list, answer)
    if (items === undefined) return undefined
    for (const item of items) {
      const text = itemForClient(view, link.target.name, item)
      if (text !== undefined) texts.push(text)
    }
    const cursor = nextCursorOf(answer)
    if (cursor !== undefined) cursors.set(link.target.name, cursor)
  }
  return listResult(view, texts, encodeCursor(cursors), modern)
}

/** A list result from the texts of its items. */
export const listResult = (
  view: ListView,
  items: ReadonlyArray<string>,
  nextCursor: string | undefined,
  modern: boolean
): string => {
  const stamp = modern ? JSON.stringify(modernStamp).slice(1, -1).concat(",") : ""
  const cursor = nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`
  return `{${stamp}${JSON.stringify(view.list.items)}:[${items.join(",")}]${cursor}}`
}

/**
 * A cacheable result for a modern client: what one principal sees, no cache may show to another, and rules may change
 * at any time. Results that ask for input are not cacheable and stay.
 */
export const uncacheable = (text: string, resultStart: number): string => {
  const members = objectAt(text, resultStart)
  if (members === undefined) return text
  const type = member(members, "resultType")
  if (type !== undefined && valueIn(text, type) !== "complete") return text
  return edited(
    text,
    settingMembers(
      resultStart,
      members,
      Object.entries(modernStamp).map(([key, value]) => [key, JSON.stringify(value)])
    )
  )
}
