/** An answer as a list of choices, one text each: what response guards are shown, and what their masks are written back to. */
import { elements, isObject, type JsonObject, mapSame, member } from "../formats/json.ts"
import { changeItems, changeMember } from "./parts.ts"
import { type Rest, restOf, withRest } from "./rest.ts"
import { type Document, everyScope, type GuardedFormat, TextUnreadable } from "./texts.ts"

/** The very same string for no change, `undefined` to take the text out and leave its parts. */
type Change = (text: string) => string | undefined
type MapChoices = (body: JsonObject, change: Change) => JsonObject

const text = (value: unknown, change: Change): unknown => (typeof value === "string" ? (change(value) ?? "") : value)

/** One text out of the text parts of a list, joined by line feeds; changed, it goes into the last of them and the others are emptied. */
const joined = (parts: unknown, isText: (part: JsonObject) => boolean, change: Change): unknown => {
  if (!Array.isArray(parts)) return parts
  const texts = elements(parts).flatMap((part) =>
    isObject(part) && isText(part) && typeof part["text"] === "string" ? [part["text"]] : []
  )
  const before = texts.join("\n")
  const after = change(before)
  if (after === before) return parts
  if (after === undefined)
    return mapSame(parts, (part: unknown) =>
      isObject(part) && isText(part) ? changeMember(part, "text", (value) => text(value, change)) : part
    )
  let left = texts.length
  const changed = elements(parts).flatMap((part) => {
    if (!isObject(part) || !isText(part) || typeof part["text"] !== "string") return [part]
    left--
    return left === 0 ? [changeMember(part, "text", () => after)] : []
  })
  return changed
}

const formats: Readonly<Record<GuardedFormat, MapChoices>> = {
  completions: (body, change) =>
    changeItems(body, "choices", (choice) =>
      changeMember(choice, "message", (message) =>
        isObject(message) ? changeMember(message, "content", (content) => text(content, change)) : message
      )
    ),
  messages: (body, change) =>
    changeItems(body, "content", (block) =>
      block["type"] === "text" ? changeMember(block, "text", (value) => text(value, change)) : block
    ),
  responses: (body, change) =>
    changeItems(body, "output", (item) =>
      item["type"] === "message"
        ? changeMember(item, "content", (parts) => joined(parts, (part) => part["type"] === "output_text", change))
        : item
    ),
  generateContent: (body, change) =>
    changeItems(body, "candidates", (candidate) =>
      changeMember(candidate, "content", (content) =>
        isObject(content)
          ? changeMember(content, "parts", (parts) => joined(parts, (part) => member(part, "thought") !== true, change))
          : content
      )
    )
}

/** The texts of the answer: one per choice, content block, message item or candidate. */
export const choicesOf = (format: GuardedFormat, body: JsonObject): ReadonlyArray<string> => {
  const texts: Array<string> = []
  formats[format](body, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

/** The answer with other texts, in the same order, or `undefined` when there are not as many as `choicesOf` gave. */
export const withChoices = (
  format: GuardedFormat,
  body: JsonObject,
  texts: ReadonlyArray<string>
): JsonObject | undefined => {
  if (choicesOf(format, body).length !== texts.length) return undefined
  let choice = 0
  return formats[format](body, () => texts[choice++]!)
}

/** The texts of the answer: all that a guard over lists of choices has to see, in the end whatever else is in the body. */
export const shownChoices = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject
): ReadonlyArray<string> | TextUnreadable => {
  const rest = restOf(format, document, blanked(format, document, body), everyScope)
  return rest instanceof TextUnreadable ? rest : [...choicesIn(format, document, body), ...rest.map(({ text }) => text)]
}

/** The answer with other texts, in the same order, or `undefined` when there are not as many, or not as many lines in what is no choice. */
export const withShownChoices = (
  format: GuardedFormat,
  document: Document,
  body: JsonObject,
  texts: ReadonlyArray<string>
): JsonObject | undefined => {
  const blank = blanked(format, document, body)
  const rest = restOf(format, document, blank, everyScope)
  if (rest instanceof TextUnreadable) return undefined
  const shown = choicesIn(format, document, body).length
  if (shown + rest.length !== texts.length) return undefined
  const after: ReadonlyArray<Rest> = rest.map(({ scope }, i) => ({ scope, text: texts[shown + i]! }))
  const changed = withRest(format, document, body, blank, everyScope, after)
  return changed && document === "answer" ? withChoices(format, changed, texts.slice(0, shown)) : changed
}

const choicesIn = (format: GuardedFormat, document: Document, body: JsonObject): ReadonlyArray<string> =>
  document === "answer" ? choicesOf(format, body) : []

const blanked = (format: GuardedFormat, document: Document, body: JsonObject): JsonObject =>
  document === "answer" ? formats[format](body, () => undefined) : body
