/** Turns the URL of an image or a file, as OpenAI formats carry it, into a source. */
import { parseDataUrl } from "../formats/data-url.ts"
import type { MediaSource } from "./conversation.ts"

/** `mediaType`: what the client said beside the URL; a data URL knows its own. */
export const sourceOfUrl = (url: string, mediaType?: string): MediaSource => {
  const inline = parseDataUrl(url)
  return inline === undefined ? { kind: "url", url, mediaType } : { kind: "inline", ...inline }
}

/** A data URL, or bare base64. */
export const sourceOfFileData = (data: string): MediaSource => {
  const inline = parseDataUrl(data)
  return { kind: "inline", mediaType: inline?.mediaType, data: inline?.data ?? data }
}
