/** The failures that the engine itself knows. Those of a policy stand beside the policy. */
import { Data } from "effect"
import { contentCodingNames } from "../http/content-coding.ts"
import type { FaultSource, StageError } from "./stage.ts"

/** A body that a stage must read exceeds the limit. Its answer has no body (seed: 413 for a request, 502 for a response). */
export class BodyTooLarge
  extends Data.TaggedError("BodyTooLarge")<{ readonly side: "request" | "response"; readonly limit: number }>
  implements StageError
{
  readonly status = this.side === "request" ? 413 : 502
  readonly source: FaultSource = this.side === "request" ? "client" : "backend"
  readonly content = { type: undefined, body: "" }
  override get message() {
    return `${this.side} body over ${this.limit} bytes`
  }
}

/** A body must be read, and the process holds as many bytes of bodies as it may. */
export class BuffersFull extends Data.TaggedError("BuffersFull") implements StageError {
  readonly status = 503
  readonly reason = "Overloaded"
  readonly source = "proxy"
  readonly unforgiven = true
  override readonly message = "too much is held in memory"
}
export const buffersFull = new BuffersFull()

const unreadableFor = {
  coding: [415, "the content coding of the body is not supported"],
  charset: [415, "the charset of the body is not supported"],
  value: [400, "the request cannot be read"],
  size: [413, "the body is more than can be decided about"],
  work: [403, "the request is more than can be decided about"],
  path: [400, "ambiguous path"]
} as const

/** A stage stopped the call of the backend before its answer was there. What the client is told is up to the stage. */
export class CallStopped extends Data.TaggedError("CallStopped") implements StageError {
  readonly status = 500
  readonly source = "proxy"
  override readonly message = "stopped by a stage"
}
export const callStopped = new CallStopped()

/** Something that a decision reads cannot be read, whatever the rest of it says. What it was is for the trace, not for the client. */
export class Unreadable
  extends Data.TaggedError("Unreadable")<{ readonly by: keyof typeof unreadableFor }>
  implements StageError
{
  readonly status = unreadableFor[this.by][0]
  readonly source = "client"
  readonly unforgiven = true
  readonly headers = this.by === "coding" ? ["accept-encoding", contentCodingNames] : undefined
  override get message() {
    return unreadableFor[this.by][1]
  }
}

/** An answer must be read, and its backend sends it in a content coding that is not known, or in more than four. */
export class UnknownCoding extends Data.TaggedError("UnknownCoding") implements StageError {
  readonly status = 502
  readonly source = "backend"
  override readonly message = "the content coding of the response is not supported"
}
export const unknownCoding = new UnknownCoding()

/** Made once: none of them holds anything of the request. */
export const unreadable = {
  coding: new Unreadable({ by: "coding" }),
  charset: new Unreadable({ by: "charset" }),
  value: new Unreadable({ by: "value" }),
  size: new Unreadable({ by: "size" }),
  work: new Unreadable({ by: "work" }),
  path: new Unreadable({ by: "path" })
} as const satisfies { readonly [B in keyof typeof unreadableFor]: Unreadable }

/** The request is for another listener than the one that the TLS connection was made for (RFC 9110 15.5.20). */
export class Misdirected extends Data.TaggedError("Misdirected") implements StageError {
  readonly status = 421
  readonly reason = "NotFound"
  readonly source = "client"
  override readonly message = "misdirected request"
}

/** Nothing is configured for what the client asked for. */
export class NotFound
  extends Data.TaggedError("NotFound")<{ readonly what: "bind" | "listener" | "route" }>
  implements StageError
{
  readonly status = 404
  readonly reason = "NotFound"
  readonly source = "client"
  override get message() {
    return `${this.what} not found`
  }
}

/** A route leads nowhere: it has no backend, or one that does not exist. */
export class NoBackend
  extends Data.TaggedError("NoBackend")<{
    readonly detail:
      | "no valid backends"
      | "backend does not exist"
      | "service not found"
      | "invalid backend type"
      | "route delegation cycle detected"
  }>
  implements StageError
{
  readonly status = 500
  readonly source = "proxy"
  override get message() {
    return this.detail
  }
}

/** The request did not get its answer in time. */
export class TimedOut extends Data.TaggedError("TimedOut") implements StageError {
  readonly status = 504
  readonly reason = "Timeout"
  readonly source = "proxy"
  readonly unforgiven = true
  override readonly message = "request timeout"
}

/** How long the caller waits for its gRPC request cannot be read: whoever is called next might read it otherwise. */
export class InvalidGrpcTimeout extends Data.TaggedError("InvalidGrpcTimeout") implements StageError {
  readonly status = 400
  readonly source = "client"
  readonly reached = "nothing sent"
  override readonly message =
    "invalid request: grpc-timeout is not one line of up to 8 digits and one of H, M, S, m, u, n"
}
export const invalidGrpcTimeout = new InvalidGrpcTimeout()

/** The client stopped in the middle of its request while it was being read. */
export class ClientStalled extends Data.TaggedError("ClientStalled") implements StageError {
  readonly status = 408
  readonly reason = "Timeout"
  readonly source = "client"
  override readonly message = "the request body did not come in time"
}

/** A policy cannot be applied to this request. */
export class FilterFailed extends Data.TaggedError("FilterFailed")<{ readonly detail: string }> implements StageError {
  readonly status = 500
  readonly source = "proxy"
  override get message() {
    return `failed to apply filters: ${this.detail}`
  }
}

/** A bug: something threw. What it was goes to the log, never to the client. */
export class Defect extends Data.TaggedError("Defect")<{ readonly cause: unknown }> implements StageError {
  readonly status = 500
  readonly source = "proxy"
  override get message() {
    return "internal error"
  }
}

/** A tunnel carries bytes, and its route leads to models or tools. */
export class NoTunnel extends Data.TaggedError("NoTunnel") implements StageError {
  readonly status = 500
  readonly source = "proxy"
  override readonly message = "no tunnel leads to such a backend"
}
