/** The port `McpHttp` over undici: one pool of connections for all sessions of a target. */
import { Effect, Layer } from "effect"
import { Agent, type Dispatcher } from "undici"
import { McpHttp, type McpHttpAddress } from "../../src/services/mcp-http.ts"
import { legacySseTransport } from "./legacy-sse.ts"
import { askPlainly } from "./plain.ts"
import { streamableTransport } from "./streamable.ts"
import type { Upstream, UpstreamLimits } from "./upstream.ts"

/** Defaults: 16 Mi characters a message, 1 MiB of a refusal, one agent for all targets. */
export interface McpHttpOptions extends UpstreamLimits {
  /** The connections of a target: TLS, tunnel, address checks. Default: one agent for all, closed with the scope. */
  readonly dispatcherFor: (address: McpHttpAddress) => Dispatcher
}

const originOf = ({ scheme, host, port }: McpHttpAddress) =>
  `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Connections are kept alive between sessions and end with the scope. */
export const layer = (options: Partial<McpHttpOptions> = {}): Layer.Layer<McpHttp> =>
  Layer.effect(
    McpHttp,
    Effect.gen(function* () {
      const limits = {
        messageChars: options.messageChars ?? 16 * 1024 * 1024,
        errorBytes: options.errorBytes ?? 1024 * 1024
      }
      let dispatcherFor = options.dispatcherFor
      if (dispatcherFor === undefined) {
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new Agent()),
          (agent) => Effect.promise(() => agent.destroy())
        )
        dispatcherFor = () => agent
      }
      const dispatchers = dispatcherFor
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const upstreamAt = (address: McpHttpAddress): Upstream => ({
        address,
        origin: originOf(address),
        dispatcher: dispatchers(address),
        run: (effect) => {
          run(effect)
        },
        limits
      })
      return {
        open: (endpoint, sessionId, events) => {
          const upstream = upstreamAt(endpoint)
          return endpoint.protocol === "sse"
            ? legacySseTransport(upstream, endpoint.path || "/sse", events)
            : streamableTransport(upstream, endpoint.path || "/mcp", sessionId, events)
        },
        ask: (address, request, told) => askPlainly(upstreamAt(address), request, told)
      }
    })
  )
