/** The wire shape of buffer: bodies that are read whole before anything else happens. */
import { defaulted, object, optional } from "../../spec/field.ts"
import { FailureMode } from "../../spec/location.ts"
import { ByteSize } from "../../spec/primitives.ts"
import { declared } from "../../spec/standalone/policies.ts"

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
