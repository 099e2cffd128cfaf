/** W3C trace context of an upstream call: in `params._meta` (targets behind stdio have no headers) and in headers. */

import { edited, member, objectAt, objectText, settingMembers } from "../../json/text.ts"
import type { TraceHeaders } from "./contract.ts"

type Entry = readonly [name: string, value: string]

const entriesOf = (context: TraceHeaders): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = [["traceparent", context.traceparent]]
  if (context.tracestate !== undefined) entries.push(["tracestate", context.tracestate])
  if (context.baggage !== undefined) entries.push(["baggage", context.baggage])
  return entries
}

/** The message with the context in `params._meta`. */
export const withTrace = (text: string, context: TraceHeaders): string => {
  const entries = entriesOf(context)
  const fresh = JSON.stringify(Object.fromEntries(entries))
  const message = objectText(text)
  if (message === undefined) return text
  const params = member(message, "params")
  if (params === undefined)
    return edited(text, settingMembers(text.indexOf("{"), message, [["params", `{"_meta":${fresh}}`]]))
  const members = objectAt(text, params.start)
  if (members === undefined) return text
  const meta = member(members, "_meta")
  const known = meta && objectAt(text, meta.start)
  if (meta === undefined || known === undefined)
    return edited(text, settingMembers(params.start, members, [["_meta", fresh]]))
  return edited(
    text,
    settingMembers(
      meta.start,
      known,
      entries.map(([name, value]) => [name, JSON.stringify(value)])
    )
  )
}

/** The headers with the context in place of the client's. */
export const withTraceHeaders = (headers: ReadonlyArray<string>, context: TraceHeaders): ReadonlyArray<string> => {
  const out: Array<string> = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (name !== "traceparent" && name !== "tracestate" && name !== "baggage") out.push(name, headers[i + 1]!)
  }
  for (const [name, value] of entriesOf(context)) out.push(name, value)
  return out
}
