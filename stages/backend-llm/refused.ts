/** Failures on the way to a model, as the client reads them. */
import { Data } from "effect"
import type { FaultSource, StageError } from "../../src/policy/policy.ts"
import type { LlmError } from "../../src/protocols/llm/formats/error.ts"
import type { GuardAnswer } from "../../src/protocols/llm/guard/outcome.ts"
import type { Refusal } from "../../src/protocols/llm/models/refusal.ts"

/** The router has no model for the request, or not for this client: JSON in the shape of OpenAI's errors. */
export class ModelRefused
  extends Data.TaggedError("ModelRefused")<{ readonly refusal: Refusal }>
  implements StageError
{
  readonly status = this.refusal.status
  readonly reason = "InvalidRequest"
  readonly source = "client"
  readonly content = { type: "application/json", body: this.refusal.body }
  override get message() {
    return this.refusal.message
  }
}

/** A guard does not let a prompt or an answer pass, and answers in its own words. */
export class GuardRejected implements StageError {
  readonly _tag = "GuardRejected"
  readonly status: number
  readonly message = "rejected by a guard"
  readonly reason = "Guardrail"
  readonly source = "client"
  readonly unforgiven = true
  readonly headers: ReadonlyArray<string>
  readonly content: { readonly type: undefined; readonly body: string }

  constructor({ status, headers, body }: GuardAnswer) {
    this.status = status
    this.headers = headers.flat()
    this.content = { type: undefined, body }
  }
}

/** A request or an answer cannot be processed. */
export class LlmFailed
  extends Data.TaggedError("LlmFailed")<{
    readonly side: "request" | "response"
    readonly status: number
    readonly detail: string
    readonly reason: "InvalidRequest" | "Guardrail" | "UpstreamFailure"
    readonly headers?: ReadonlyArray<string>
    readonly unforgiven?: true
  }>
  implements StageError
{
  readonly source: FaultSource =
    this.reason === "InvalidRequest" ? "client" : this.side === "response" ? "backend" : "proxy"
  override get message() {
    return `failed to process LLM ${this.side}: ${this.detail}`
  }
}

/** RFC 9110 15.5.6: the answer names the methods that there are. */
export const methodNotAllowed = (allowed: string): LlmFailed =>
  new LlmFailed({
    side: "request",
    status: 405,
    detail: "method not allowed",
    reason: "InvalidRequest",
    headers: ["allow", allowed]
  })

export const invalid = (detail: string): LlmFailed =>
  new LlmFailed({ side: "request", status: 400, detail, reason: "InvalidRequest" })

/** Readers of the path could take it for different things. */
export const ambiguousPath = invalid("ambiguous path")

export const failureOf = ({ status, message, source }: LlmError): StageError => ({
  _tag: "LlmError",
  status,
  message,
  source,
  reason: status === 400 ? "InvalidRequest" : "UpstreamFailure"
})
