/** The port `McpHttp` over the connections of all backends: those of a target are shared by all its sessions. */
import { Effect, Layer } from "effect"
import { Defects } from "../../src/services/defects.ts"
import { McpHttp, type McpHttpAddress } from "../../src/services/mcp-http.ts"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Names } from "../../src/services/names.ts"
import * as Pools from "../http/pools.ts"
import { legacySseTransport } from "./legacy-sse.ts"
import { askPlainly } from "./plain.ts"
import { StreamableTransport } from "./streamable.ts"
import type { Upstream, UpstreamLimits } from "./upstream.ts"

const defaultLimits: UpstreamLimits = {
  messageChars: 16 * 1024 * 1024,
  errorBytes: 1024 * 1024,
  queuedChars: 32 * 1024 * 1024
}

const authorityOf = ({ scheme, host, port }: McpHttpAddress): string => {
  const name = host.includes(":") ? `[${host}]` : host
  return port === (scheme === "https" ? 443 : 80) ? name : `${name}:${port}`
}

/** Default limits: 16 Mi characters a message, 1 MiB of a refusal, 32 Mi characters that wait. */
export const layer = (options: Partial<UpstreamLimits> = {}): Layer.Layer<McpHttp, never, Names | Metrics> =>
  Layer.effect(
    McpHttp,
    Effect.gen(function* () {
      const limits = { ...defaultLimits, ...options }
      const run = Effect.runCallbackWith(yield* Effect.context<never>())
      const tell = yield* Defects
      const { open } = yield* Pools.Pools
      return {
        at: (address) => {
          const { scheme, host, port, connections = {}, onRequest } = address
          return Effect.map(open({ kind: "tcp", host, port, tls: scheme === "https" }, connections), (connections) => {
            const upstream: Upstream = {
              tell,
              onRequest,
              connections,
              scheme,
              authority: authorityOf(address),
              run: (effect) => run(effect),
              limits
            }
            return {
              open: ({ protocol, path }, sessionId, events) =>
                protocol === "sse"
                  ? legacySseTransport(upstream, path || "/sse", events)
                  : new StreamableTransport(upstream, path || "/mcp", sessionId, events),
              ask: (request, told) => askPlainly(upstream, request, told)
            }
          })
        }
      }
    })
  ).pipe(Layer.provide(Pools.layer))
