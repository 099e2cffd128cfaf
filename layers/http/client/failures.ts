/** Why a call over a connection of our own came to nothing. The system's own errors (`ECONNREFUSED` …) stand beside these. */
import { Data } from "effect"
import type { MessageFault } from "../message-parser.ts"

/** What of a response is not HTTP/1.1, or could be read in more than one way. */
export type ResponseFault =
  | MessageFault
  | "status line"
  | "version"
  | "status"
  | "content-length"
  | "more than one content-length"
  | "content-length with transfer-encoding"
  | "more than one transfer-encoding"
  | "transfer-encoding in HTTP/1.0"
  | "interim response in HTTP/1.0"
  | "interim response that closes"
  | "interim response with a body"
  | "100 that nobody asked for"
  | "101 that nobody asked for"
  | "too many interim responses"

export class MalformedResponse extends Data.TaggedError("MalformedResponse")<{ readonly fault: ResponseFault }> {}

/** The transfer coding cannot be undone; its own error, since readers of the message should know which one it was. */
export class UnreadableCoding extends Data.TaggedError("UnreadableCoding")<{ readonly coding: string }> {}

/** The peer closed the connection before its response was whole. */
export class ConnectionClosed extends Data.TaggedError("ConnectionClosed")<{}> {}

/** Something of the request cannot be written as HTTP/1.1. */
export class UnsendableRequest extends Data.TaggedError("UnsendableRequest")<{ readonly part: RequestPart }> {}
export type RequestPart = "method" | "target" | "host" | "header name" | "header value" | "content-length" | "upgrade"

/** The proxy on the way lets nothing through. @field status of its answer; none where that is not HTTP/1.1. */
export class TunnelRefused extends Data.TaggedError("TunnelRefused")<{ readonly status: number | undefined }> {}

/** There is no way through a proxy to a socket of this machine. */
export class TunnelPointless extends Data.TaggedError("TunnelPointless")<{}> {}

/** The connection did not stand in time. */
export class ConnectTimedOut extends Data.TaggedError("ConnectTimedOut")<{}> {}

/** All connections are busy, and the call waited as long as it may, or was one too many to wait. */
export class PoolExhausted extends Data.TaggedError("PoolExhausted")<{ readonly limit: "queue" | "time" }> {}

/** The backend is no longer configured. */
export class PoolClosed extends Data.TaggedError("PoolClosed")<{}> {}

// Of HTTP/2.

/** A peer that was to speak HTTP/2 does not. */
export class NotHttp2 extends Data.TaggedError("NotHttp2")<{}> {}

/** The peer ended a stream before its response was whole. @field code as the protocol names it. */
export class StreamReset extends Data.TaggedError("StreamReset")<{ readonly code: string }> {}

/** The peer has done nothing with a request, and says so: it refused the stream, or its last one was an earlier one. */
export class StreamRefused extends Data.TaggedError("StreamRefused")<{}> {}

/** The connection has been silent, and a ping went without an answer. */
export class ConnectionSilent extends Data.TaggedError("ConnectionSilent")<{}> {}

/** What of a head is none. */
export class MalformedFields extends Data.TaggedError("MalformedFields")<{ readonly fault: string }> {}
