/** Data URLs as the chat APIs use them for inline images and files: one media type, base64, nothing else. */

/** Inline bytes. `data` is base64 as the client wrote it. */
export interface InlineData {
  readonly mediaType: string
  readonly data: string
}

/** Reads `data:<mime>;base64,<data>`. The encoding is compared without case and must be the only parameter; anything else is no data URL. */
export const parseDataUrl = (url: string): InlineData | undefined => {
  if (!url.startsWith("data:")) return undefined
  const comma = url.indexOf(",")
  if (comma < 0) return undefined
  const semicolon = url.indexOf(";")
  if (semicolon < 0 || semicolon > comma) return undefined
  const mediaType = url.slice(5, semicolon)
  if (mediaType === "" || url.slice(semicolon + 1, comma).toLowerCase() !== "base64") return undefined
  return { mediaType, data: url.slice(comma + 1) }
}

export const dataUrl = ({ mediaType, data }: InlineData): string => `data:${mediaType};base64,${data}`
