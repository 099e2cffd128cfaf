/** A request that the relay answered in place of a target: its words are those of the protocol, and known already. */
import { Data } from "effect"
import type { StageError } from "../../src/policy/policy.ts"

export class McpRefused
  extends Data.TaggedError("McpRefused")<{
    readonly status: number
    readonly message: string
    readonly headers: ReadonlyArray<string>
    readonly content: { readonly type: string | undefined; readonly body: string }
  }>
  implements StageError
{
  readonly reason = this.status === 504 ? "Timeout" : "MCP"
  readonly source = this.status < 500 ? "client" : "backend"
}
