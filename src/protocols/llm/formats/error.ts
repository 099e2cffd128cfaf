/** The one error of formats and translations: who is at fault, with which status, in which words, over which field. */
import { Data } from "effect"

/**
 * A body that cannot be read or expressed. `status`: 400 when the client's request is at fault, 502 when the provider's answer is.
 * `message` is the text of the answer; `field` the path of the member at fault, such as `messages[2].content[0].image_url`.
 */
export class LlmError extends Data.TaggedError("LlmError")<{
  readonly status: 400 | 502
  readonly message: string
  readonly field?: string | undefined
}> {
  readonly source = this.status === 400 ? "client" : "backend"
}

/** The request cannot be read, or cannot be expressed in the provider's format. */
export const requestRefused = (reason: string, field?: string): LlmError =>
  new LlmError({ status: 400, message: `failed to process LLM request: ${reason}`, field })

/** The provider's answer cannot be read, or cannot be expressed in the client's format. */
export const responseUnreadable = (reason: string, field?: string): LlmError =>
  new LlmError({ status: 502, message: `failed to process LLM response: ${reason}`, field })
