/** The client of MCP targets behind HTTP, over undici: one pool of connections for all sessions of a target. */
import { Effect, type Scope } from "effect"
import { Agent, type Dispatcher } from "undici"
import { Defects } from "../../src/services/defects.ts"
import type { McpHttpAddress, McpHttpClient } from "../../src/services/mcp-http.ts"
import { settle } from "../http/connection-settings.ts"
import { connectorOf } from "../http/connector.ts"
import { legacySseTransport } from "./legacy-sse.ts"
import { askPlainly } from "./plain.ts"
import { streamableTransport } from "./streamable.ts"
import type { Upstream, UpstreamLimits } from "./upstream.ts"

/**
 * Defaults: 16 Mi characters a message, 1 MiB of a refusal, 32 Mi characters that wait, one agent for all targets that
 * are connected to alike.
 */
export interface McpHttpOptions extends UpstreamLimits {
  /** The connections of a target: TLS, tunnel, address checks. Default: agents that are closed with the scope. */
  readonly dispatcherFor: (address: McpHttpAddress) => Dispatcher
}

const originOf = ({ scheme, host, port }: McpHttpAddress) =>
  `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`

/** One agent for each way to make connections. */
const agents = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Map<string, Agent>()),
    (made) => Effect.promise(() => Promise.all(Array.from(made.values(), (agent) => agent.destroy())))
  ),
  (made) =>
    ({ connections = {} }: McpHttpAddress): Dispatcher => {
      const settings = settle(connections)
      const key = JSON.stringify(settings)
      let agent = made.get(key)
      if (agent === undefined) {
        const { idleTimeout } = settings
        agent = new Agent({
          connect: connectorOf(settings),
          keepAliveTimeout: idleTimeout,
          keepAliveMaxTimeout: idleTimeout
        })
        made.set(key, agent)
      }
      return agent
    }
)

/** Connections are kept alive between sessions and end with the scope. */
export const makeClient = (options: Partial<McpHttpOptions>): Effect.Effect<McpHttpClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const limits = {
      messageChars: options.messageChars ?? 16 * 1024 * 1024,
      errorBytes: options.errorBytes ?? 1024 * 1024,
      queuedChars: options.queuedChars ?? 32 * 1024 * 1024
    }
    const dispatcherFor = options.dispatcherFor ?? (yield* agents)
    const run = Effect.runCallbackWith(yield* Effect.context<never>())
    const tell = yield* Defects
    const upstreamAt = (address: McpHttpAddress): Upstream => ({
      address,
      origin: originOf(address),
      dispatcher: dispatcherFor(address),
      run: (effect) => run(effect),
      limits,
      tell
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
