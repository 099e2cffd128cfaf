/**
 * The turns of a conversation as Gemini contents. Neighbours of one role are one entry, but function responses keep an entry of their own, in
 * the order in which the model called.
 */
import type { GeminiContent, GeminiPart } from "../../formats/generate-content.ts"
import type { RequestReader } from "../../formats/reader.ts"
import {
  type Conversation,
  type FilePart,
  type ImagePart,
  type Part,
  partsOf,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  textsOf
} from "../conversation.ts"
import { objectFrom } from "../tool-input.ts"
import { readCallId } from "./call-id.ts"

const mediaTypes: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
  ["pdf", "application/pdf"],
  ["mp4", "video/mp4"],
  ["mp3", "audio/mp3"],
  ["wav", "audio/wav"]
])

const typeByExtension = (url: string): string | undefined =>
  mediaTypes.get(url.slice(url.lastIndexOf(".") + 1).toLowerCase())

/** The API knows the registered name alone. */
const registered = (mediaType: string): string => (mediaType === "image/jpg" ? "image/jpeg" : mediaType)

class Contents {
  readonly list: Array<{
    readonly role: "user" | "model"
    readonly parts: Array<GeminiPart>
    readonly responses: boolean
  }> = []
  /** Calls of the model by id: what they are named, and where they stand. */
  private readonly calls = new Map<string, { readonly name: string; readonly order: number }>()
  private readonly reader: RequestReader

  constructor(reader: RequestReader) {
    this.reader = reader
  }

  private add(role: "user" | "model", parts: ReadonlyArray<GeminiPart>, responses: boolean): void {
    if (parts.length === 0) return
    const last = this.list.at(-1)
    if (last?.role === role && last.responses === responses) last.parts.push(...parts)
    else this.list.push({ role, parts: [...parts], responses })
  }

  private media({ source }: ImagePart | FilePart, what: string, at: string): ReadonlyArray<GeminiPart> {
    if (source.kind === "inline" && source.mediaType !== undefined)
      return [{ inlineData: { mimeType: registered(source.mediaType), data: source.data } }]
    if (source.kind === "url" && source.url.startsWith("gs://")) {
      const mimeType = source.mediaType ?? typeByExtension(source.url)
      if (mimeType !== undefined) return [{ fileData: { mimeType: registered(mimeType), fileUri: source.url } }]
      this.reader.refuse(`native Gemini path needs the media type of ${what}`, at)
    } else if (source.kind === "url") this.reader.refuse(`native Gemini path rejects http(s) ${what}`, at)
    else this.reader.refuse(`native Gemini path needs ${what} as typed data`, at)
    return []
  }

  private userPart(part: Part, at: string): ReadonlyArray<GeminiPart> {
    switch (part.type) {
      case "text":
        return [{ text: part.text }]
      case "image":
        return this.media(part, "image_url", at)
      case "file":
        return this.media(part, "file", at)
      case "audio":
        return [{ inlineData: { mimeType: `audio/${part.format}`, data: part.data } }]
      default:
        return []
    }
  }

  user({ content, at }: Turn): void {
    const parts: Array<GeminiPart> = []
    let spoken = false
    let answered = false
    partsOf(content).forEach((part, index) => {
      if (part.type === "toolResult") {
        answered = true
        return
      }
      spoken ||= part.type === "text"
      parts.push(...this.userPart(part, `${at}.content[${index}]`))
    })
    if (answered && parts.length === 0) return
    // The API refuses a turn of media alone.
    if (!spoken) parts.push({ text: " " })
    this.add("user", parts, false)
  }

  private call(part: ToolCallPart, order: number): GeminiPart {
    const { signature } = readCallId(part.id ?? "")
    if (part.id !== undefined) this.calls.set(part.id, { name: part.name, order })
    const functionCall = { name: part.name, args: objectFrom(part.input) ?? {} }
    return signature === undefined ? { functionCall } : { functionCall, thoughtSignature: signature }
  }

  model({ content }: Turn): void {
    const texts: Array<GeminiPart> = []
    const calls: Array<GeminiPart> = []
    for (const part of partsOf(content)) {
      if (part.type === "text" && part.text !== "") texts.push({ text: part.text })
      else if (part.type === "toolCall") calls.push(this.call(part, calls.length))
    }
    this.add("model", [...texts, ...calls], false)
  }

  /** The answers that stand together, ordered as the calls were. */
  responses(results: ReadonlyArray<ToolResultPart>): void {
    const place = (result: ToolResultPart): number =>
      this.calls.get(result.callId ?? "")?.order ?? Number.MAX_SAFE_INTEGER
    const parts = results
      .map((result) => ({ result, order: place(result) }))
      .sort((a, b) => a.order - b.order)
      .map(({ result }) => ({
        functionResponse: {
          name: this.calls.get(result.callId ?? "")?.name ?? result.name ?? result.callId ?? "",
          response: { content: textsOf(result.content).join("\n") }
        }
      }))
    this.add("user", parts, true)
  }
}

const resultsOf = ({ role, content }: Turn): ReadonlyArray<ToolResultPart> =>
  role === "user" && typeof content !== "string"
    ? content.flatMap((part) => (part.type === "toolResult" ? [part] : []))
    : []

export const encodeContents = ({ turns }: Conversation, reader: RequestReader): ReadonlyArray<GeminiContent> => {
  const contents = new Contents(reader)
  let waiting: Array<ToolResultPart> = []
  for (const turn of turns) {
    if (turn.role === "system" || turn.role === "developer") continue
    const results = resultsOf(turn)
    if (results.length > 0) waiting.push(...results)
    else {
      contents.responses(waiting)
      waiting = []
      if (turn.role === "user") contents.user(turn)
      else contents.model(turn)
    }
  }
  contents.responses(waiting)
  return contents.list.length === 0
    ? [{ role: "user", parts: [{ text: " " }] }]
    : contents.list.map(({ role, parts }) => ({ role, parts }))
}
