/** The heads of requests as they are sent to a backend that speaks HTTP/2, and those of its answers as they are read. */
import { isAlias, isHopByHop } from "../../../src/http/framing.ts"
import { HeaderList } from "../../../src/http/header-list.ts"
import type { Scheme } from "../../../src/http/message.ts"
import { UnsendableRequest } from "../../http/client/failures.ts"
import { type Framing, fixedFault, type RequestLines } from "../../http/client/request-head.ts"
import type { ResponseHead } from "../../http/client/response-parser.ts"
import { isToken } from "../../http/field-characters.ts"
import { appendFields, type FieldFault, readFields } from "../fields.ts"

/** The fields of a request, or what of it cannot be sent. @param scheme in which its backend is spoken to. */
export const requestFields = (
  lines: RequestLines,
  framing: Framing,
  scheme: Scheme
): Array<string> | UnsendableRequest => {
  const part = fixedFault(lines)
  if (part !== undefined) return new UnsendableRequest({ part })
  const { method, pathAndQuery, authority, headers } = lines
  const fields = [":method", method, ":scheme", scheme, ":authority", authority, ":path", pathAndQuery]
  const fault = appendFields(fields, headers, (name) => isOwn(name) || (name.includes("_") && isAlias(name, headers)))
  if (fault !== undefined)
    return new UnsendableRequest({ part: isToken(fault.unsendable) ? "header value" : "header name" })
  if (typeof framing === "number") fields.push("content-length", String(framing))
  return fields
}

/** The length is known better than any header says. */
const isOwn = (name: string): boolean => name === "host" || name === "content-length"

const threeDigits = /^[1-5][0-9]{2}$/

/** The head of a response, interim or final, or what of it is none. */
export const responseHead = (raw: ReadonlyArray<string>): ResponseHead | FieldFault => {
  const read = readFields(raw)
  if (typeof read === "string") return read
  const { pseudo, flat } = read
  const status = pseudo[":status"]
  if (status === undefined || !threeDigits.test(status) || Object.keys(pseudo).length > 1) return "a pseudo-field"
  const headers = new HeaderList(flat)
  // What stays with the connection in HTTP/1.1 says nothing here.
  for (let i = 0; i < flat.length; i += 2)
    if (isHopByHop(flat[i]!)) {
      headers.deleteAll(new Set(flat.filter((name, at) => at % 2 === 0 && isHopByHop(name))))
      break
    }
  return { status: Number(status), headers, upgrade: undefined }
}
