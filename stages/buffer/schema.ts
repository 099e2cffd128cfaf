/** The wire shape of buffer: bodies that are read whole before anything else happens. */
import { ByteSize, declared, defaulted, FailureMode, object, optional } from "../../spec/policy.ts"

const BufferBody = object("BufferBody", "How a body is buffered.", {
  maxBytes: optional(
    ByteSize,
    "The largest body that is buffered. The default is the buffer size of the listener, 2Mi."
  ),
  failureMode: defaulted(
    FailureMode,
    "failClosed",
    "What happens to a larger body: `failClosed` answers 413 for a request and 502 for an answer, `failOpen` streams the rest."
  )
})

export const Buffer = object("Buffer", "Reads bodies whole before they are passed on.", {
  request: optional(BufferBody, "The body of the request."),
  response: optional(BufferBody, "The body of the answer.")
})

export const buffer = declared(Buffer, { places: ["route"] })
