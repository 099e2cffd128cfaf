/** The lines of trailers: which of them pass on, and how they are sent. */
import { isHopByHop, reservedPrefix } from "../../src/http/framing.ts"
import type { HeaderList } from "../../src/http/header-list.ts"
import { isText, isToken } from "./field-characters.ts"

/** The lines of trailers with the empty one. Those that cannot be sent stay behind, as any intermediary may decide (RFC 9110 6.5.1). */
export const trailerLines = (trailers: HeaderList | undefined): string => {
  let lines = ""
  for (const [name, value] of trailers ?? [])
    if (mayTrail(name) && isToken(name) && isText(value)) lines += `${name}: ${value}\r\n`
  return `${lines}\r\n`
}

/** Whether a trailer of that name passes on: no policy has seen it, and whoever merges trailers with headers would believe it. */
export const mayTrail = (name: string): boolean =>
  !isHopByHop(name) && !notTrailing.has(name) && !name.startsWith(reservedPrefix) && !name.startsWith("x-forwarded-")

/** What says how a message is framed and read: no trailer may (RFC 9110 6.5.1), and none goes for being nominated. */
export const framing: ReadonlyArray<string> = [
  "content-length",
  "content-encoding",
  "content-range",
  "content-type",
  "host",
  "set-cookie"
]

/** Nor may one say who somebody is. */
const notTrailing: ReadonlySet<string> = new Set([
  ...framing,
  "authorization",
  "cookie",
  "forwarded",
  "proxy-authorization"
])
