/** Calls whose stream ended before the answer: a stream that the client resumes may still bring it. */
import type { Call } from "./call.ts"
import { idKey, type RpcId } from "./envelope.ts"

/** A client need not come back; then the oldest make room. */
const limit = 64

/** By id, the newest few. */
export class Suspended {
  readonly #calls = new Map<string, Call>()

  add(call: Call): void {
    const [oldest] = this.#calls.keys()
    if (this.#calls.size >= limit && oldest !== undefined) this.#calls.delete(oldest)
    this.#calls.set(idKey(call.id), call)
  }

  /** The call that this answer ends, if it is one of them. */
  take(id: RpcId): Call | undefined {
    const key = idKey(id)
    const call = this.#calls.get(key)
    this.#calls.delete(key)
    return call
  }
}
