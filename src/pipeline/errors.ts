/** The failures that the engine itself knows. Those of a policy stand beside the policy. */
import { Data } from "effect"
import type { FaultSource, StageError } from "./stage.ts"

/** A body that a stage must read exceeds the limit. Its answer has no body (seed: 413 for a request, 502 for a response). */
export class BodyTooLarge
  extends Data.TaggedError("BodyTooLarge")<{ readonly side: "request" | "response"; readonly limit: number }>
  implements StageError
{
  readonly status = this.side === "request" ? 413 : 502
  readonly source: FaultSource = this.side === "request" ? "client" : "backend"
  readonly retryable = false
  readonly content = { type: undefined, body: "" }
  override get message() {
    return `${this.side} body over ${this.limit} bytes`
  }
}

/** Nothing is configured for what the client asked for. */
export class NotFound
  extends Data.TaggedError("NotFound")<{ readonly what: "bind" | "listener" | "route" }>
  implements StageError
{
  readonly status = 404
  readonly reason = "NotFound"
  readonly source = "client"
  readonly retryable = false
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
  readonly retryable = false
  override get message() {
    return this.detail
  }
}

/** The request did not get its answer in time. */
export class TimedOut extends Data.TaggedError("TimedOut") implements StageError {
  readonly status = 504
  readonly reason = "Timeout"
  readonly source = "proxy"
  readonly retryable = false
  override readonly message = "request timeout"
}

/** The client stopped in the middle of its request while it was being read. */
export class ClientStalled extends Data.TaggedError("ClientStalled") implements StageError {
  readonly status = 408
  readonly reason = "Timeout"
  readonly source = "client"
  readonly retryable = true
  override readonly message = "the request body did not come in time"
}

/** The path has no normal form, or it can be read in two ways that are not decided alike. */
export class UnreadablePath
  extends Data.TaggedError("UnreadablePath")<{ readonly detail: string }>
  implements StageError
{
  readonly status = 400
  readonly source = "client"
  readonly retryable = false
  override get message() {
    return this.detail
  }
}

/** A policy cannot be applied to this request. */
export class FilterFailed extends Data.TaggedError("FilterFailed")<{ readonly detail: string }> implements StageError {
  readonly status = 500
  readonly source = "proxy"
  readonly retryable = false
  override get message() {
    return `failed to apply filters: ${this.detail}`
  }
}

/** A bug: something threw. What it was goes to the log, never to the client. */
export class Defect extends Data.TaggedError("Defect")<{ readonly cause: unknown }> implements StageError {
  readonly status = 500
  readonly source = "proxy"
  readonly retryable = false
  override get message() {
    return "internal error"
  }
}
