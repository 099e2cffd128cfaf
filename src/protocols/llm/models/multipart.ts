/** One text field out of a multipart/form-data body (RFC 7578), such as the model of an audio or image request. */
import { Buffer } from "node:buffer"

/** The field's text; `missing`; `invalid` when it is a file, is not UTF-8 or is repeated; `malformed` when the body is no such form. */
export type MultipartField =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "missing" | "invalid" | "malformed" }

const missing = { type: "missing" } as const
const invalid = { type: "invalid" } as const
const malformed = { type: "malformed" } as const

const maxParts = 1024
const maxHeaderBytes = 16_384
const CRLF = Buffer.from("\r\n")
const headersEnd = Buffer.from("\r\n\r\n")
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The boundary that a content type names, if it is multipart/form-data with a valid one (RFC 2046, 5.1.1). */
export const multipartBoundary = (contentType: string): string | undefined => {
  if (!/^\s*multipart\/form-data\s*;/i.test(contentType)) return undefined
  const named = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(contentType)
  const boundary = named?.[1] ?? named?.[2]
  return boundary !== undefined && /^[\w'()+,./:=? -]+$/.test(boundary) && !boundary.endsWith(" ")
    ? boundary
    : undefined
}

interface Disposition {
  readonly name: string | undefined
  readonly isFile: boolean
}

/** `name` and the presence of `filename` of a part's Content-Disposition header. */
const dispositionOf = (headers: string): Disposition => {
  const line = /^content-disposition:[ \t]*form-data[ \t]*(;[^\r\n]*)?$/im.exec(headers)?.[1] ?? ""
  const parameters = [...line.matchAll(/;[ \t]*([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/g)]
  const find = (key: string) => parameters.find(([, name]) => name!.toLowerCase() === key)
  const name = find("name")
  return { name: name?.[2] ?? name?.[3], isFile: find("filename") !== undefined || find("filename*") !== undefined }
}

const readText = (bytes: Buffer): MultipartField => {
  try {
    return { type: "text", text: strict.decode(bytes) }
  } catch {
    return invalid
  }
}

/** The one text field called `name`. A field that is there twice is invalid: the provider may read the other one. */
export const multipartField = (body: Buffer, boundary: string, name: string): MultipartField => {
  const delimiter = Buffer.from(`--${boundary}`)
  const nextDelimiter = Buffer.from(`\r\n--${boundary}`)
  // Whoever reads the body as something else than a form may find another model in a preamble: none is accepted.
  const first = [delimiter, nextDelimiter].find((first) => body.subarray(0, first.length).equals(first))
  let at = first?.length ?? -1
  let found: MultipartField = missing
  for (let part = 0; part < maxParts; part++) {
    if (at === -1) return malformed
    if (body[at] === 0x2d && body[at + 1] === 0x2d) return found
    // White space may follow a delimiter; then the part begins on the next line.
    while (body[at] === 0x20 || body[at] === 0x09) at++
    if (!body.subarray(at, at + 2).equals(CRLF)) return malformed
    // The blank line may come at once, when a part has no headers at all.
    const end = body.indexOf(headersEnd, at)
    if (end === -1 || end - at > maxHeaderBytes) return malformed
    const { name: partName, isFile } = dispositionOf(body.toString("utf8", at + 2, end))
    const start = end + headersEnd.length
    const close = body.indexOf(nextDelimiter, start - 2)
    if (close === -1) return malformed
    if (partName === name)
      found = found !== missing || isFile ? invalid : readText(body.subarray(start, Math.max(start, close)))
    at = close + nextDelimiter.length
  }
  return malformed
}
