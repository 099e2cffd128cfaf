/** The port `Upstreams` over undici: one pool of HTTP/1.1 connections per backend, shared by all configurations that name it. */
import { isIP } from "node:net"
import { Effect, Layer, Redacted } from "effect"
import { buildConnector, Pool } from "undici"
import type { Address } from "../../spec/target.ts"
import {
  type Probes,
  type Upstream,
  type UpstreamOptions,
  Upstreams,
  type UpstreamTls
} from "../../src/services/upstreams.ts"
import { type Connections, call } from "./upstream-call.ts"

/** What holds where nobody says otherwise (milliseconds): the defaults of `config.backend`. */
const standard = {
  connectTimeout: 10_000,
  idleTimeout: 90_000,
  maxConnections: undefined,
  probes: { time: 180_000, interval: 180_000, retries: 9 }
} satisfies UpstreamOptions

/** The options of a backend, none left open. */
interface Settings {
  readonly tls: UpstreamTls | undefined
  readonly connectTimeout: number
  readonly idleTimeout: number
  readonly maxConnections: number | undefined
  readonly probes: Probes | "none"
}

const settle = (options: UpstreamOptions, defaults: UpstreamOptions): Settings => ({
  tls: options.tls,
  connectTimeout: options.connectTimeout ?? defaults.connectTimeout ?? standard.connectTimeout,
  idleTimeout: options.idleTimeout ?? defaults.idleTimeout ?? standard.idleTimeout,
  maxConnections: options.maxConnections ?? defaults.maxConnections,
  probes: options.probes ?? defaults.probes ?? standard.probes
})

/** The most bytes of a response's head, as for requests. */
const maxHeadBytes = 65_536

/** The connections to one backend, and how many configurations use them. */
class Backend implements Connections {
  readonly pool: Pool
  readonly connectTimeout: number
  readonly servername: string
  readonly upstream: Upstream
  fresh = false
  users = 0

  constructor(target: Address, { tls, connectTimeout, idleTimeout, maxConnections, probes }: Settings) {
    this.connectTimeout = connectTimeout
    this.servername = tls?.hostname ?? (target.kind === "tcp" ? target.host : "localhost")
    // An address is no name: nothing may be asked of the server, and its certificate must be for the address.
    const nameless = isIP(this.servername) !== 0
    const connect = buildConnector({
      ...trust(tls),
      timeout: connectTimeout,
      keepAlive: false,
      allowH2: false,
      socketPath: target.kind === "unix" ? target.path : null
    })
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
          if (probes !== "none") made[1]?.setKeepAlive(true, probes.time, probes.interval, probes.retries)
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

/** As options of a TLS connection. */
const trust = (tls: UpstreamTls | undefined) =>
  tls === undefined
    ? {}
    : {
        ...(tls.root === undefined ? {} : { ca: tls.root }),
        ...(tls.client === undefined ? {} : { cert: tls.client.certificate, key: Redacted.value(tls.client.key) }),
        ...(tls.verify === "nothing" ? { rejectUnauthorized: false } : {}),
        ...(tls.verify === "chain" ? { checkServerIdentity: () => undefined } : {})
      }

const originOf = (target: Address): string => {
  if (target.kind === "unix") return "http://localhost"
  const host = target.host.includes(":") && !target.host.startsWith("[") ? `[${target.host}]` : target.host
  return `${target.tls ? "https" : "http"}://${host}:${target.port}`
}

/** Makes the layer with a process's own defaults. */
export const layerWith = (defaults: UpstreamOptions): Layer.Layer<Upstreams> =>
  // Opens each backend once, and closes it, when its last user is gone, after what is in flight has ended.
  Layer.sync(Upstreams, () => {
    const backends = new Map<string, Backend>()
    return {
      open: (target, options) => {
        const settings = settle(options, defaults)
        // A private key is told apart by its certificate.
        const key = JSON.stringify([target, settings])
        return Effect.acquireRelease(
          Effect.sync(() => {
            let backend = backends.get(key)
            if (backend === undefined) {
              backend = new Backend(target, settings)
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

export const layer: Layer.Layer<Upstreams> = layerWith({})
