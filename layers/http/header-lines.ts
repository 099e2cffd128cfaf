/** Trailers as they came, turned into the list that the engine works on; those of the connection stay behind. */
import { isHopByHop } from "../../src/http/framing.ts"
import { HeaderList } from "../../src/http/header-list.ts"

/** Those of alternating names and values; `undefined` when there are none. */
export const trailerList = (raw: ReadonlyArray<string>): HeaderList | undefined => {
  const trailers = new HeaderList()
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    if (!isHopByHop(name) && !notTrailing.has(name)) trailers.flat.push(name, raw[i + 1]!)
  }
  return trailers.size === 0 ? undefined : trailers
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
