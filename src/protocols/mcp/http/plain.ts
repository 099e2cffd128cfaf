/** One request to a server that does not speak MCP, and its whole answer. */
import type { TargetFailure } from "../../../services/mcp-transport.ts"
import type { McpPlainAnswer, McpUpstreamRequest } from "./contract.ts"
import { TargetCall, type Upstream } from "./target-call.ts"

const tooLarge: TargetFailure = { _tag: "TargetBroken", status: 500, message: "upstream sent a body over the limit" }

/** The returned function gives the request up. */
export const askPlainly = (
  upstream: Upstream,
  request: McpUpstreamRequest,
  told: (answer: McpPlainAnswer | TargetFailure) => void
): (() => void) => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  const call = new TargetCall(upstream, request, false, {
    onHead: ({ status }) => ({
      onData: (chunk) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes <= upstream.limits.messageChars) return true
        told(tooLarge)
        return false
      },
      onEnd: () => told({ status, body: Buffer.concat(chunks) })
    }),
    onFailure: (failure) =>
      told(failure._tag === "TargetStatus" ? { status: failure.status, body: failure.body } : failure)
  })
  return () => call.abort()
}
