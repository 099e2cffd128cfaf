/** What a request is to its endpoint: the type of its path, in every way that the path can be read, and the form of its body. */
import { Exit } from "effect"
import { HeaderList, unreadable } from "../../src/policy/policy.ts"
import { instead, type Left } from "../../src/policy/terminal.ts"
import type { ClientFormat } from "../../src/protocols/llm/formats/format.ts"
import { sseRequired } from "../../src/protocols/llm/formats/generate-content.ts"
import type { JsonObject } from "../../src/protocols/llm/formats/json.ts"
import { type GuardedFormat, guardedFormats } from "../../src/protocols/llm/guard/texts.ts"
import { hidesModel } from "../../src/protocols/llm/models/model-path.ts"
import { canonicalPath, forgivenPath, otherReading } from "../../src/protocols/llm/models/path-form.ts"
import { refusal } from "../../src/protocols/llm/models/refusal.ts"
import type { RouteType } from "../../src/protocols/llm/models/route-type.ts"
import type { Exchange } from "./exchange.ts"
import { ambiguousPath, ModelRefused } from "./refused.ts"
import { isGuardable } from "./request-body.ts"
import type { Selected } from "./selected.ts"

export interface Classified extends Selected {
  readonly clientFormat: ClientFormat
  /** The same, where guards can read it. */
  readonly conversation: GuardedFormat | undefined
  /** The one reading of the client's path. */
  readonly path: string
  readonly streaming: boolean
}

const notJson = new ModelRefused({ refusal: refusal("invalid_request_body") })
const notImplemented = {
  status: 501,
  headers: new HeaderList(["content-type", "application/json"]),
  body: `{"error":"Route 'Models' not implemented"}`
}
const listRefused = {
  status: 400,
  headers: new HeaderList(["content-type", "application/json"]),
  body: JSON.stringify(sseRequired)
}

export const classify = (x: Exchange, selected: Selected): Left<Classified> => {
  const { endpoint, unread, json } = selected
  const path = canonicalPath(x.request.path)
  const type = endpoint.routeType(path)
  if (type === "models") return instead(notImplemented)
  const other = otherReading(x.request.path)
  if (other === undefined || (other !== path && endpoint.routeType(other) !== type)) return Exit.fail(ambiguousPath)
  if (forwarded.has(type)) {
    if (hidesModel(path) || !forwarded.has(endpoint.forgivenType(forgivenPath(other)))) return Exit.fail(ambiguousPath)
  }
  // A form is forwarded unread: no guard, rule or override would see the prompt that a provider may find in it.
  if (unread && !forwarded.has(type)) return Exit.fail(notJson)
  if (type === "generateContent" && asksForList(path, x.request.query)) return instead(listRefused)
  const conversation = isConversational(type) ? type : undefined
  if (conversation !== undefined && endpoint.guards.request.length > 0 && !isGuardable(selected.bytes))
    return Exit.fail(unreadable.value)
  return Exit.succeed({ ...selected, clientFormat: type, conversation, path, streaming: isStreaming(path, json) })
}

/** The types of what is forwarded as it came. */
export const forwarded: ReadonlySet<RouteType> = new Set(["detect", "passthrough"])

/** Whether guards can read what is asked in this format. */
const isConversational = (format: string): format is GuardedFormat =>
  (guardedFormats as ReadonlyArray<string>).includes(format)

export const isStreaming = (path: string, json: JsonObject): boolean =>
  json["stream"] === true || path.endsWith(":streamGenerateContent") || path.endsWith(":streamRawPredict")

/** Gemini streams one growing JSON list to clients that do not ask for events. */
const asksForList = (path: string, query: string): boolean =>
  path.endsWith(":streamGenerateContent") && new URLSearchParams(query).get("alt") !== "sse"
