/** Why the runtime has ended a session, in a few words that can be counted by. */

/** By the codes of the runtime, and by the texts of its library where all have one code. */
const known: ReadonlyArray<readonly [RegExp, string]> = [[/ERR_HTTP2_TOO_MANY_INVALID_FRAMES/, "invalid frames"]]

/** `undefined`: its client has ended it, or is gone. */
export const causeOf = ({ code = "", message }: NodeJS.ErrnoException): string | undefined => {
  if (code === "ERR_HTTP2_SESSION_ERROR" || code === "ECONNRESET" || code === "EPIPE") return undefined
  const text = `${code} ${message}`
  return known.find(([pattern]) => pattern.test(text))?.[1] ?? "protocol"
}
