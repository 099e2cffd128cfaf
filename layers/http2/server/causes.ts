/** Why the runtime has ended a session, in a few words that can be counted by. */

/** By what its library calls them, and by its own. */
const known: Readonly<Record<string, string>> = {
  "-902": "invalid frames",
  "-903": "preface",
  "-904": "flood",
  "-905": "continuations"
}

/** `undefined`: its client has ended it, or is gone. */
export const causeOf = ({ code = "", errno = 0 }: NodeJS.ErrnoException): string | undefined =>
  code === "ERR_HTTP2_ERROR" || code.startsWith("ERR_HTTP2_TOO_MANY") ? (known[errno] ?? "protocol") : undefined
