/** Server-sent events from bytes, in whatever pieces they come, with a limit on one event. */
import { StringDecoder } from "node:string_decoder"
import { createParser } from "eventsource-parser"
import type { McpEventMark } from "../../../services/mcp-transport.ts"

/** Reads one event stream. */
export interface EventSource {
  /** `false`: an event is over the limit; nothing more can be read. */
  readonly push: (chunk: Uint8Array) => boolean
  /** The bytes are over: hands on a reconnection time that no event carried. */
  readonly end: () => void
}

/** `onEvent` gets the type as it was named, the data, and the mark if the event has an id or a reconnection time. */
export const eventSource = (
  maxChars: number,
  onEvent: (type: string | undefined, data: string, mark: McpEventMark | undefined) => void
): EventSource => {
  const decoder = new StringDecoder("utf8")
  let retry: number | undefined
  let overflow = false
  const parser = createParser({
    maxBufferSize: maxChars,
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") overflow = true
    },
    onRetry: (millis) => {
      retry = millis
    },
    onEvent: ({ event, data, id }) => {
      const mark = id === undefined && retry === undefined ? undefined : { id, retry }
      retry = undefined
      // The parser limits what it keeps; an event that comes in one piece it never has to.
      if (data.length > maxChars) overflow = true
      if (!overflow) onEvent(event, data, mark)
    }
  })
  return {
    push: (chunk) => {
      if (!overflow) parser.feed(decoder.write(chunk))
      return !overflow
    },
    end: () => {
      if (retry !== undefined && !overflow) onEvent(undefined, "", { id: undefined, retry })
      retry = undefined
    }
  }
}
