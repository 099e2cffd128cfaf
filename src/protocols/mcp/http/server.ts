/** The servers behind HTTP of one relay: what is sent to each of them goes by way of its caller. */
import { Effect } from "effect"
import { Defects } from "../../../services/defects.ts"
import type { McpCaller, McpHttpServer } from "./contract.ts"
import { legacySseTransport } from "./legacy-sse.ts"
import { askPlainly } from "./plain.ts"
import { StreamableTransport } from "./streamable.ts"
import type { Upstream, UpstreamLimits } from "./target-call.ts"

const defaultLimits: UpstreamLimits = {
  messageChars: 16 * 1024 * 1024,
  errorBytes: 1024 * 1024,
  queuedChars: 32 * 1024 * 1024,
  endpointMillis: 10_000
}

/** Default limits: 16 Mi characters a message, 1 MiB of a refusal, 32 Mi characters that wait, 10 s for naming an endpoint. */
export const makeServers = (
  options: Partial<UpstreamLimits> = {}
): Effect.Effect<(caller: McpCaller) => McpHttpServer> =>
  Effect.gen(function* () {
    const limits = { ...defaultLimits, ...options }
    const run = Effect.runCallbackWith(yield* Effect.context<never>())
    const tell = yield* Defects
    return (caller) => {
      const upstream: Upstream = { tell, caller, run, limits }
      return {
        open: ({ protocol, path }, sessionId, events) =>
          protocol === "sse"
            ? legacySseTransport(upstream, path || "/sse", events)
            : new StreamableTransport(upstream, path || "/mcp", sessionId, events),
        ask: (request, told) => askPlainly(upstream, request, told)
      }
    }
  })
