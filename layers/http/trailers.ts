/** The lines of trailers: which of them pass on, and how they are sent. */
import { isHopByHop } from "../../src/http/framing.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import { isText, isToken } from "./field-characters.ts"

/** The lines of trailers with the empty one. Those that cannot be sent stay behind, as any intermediary may decide (RFC 9110 6.5.1). */
export const trailerLines = (trailers: HeaderList | undefined): string => {
  let lines = ""
  for (const [name, value] of trailers ?? [])
    if (!isHopByHop(name) && !notTrailing.has(name) && isToken(name) && isText(value)) lines += `${name}: ${value}\r\n`
  return `${lines}\r\n`
}

/** What a trailer must never say anything about (RFC 9110 6.5.1). */
export const notTrailing: ReadonlySet<string> = new Set([
  "content-length",
  "content-encoding",
  "content-range",
  "content-type",
  "host",
  "set-cookie"
])
