/** Protection of a local gateway against pages that reach it through a name of their own (DNS rebinding). */
import { header } from "./headers.ts"

/** Body of the 403. */
export const rebindingMessage = "MCP DNS rebinding protection: Host/Origin must be localhost, 127.0.0.1, or [::1]"

const local = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]*)?$/i
const localOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]*)?$/i

/** `false` if the request does not address this machine by its own name, or comes from a page that does not. */
export const isLocalRequest = (authority: string, headers: ReadonlyArray<string>): boolean => {
  if (!local.test(authority)) return false
  const origin = header(headers, "origin")
  if (origin === undefined) return true
  let count = 0
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === "origin") count++
  return count === 1 && localOrigin.test(origin)
}
