/** The parts of a turn as Converse content blocks. */
import {
  type CachePoint,
  type ConverseBlock,
  type ConverseImage,
  type ConverseText,
  cachePoint
} from "../../formats/converse.ts"
import type { RequestReader } from "../../formats/reader.ts"
import {
  type ImagePart,
  isBlank,
  type Part,
  type ReasoningPart,
  type ToolCallPart,
  type ToolResultPart,
  textsOf
} from "../conversation.ts"
import type { PairRules } from "../rules.ts"
import { objectFrom } from "../tool-input.ts"
import type { ToolNames } from "../tool-names.ts"
import type { Documents } from "./documents.ts"

/** What encoding the content of one request needs, and what it counts on the way. */
export interface ContentContext {
  readonly reader: RequestReader
  readonly rules: PairRules
  readonly names: ToolNames
  readonly documents: Documents
  /** How many more cache points may be set. */
  cachePointsLeft: number
  /** Whether tools are called or answered, which Bedrock wants to see declared. */
  toolsInHistory: boolean
}

/** Adds a cache point after content that the client marked, as long as there are any left. */
export const mark = <Item>(into: Array<Item | CachePoint>, marked: boolean, context: ContentContext): void => {
  if (!marked || context.cachePointsLeft === 0) return
  context.cachePointsLeft--
  into.push(cachePoint)
}

const encodeImage = ({ source }: ImagePart, { reader }: ContentContext, at: string): ConverseImage | undefined => {
  if (source.kind === "inline" && source.mediaType?.startsWith("image/")) {
    const subtype = source.mediaType.slice("image/".length)
    return { image: { format: subtype === "jpg" ? "jpeg" : subtype, source: { bytes: source.data } } }
  }
  reader.refuse("unsupported content: images must be base64 data of type image/*", at)
  return undefined
}

const encodeToolCall = (part: ToolCallPart, context: ContentContext): ConverseBlock | undefined => {
  if (part.id === undefined) return undefined
  let input =
    part.custom && context.rules.wrapCustomInput && "text" in part.input
      ? { input: part.input.text }
      : objectFrom(part.input)
  if (input === undefined) {
    if (context.rules.badToolInput === "skip") return undefined
    input = {}
  }
  context.toolsInHistory = true
  return { toolUse: { toolUseId: part.id, name: context.names.safe(part.name), input } }
}

const encodeToolResult = (part: ToolResultPart, context: ContentContext, at: string): ReadonlyArray<ConverseBlock> => {
  // The deprecated function message answers no call by id.
  if (part.callId === undefined) return textsOf(part.content).flatMap((text) => (isBlank(text) ? [] : [{ text }]))
  const content: Array<ConverseText | ConverseImage> = []
  if (typeof part.content === "string") content.push({ text: part.content })
  else
    for (const inner of part.content) {
      if (inner.type === "text" && !isBlank(inner.text)) content.push({ text: inner.text })
      else if (inner.type === "image") {
        const image = encodeImage(inner, context, `${at}.content`)
        if (image !== undefined) content.push(image)
      }
    }
  context.toolsInHistory = true
  const result = { toolUseId: part.callId, content }
  if (!context.rules.nullStatus && part.isError === undefined) return [{ toolResult: result }]
  const status = part.isError === undefined ? null : part.isError ? ("error" as const) : ("success" as const)
  return [{ toolResult: { ...result, status } }]
}

/** Bedrock takes reasoning back only with the signature that it came with. */
const encodeReasoning = ({ text, signature }: ReasoningPart): ReadonlyArray<ConverseBlock> =>
  signature ? [{ reasoningContent: { reasoningText: { text, signature } } }] : []

const encodePart = (part: Part, context: ContentContext, at: string): ReadonlyArray<ConverseBlock> => {
  switch (part.type) {
    case "text":
      return isBlank(part.text) ? [] : [{ text: part.text }]
    case "image": {
      const image = encodeImage(part, context, at)
      return image === undefined ? [] : [image]
    }
    case "file":
      return context.rules.documents ? context.documents.encode(part, at) : []
    case "toolCall": {
      const call = encodeToolCall(part, context)
      return call === undefined ? [] : [call]
    }
    case "toolResult":
      return encodeToolResult(part, context, at)
    case "reasoning":
      return encodeReasoning(part)
    default:
      return []
  }
}

/** `at`: the path of the turn. */
export const encodeContent = (
  parts: ReadonlyArray<Part>,
  context: ContentContext,
  at: string
): Array<ConverseBlock> => {
  const blocks: Array<ConverseBlock> = []
  parts.forEach((part, index) => {
    const encoded = encodePart(part, context, `${at}.content[${index}]`)
    blocks.push(...encoded)
    mark(blocks, encoded.length > 0 && "cache" in part && part.cache, context)
  })
  return blocks
}
