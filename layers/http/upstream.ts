/** The port `Upstreams` over undici: one pool of HTTP/1.1 connections per backend, shared by all configurations that name it. */
import { isIP } from "node:net"
import { Effect, Layer } from "effect"
import { Pool } from "undici"
import type { Address } from "../../spec/target.ts"
import { Defects, type TellDefect } from "../../src/services/defects.ts"
import { type Upstream, Upstreams } from "../../src/services/upstreams.ts"
import { type ConnectionSettings, connectorOf, settle } from "./connector.ts"
import { type Connections, call } from "./upstream-call.ts"

/** The most bytes of a response's head, as for requests. */
const maxHeadBytes = 65_536

/** The connections to one backend, and how many configurations use them. */
class Backend implements Connections {
  readonly tell: TellDefect
  readonly pool: Pool
  readonly connectTimeout: number
  readonly servername: string
  readonly upstream: Upstream
  fresh = false
  users = 0

  constructor(target: Address, settings: ConnectionSettings, tell: TellDefect) {
    this.tell = tell
    const { tls, connectTimeout, idleTimeout, maxConnections } = settings
    this.connectTimeout = connectTimeout
    this.servername = tls?.hostname ?? (target.kind === "tcp" ? target.host : "localhost")
    // An address is no name: nothing may be asked of the server, and its certificate must be for the address.
    const nameless = isIP(this.servername) !== 0
    const connect = connectorOf(settings, target.kind === "unix" ? target.path : null)
    this.pool = new Pool(originOf(target), {
      connections: maxConnections ?? null,
      pipelining: 1,
      allowH2: false,
      // A stream may be quiet for as long as it likes; a call has a timeout of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleTimeout,
      keepAliveMaxTimeout: idleTimeout,
      maxHeaderSize: maxHeadBytes,
      connect: (at, done) =>
        connect(nameless ? { ...at, servername: "" } : at, (...made) => {
          // Within this call the first request goes out: only later ones can meet a connection that is closing.
          this.fresh = true
          try {
            done(...made)
          } finally {
            this.fresh = false
          }
        })
    })
    this.upstream = { send: (request) => call(this, request) }
  }
}

const originOf = (target: Address): string => {
  if (target.kind === "unix") return "http://localhost"
  const host = target.host.includes(":") && !target.host.startsWith("[") ? `[${target.host}]` : target.host
  return `${target.tls ? "https" : "http"}://${host}:${target.port}`
}

/** Opens each backend once, and closes it, when its last user is gone, after what is in flight has ended. */
export const layer: Layer.Layer<Upstreams> = Layer.effect(
  Upstreams,
  Effect.map(Defects, (tell) => {
    const backends = new Map<string, Backend>()
    return {
      open: (target, options) => {
        const settings = settle(options)
        // A private key is told apart by its certificate.
        const key = JSON.stringify([target, settings])
        return Effect.acquireRelease(
          Effect.sync(() => {
            let backend = backends.get(key)
            if (backend === undefined) {
              backend = new Backend(target, settings, tell)
              backends.set(key, backend)
            }
            backend.users++
            return backend
          }),
          (backend) =>
            Effect.sync(() => {
              if (--backend.users > 0) return
              backends.delete(key)
              // Not awaited: a stream may go on for long after its configuration is gone.
              void backend.pool.close()
            })
        ).pipe(Effect.map((backend) => backend.upstream))
      }
    }
  })
)
