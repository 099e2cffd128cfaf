/**
 * Tool call ids for Gemini, which has none that OpenAI clients could use, and wants its thought signature back with the call: the signature
 * travels inside the id.
 */

const separator = "__thought__"

export interface CallId {
  readonly base: string
  readonly signature: string | undefined
}

export const writeCallId = (base: string, signature: string | undefined): string =>
  signature ? `${base}${separator}${signature}` : base

/** Splits at the first separator. */
export const readCallId = (id: string): CallId => {
  const at = id.indexOf(separator)
  return at < 0
    ? { base: id, signature: undefined }
    : { base: id.slice(0, at), signature: id.slice(at + separator.length) || undefined }
}
