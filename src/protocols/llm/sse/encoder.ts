/** Writes server-sent events. */

const lineEnd = /\r\n|\r|\n/

/** What an event may say; `data` may hold line ends, which become one `data:` line each. */
export interface SseFields {
  readonly event?: string | undefined
  readonly id?: string | undefined
  readonly data: string
}

// A name with a line end in it would start a field of its own: it is cut there.
const field = (name: string, value: string | undefined): string =>
  value === undefined ? "" : `${name}: ${value.split(lineEnd, 1)[0]}\n`

/** One event as text, blank line included. JSON data is one line and takes the short way. */
export const encodeSse = ({ event, id, data }: SseFields): string => {
  const body =
    data.indexOf("\n") === -1 && data.indexOf("\r") === -1
      ? `data: ${data}\n`
      : data
          .split(lineEnd)
          .map((line) => `data: ${line}\n`)
          .join("")
  return `${field("event", event)}${field("id", id)}${body}\n`
}

/** The event that ends an OpenAI-style stream. */
export const sseDone = "data: [DONE]\n\n"
