/** The port `Upstreams` over connections of our own. */
import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import type { Address } from "../../spec/target.ts"
import type { Metrics } from "../../src/services/metrics.ts"
import type { Names } from "../../src/services/names.ts"
import { type UpstreamOptions, type UpstreamRequest, Upstreams } from "../../src/services/upstreams.ts"
import { pseudonymOf } from "../../src/services/via.ts"
import { openStreams } from "../tcp/streams.ts"
import { makeConnectCall } from "./connect-call.ts"
import * as Pools from "./pools.ts"
import { call } from "./upstream-call.ts"

export const layer: Layer.Layer<Upstreams, never, Names | Metrics> = Layer.effect(
  Upstreams,
  Effect.gen(function* () {
    const { open, openChosen } = yield* Pools.Pools
    const openBytes = yield* openStreams
    const connect = yield* makeConnectCall
    const streamsTo = (target: Address, options: UpstreamOptions) => Effect.scoped(openBytes(target, options))
    // Made with the first backend that needs it.
    let pseudonym: string | undefined
    return {
      open: (target, options) =>
        Effect.map(
          bothWays(options, isSecured(target, options), (one) => open(target, one)),
          ([connections, tunnelled]) => ({
            send: (request) =>
              request.method === "CONNECT"
                ? connect(streamsTo(target, options), request)
                : call(passesOn(options, request) ? connections : tunnelled, request)
          })
        ),
      openChosen: (options) =>
        Effect.map(bothWays(options, options.tls !== undefined, openChosen), ([at, tunnelled]) => {
          pseudonym ??= pseudonymOf(randomUUID().slice(0, 8))
          return {
            pseudonym,
            // When it is called, for its pool may be another one by then.
            at: (target) => ({
              send: (request) =>
                request.method === "CONNECT"
                  ? connect(streamsTo(target, options), request)
                  : call(passesOn(options, request) ? at(target) : tunnelled(target), request)
            })
          }
        }),
      openStreams: openBytes
    }
  })
).pipe(Layer.provide(Pools.layer))

/** Whether a proxy on the way passes it on: it speaks HTTP/1.1. */
const passesOn = ({ version }: UpstreamOptions, request: UpstreamRequest<unknown>): boolean =>
  request.upgrade === undefined && (version ?? request.version) !== "2"

/** Whether it is spoken to in TLS: then a tunnel leads there in any case. */
const isSecured = (target: Address, { tls }: UpstreamOptions): boolean =>
  tls !== undefined || (target.kind === "tcp" && target.tls)

/** A proxy passes on what is HTTP, and what leaves HTTP goes through a tunnel, where they are not the same anyway. */
const bothWays = <A, R>(
  { tunnel, ...options }: UpstreamOptions,
  isSecured: boolean,
  opened: (options: UpstreamOptions) => Effect.Effect<A, never, R>
): Effect.Effect<readonly [http: A, other: A], never, R> =>
  Effect.flatMap(opened({ ...options, tunnel }), (http) =>
    tunnel?.mode === "auto" && !isSecured
      ? Effect.map(opened({ ...options, tunnel: { ...tunnel, mode: "connect" } }), (other) => [http, other] as const)
      : Effect.succeed([http, http] as const)
  )
