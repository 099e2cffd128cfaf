/** Writes messages of the AWS event stream encoding: what a simulated Bedrock upstream answers. */
import { Buffer } from "node:buffer"
import { EventStreamCodec, type MessageHeaders } from "@smithy/eventstream-codec"

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8")
)

const text = (value: string) => ({ type: "string" as const, value })

/** A frame with the given string headers and body. */
export const encodeMessage = (headers: Readonly<Record<string, string>>, body: Uint8Array): Uint8Array => {
  const typed: MessageHeaders = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, text(value)]))
  return codec.encode({ headers: typed, body })
}

/** A frame as Bedrock sends events: `:message-type` event, the type, a JSON body. */
export const encodeEvent = (eventType: string, json: unknown): Uint8Array =>
  encodeMessage(
    { ":message-type": "event", ":event-type": eventType, ":content-type": "application/json" },
    Buffer.from(JSON.stringify(json))
  )

/** A frame as Bedrock reports an error inside a stream. */
export const encodeException = (exceptionType: string, message: string): Uint8Array =>
  encodeMessage(
    { ":message-type": "exception", ":exception-type": exceptionType, ":content-type": "application/json" },
    Buffer.from(JSON.stringify({ message }))
  )
