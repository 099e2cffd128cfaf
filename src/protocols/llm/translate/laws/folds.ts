/**
 * What a client has after the last event of a stream: the whole answer, put together as the client's library would, or a complaint about
 * events that no such library could follow.
 */
import {
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  parseJson,
  stringAt
} from "../../formats/json.ts"
import type { SseEvent } from "../../formats/stream.ts"

/** A broken rule of the client's protocol. */
export class ProtocolBroken extends Error {}

const ensure = (holds: boolean, rule: string): void => {
  if (!holds) throw new ProtocolBroken(rule)
}

const bodies = (events: ReadonlyArray<SseEvent>): ReadonlyArray<JsonObject> =>
  events.flatMap(({ data }) => {
    const body = parseJson(data)
    return isObject(body) ? [body] : []
  })

/** Chunks as a chat completion. */
export const foldCompletions = (events: ReadonlyArray<SseEvent>): JsonObject => {
  ensure(events.at(-1)?.data === "[DONE]", "the stream ends with [DONE]")
  const message: Record<string, unknown> = { role: "assistant", content: null }
  const calls: Array<{ id: string; type: string; function: { name: string; arguments: string } }> = []
  const append = (key: string, text: string | undefined) => {
    if (text !== undefined) message[key] = ((message[key] as string | null | undefined) ?? "") + text
  }
  let finish: unknown = null
  let usage: unknown
  let roles = 0
  const chunks = bodies(events)
  for (const chunk of chunks) {
    ensure(finish === null || listAt(chunk, "choices").length === 0, "nothing is said after the finish")
    if (chunk["usage"] !== undefined) usage = chunk["usage"]
    for (const choice of objectsAt(chunk, "choices")) {
      const delta = objectAt(choice, "delta") ?? {}
      if (delta["role"] !== undefined) roles++
      ensure(roles === 1, "the role is said once, first")
      for (const key of ["content", "reasoning_content", "reasoning_signature"]) append(key, stringAt(delta, key))
      for (const change of objectsAt(delta, "tool_calls")) {
        const index = numberAt(change, "index") ?? -1
        const called = objectAt(change, "function") ?? {}
        if (index === calls.length)
          calls.push({
            id: stringAt(change, "id") ?? "",
            type: stringAt(change, "type") ?? "",
            function: { name: stringAt(called, "name") ?? "", arguments: "" }
          })
        const call = calls[index]
        ensure(call !== undefined, "calls are numbered without a gap")
        if (call !== undefined) call.function.arguments += stringAt(called, "arguments") ?? ""
      }
      finish = choice["finish_reason"] ?? finish
    }
  }
  if (calls.length > 0) message["tool_calls"] = calls
  const { id, model, created } = chunks[0] ?? {}
  return { id, model, created, choices: [{ index: 0, message, finish_reason: finish }], usage }
}

/** Message events as a message. */
export const foldMessages = (events: ReadonlyArray<SseEvent>): JsonObject => {
  const [start, ...rest] = bodies(events)
  const message: Record<string, unknown> = { ...objectAt(start ?? {}, "message") }
  ensure(start?.["type"] === "message_start", "the stream begins with message_start")
  ensure(rest.at(-1)?.["type"] === "message_stop", "the stream ends with message_stop")
  const content: Array<Record<string, unknown>> = []
  const inputs = new Map<number, string>()
  const open = new Set<number>()
  for (const event of rest) {
    const index = numberAt(event, "index") ?? -1
    switch (event["type"]) {
      case "content_block_start":
        ensure(index === content.length, "blocks are numbered in the order of their opening")
        content.push({ ...objectAt(event, "content_block") })
        open.add(index)
        break
      case "content_block_delta": {
        ensure(open.has(index), "only an open block is filled")
        const block = content[index] ?? {}
        const { type, partial_json: json, ...text } = objectAt(event, "delta") ?? {}
        if (type === "input_json_delta") inputs.set(index, (inputs.get(index) ?? "") + String(json))
        for (const [key, more] of Object.entries(text)) block[key] = String(block[key] ?? "") + String(more)
        break
      }
      case "content_block_stop":
        ensure(open.delete(index), "only an open block is closed")
        if (inputs.has(index)) (content[index] ?? {})["input"] = parseJson(inputs.get(index) ?? "")
        break
      case "message_delta":
        ensure(open.size === 0, "every block is closed before the end")
        Object.assign(message, objectAt(event, "delta"))
        message["usage"] = event["usage"]
        break
    }
  }
  return { ...message, content }
}

/** Response events as the response of the last one, which all before it must have told already. */
export const foldResponses = (events: ReadonlyArray<SseEvent>): JsonObject => {
  const all = bodies(events)
  ensure(
    all.every((event, index) => event["sequence_number"] === index + 1),
    "events are numbered"
  )
  ensure(all[0]?.["type"] === "response.created", "the stream begins with response.created")
  const response = objectAt(all.at(-1) ?? {}, "response") ?? {}
  ensure(all.at(-1)?.["type"] === `response.${String(response["status"])}`, "the last event says how it ended")
  const texts = new Map<unknown, string>()
  const done = new Map<unknown, JsonObject>()
  for (const event of all) {
    const id = event["item_id"]
    const type = String(event["type"])
    if (type.endsWith(".delta")) texts.set(id, (texts.get(id) ?? "") + String(event["delta"]))
    if (type === "response.output_text.done") ensure(texts.get(id) === event["text"], "the text is what was streamed")
    if (type === "response.function_call_arguments.done")
      ensure((texts.get(id) ?? "{}") === event["arguments"], "the arguments are what was streamed")
    const item = objectAt(event, "item")
    if (type === "response.output_item.done" && item !== undefined) done.set(item["id"], item)
  }
  for (const item of objectsAt(response, "output"))
    ensure(JSON.stringify(done.get(item["id"])) === JSON.stringify(item), "every item of the answer was done")
  return response
}
