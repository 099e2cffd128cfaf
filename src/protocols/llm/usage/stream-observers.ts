/**
 * What one event adds to the facts, per format. Most events of a stream only carry a few characters of text: once the first of them
 * was noted they are recognised by a look at their name or text and not parsed at all.
 */
import { Buffer } from "node:buffer"
import { elements, isObject, member, parseJson, stringMember } from "../formats/json.ts"
import type { UsageFormat } from "./members.ts"
import { readResponse } from "./read.ts"
import { addFacts, type StreamFacts } from "./stream-facts.ts"

/** One format's way to read an event of the given type. */
export interface EventReader {
  /** Nothing in this event can add to the facts. Only a shortcut: `read` would change nothing. */
  readonly idle: (type: string | undefined, data: string, facts: StreamFacts) => boolean
  readonly read: (type: string | undefined, json: unknown, facts: StreamFacts, now: number) => void
}

const typeFirst = '{"type":"'

/**
 * What an event is, as far as it shows without parsing: the event's name (translated streams may call every event `event`, which says
 * nothing), or a `type` that is the first member. Otherwise `undefined`, and the JSON has to say.
 */
export const eventType = (name: string | undefined, data: string): string | undefined => {
  if (name !== undefined && name !== "event") return name
  if (!data.startsWith(typeFirst)) return undefined
  const end = data.indexOf('"', typeFirst.length)
  return end === -1 ? undefined : data.slice(typeFirst.length, end)
}

/** Letters of a key may be written so: then nothing shows without parsing. */
const escapedAscii = String.raw`\\u00`

/**
 * Matches a JSON text that has one of these members with a value that is not null, or that may hide one behind escapes. Inside
 * a string the quote of a key would be escaped. One search for all, which begins with letters and not with the quote before
 * them: a text is full of quotes, and a search that begins there takes twice as long.
 */
const stating = (...keys: ReadonlyArray<string>): RegExp => {
  const blanks = String.raw`[ \t\n\r]*`
  return new RegExp(`(?:${keys.join("|")})"${blanks}:${blanks}(?!null|[ \\t\\n\\r])|${escapedAscii}`)
}

/** Whether an event cannot tell anything: the first token came by, the model is known, and it states none of these members. */
const idleUnlessStated = (...keys: ReadonlyArray<string>): EventReader["idle"] => {
  const stated = stating(...keys)
  return (_, data, facts) => facts.firstTokenAt !== undefined && facts.model !== undefined && !stated.test(data)
}

const firstToken = (facts: StreamFacts, now: number): void => {
  facts.firstTokenAt ??= now
}

/** Text, or a list with something in it: generated content of whatever kind. */
const hasContent = (value: unknown): boolean => (typeof value === "string" ? value !== "" : elements(value).length > 0)

const openaiContent = ["content", "reasoning_content", "reasoning", "refusal", "tool_calls", "audio"] as const

/** Whether a choice brings generated content. */
const generates = (choice: unknown): boolean => {
  const delta = member(choice, "delta")
  return openaiContent.some((key) => {
    const value = member(delta, key)
    return hasContent(value) || isObject(value)
  })
}

const completions: EventReader = {
  idle: idleUnlessStated("usage", "finish_reason", "error"),
  read: (_, json, facts, now) => {
    if (facts.firstTokenAt === undefined && elements(member(json, "choices")).some(generates)) firstToken(facts, now)
    addFacts(facts, readResponse("completions", json))
    if (isObject(member(json, "error"))) facts.failed = true
  }
}

const messages: EventReader = {
  idle: (type, _, facts) => facts.firstTokenAt !== undefined && type === "content_block_delta",
  read: (type, json, facts, now) => {
    switch (type) {
      case "message_start":
        return addFacts(facts, readResponse("messages", member(json, "message")))
      case "content_block_delta":
        return firstToken(facts, now)
      case "message_delta":
        addFacts(facts, readResponse("messages", json))
        facts.finish = stringMember(member(json, "delta"), "stop_reason") ?? facts.finish
        return
      case "message_stop":
        facts.complete = true
        return
      case "error":
        facts.failed = true
    }
  }
}

const responses: EventReader = {
  idle: (type, _, facts) => facts.firstTokenAt !== undefined && type?.endsWith(".delta") === true,
  read: (type, json, facts, now) => {
    if (type === undefined) return
    if (type.endsWith(".delta")) return firstToken(facts, now)
    const response = member(json, "response")
    switch (type) {
      case "response.created":
        facts.model ??= stringMember(response, "model")
        return
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        addFacts(facts, readResponse("responses", response))
        facts.complete = true
        if (type === "response.failed") facts.failed = true
        return
      case "error":
        facts.failed = true
    }
  }
}

const generateContent: EventReader = {
  // Every chunk repeats the counts so far.
  idle: () => false,
  read: (_, json, facts, now) => {
    const candidates = elements(member(json, "candidates"))
    if (candidates.some((candidate) => hasContent(member(member(candidate, "content"), "parts"))))
      firstToken(facts, now)
    addFacts(facts, readResponse("generateContent", json))
    if (facts.finish !== undefined) facts.complete = true
    if (isObject(member(json, "error"))) facts.failed = true
  }
}

const converse: EventReader = {
  idle: (type, _, facts) => facts.firstTokenAt !== undefined && type === "contentBlockDelta",
  read: (type, json, facts, now) => {
    switch (type) {
      case "contentBlockDelta":
        return firstToken(facts, now)
      case "messageStop":
      case "metadata":
        addFacts(facts, readResponse("converse", json))
        if (type === "metadata") facts.complete = true
    }
  }
}

/** An unread stream: every event may hold usage of any kind, and the first one with data counts as the first token. */
const detect: EventReader = {
  idle: idleUnlessStated("usage", "usageMetadata", "service_tier", "bytes"),
  read: (_, json, facts, now) => {
    if (!isObject(json)) return
    firstToken(facts, now)
    // Bedrock's invoke streams wrap the model's own events.
    const wrapped = stringMember(json, "bytes")
    addFacts(facts, readResponse("detect", wrapped === undefined ? json : parseJson(fromBase64(wrapped))))
  }
}

const fromBase64 = (text: string): string => Buffer.from(text, "base64").toString("utf8")

/** The formats that stream. */
export const eventReaders = { completions, messages, responses, generateContent, converse, detect } as const satisfies {
  readonly [F in UsageFormat]?: EventReader
}

export type StreamFormat = keyof typeof eventReaders
