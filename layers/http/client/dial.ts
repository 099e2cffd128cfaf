/** Makes connections to a backend: within what time, to which of its addresses, whom they trust, and how their silence is probed. */
import { connect, type Socket } from "node:net"
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type PeerCertificate,
  type SecureContext
} from "node:tls"
import type { Address } from "../../../spec/target.ts"
import { familyOf } from "../../../src/http/ip.ts"
import { type Container, contained, ignore } from "../../../src/services/contained.ts"
import type { Families, Known, Names, NameUnresolved } from "../../../src/services/names.ts"
import type { Later } from "../../../src/services/timer.ts"
import type { Addresses, UpstreamTls, UpstreamTunnel } from "../../../src/services/upstreams.ts"
import { type ConnectionSettings, trust } from "../connection-settings.ts"
import { Connection, type Home } from "./connection.ts"
import { ConnectionClosed, ConnectTimedOut, TunnelPointless } from "./failures.ts"
import { askForTunnel, isTunnelled } from "./proxy.ts"
import { Race } from "./race.ts"

/** Makes one, and tells how it went, never before it returns. */
export type Dial = (home: Home & Container, done: (made: Connection | Error) => void) => void

/** All connections read into the same memory, one after the other: what is read is copied before the next read. */
const shared = Buffer.allocUnsafeSlow(65_536)

interface Reading {
  readonly buffer: Buffer
  readonly callback: (length: number) => boolean
}

/** How connections to one backend are made. */
export interface Dialler {
  readonly dial: Dial
  /** Tells all addresses of the backend, each time that they are others. Returns how to stop. */
  readonly follow: (changed: (addresses: ReadonlySet<string>) => void) => () => void
}

/** Which families are asked for, and which of them comes first. */
const families = {
  all: { wanted: "both", preferred: "v6" },
  "v4 first": { wanted: "both", preferred: "v4" },
  v4: { wanted: "v4", preferred: "v4" },
  v6: { wanted: "v6", preferred: "v6" }
} as const satisfies Readonly<Record<Addresses, { readonly wanted: Families; readonly preferred: "v4" | "v6" }>>

/** @param later for time limits. */
export const dialTo = (
  target: Address,
  settings: ConnectionSettings,
  later: Later,
  names: Names["Service"]
): Dialler => {
  const { connectTimeout, tunnel } = settings
  const probes = tunnel?.probes ?? settings.probes
  const { wanted, preferred } = families[settings.addresses]
  /** Whom the connection is made to. */
  const peer = tunnel?.proxy ?? target
  const through = tunnel && wayThrough(target, tunnel, settings.tls)
  const host = hostOf(peer)
  const tls = tunnel === undefined ? settings.tls : tlsOfProxy(tunnel)
  const secured = tls && tlsOptions(peer.kind === "unix" ? undefined : host, tls)
  /** The one address of a target that has no name; of which family it is makes no difference. */
  const own = peer.kind === "unix" || familyOf(host) !== 0 ? { v4: [host], v6: [] } : undefined
  let context: SecureContext | undefined
  /** Whom all connections of one dialler reach, and as whom, is the same: they may resume each other's sessions. */
  let session: Buffer | undefined

  const open = (address: string, onread: Reading): Socket => {
    const place = peer.kind === "unix" ? { path: address } : { host: address, port: peer.port }
    // What the proxy says of a tunnel is read by itself.
    const common = { ...place, noDelay: true, allowHalfOpen: true, ...(through === undefined ? { onread } : {}) }
    if (secured === undefined) return connect(common)
    // Made once: the authorities of a system are hundreds.
    context ??= createSecureContext(secured.identity)
    const options = {
      ...common,
      ...secured.options,
      secureContext: context,
      ...(session === undefined ? {} : { session })
    }
    return connectTls(options)
  }

  const dial: Dial = (home, done) => {
    /** The attempt for which the others were given up. */
    let winner: Socket | undefined
    let forget = ignore
    let over = false
    const conclude = (made: Connection | Error) => {
      if (over) return
      over = true
      callOff()
      stopWaiting()
      forget()
      if (made instanceof Error) {
        race.stop()
        winner?.destroy()
      }
      done(made)
    }
    const container: Container = {
      contain: (cause) => {
        home.contain(cause)
        conclude(errorOf(cause))
      }
    }
    const late = contained(container, () => conclude(race.failure ?? new ConnectTimedOut()))
    const callOff = later(connectTimeout, late)
    const proxyTime = tunnel?.connectTimeout
    const stopWaiting = proxyTime === undefined || proxyTime >= connectTimeout ? ignore : later(proxyTime, late)

    const attempt = (address: string): (() => void) => {
      let socket: Socket | undefined
      let connection: Connection | undefined
      /** A session is worth nothing until its server has been verified. */
      let offered: Buffer | undefined
      const failed = contained(container, (error: Error) => {
        if (winner !== undefined && winner === socket) conclude(error)
        else race.failed(address, error)
      })
      try {
        socket = open(address, {
          buffer: shared,
          callback: (length) => {
            // Bytes that come before anybody asked are no answer.
            if (connection === undefined) socket?.destroy()
            else connection.received(shared, length)
            return true
          }
        })
      } catch (cause) {
        process.nextTick(failed, errorOf(cause))
        return ignore
      }
      const opened = socket
      const closed = contained(container, () => failed(new ConnectionClosed()))
      const stands = contained(container, () => {
        if (race.connected(address)) winner = opened
        else opened.destroy()
      })
      const made = contained(container, () => {
        if (over || winner !== opened) return
        if (probes !== "none") opened.setKeepAlive(true, probes.time, probes.interval, probes.retries)
        if (offered !== undefined) session = offered
        stopWaiting()
        if (through === undefined) {
          opened.off("error", failed).off("close", closed)
          connection = new Connection(home, opened, address)
          conclude(connection)
          return
        }
        through(opened, container, conclude, (way) => {
          opened.off("error", failed).off("close", closed)
          if (way !== opened) opened.on("error", ignore)
          const connection = new Connection(home, way, address)
          if (over) way.destroy()
          else conclude(connection)
          return connection
        })
      })
      opened
        .on("error", failed)
        .on("close", closed)
        .once("connect", stands)
        .once(secured === undefined ? "connect" : "secureConnect", made)
      if (secured !== undefined) {
        const ticketed = contained(container, (ticket: Buffer) => {
          if (connection === undefined) offered = ticket
          else session = ticket
        })
        opened.on("session", ticketed)
      }
      return () => opened.destroy()
    }

    const race = new Race({
      preferred,
      later: (milliseconds, action) => later(milliseconds, contained(container, action)),
      attempt,
      lost: conclude
    })
    const hear = contained(container, (known: Known | NameUnresolved) => race.hear(known))
    const begin = contained(container, () => {
      if (over) return
      if (own === undefined) forget = names.ask(host, wanted, hear)
      else hear(own)
    })
    process.nextTick(begin)
  }

  return { dial, follow: own === undefined ? (changed) => names.follow(host, wanted, changed) : () => ignore }
}

/** What leads from a connection to the proxy to one to the backend. */
type WayThrough = (
  proxy: Socket,
  container: Container,
  failed: (error: Error) => void,
  stands: (way: Socket) => Connection
) => void

/** `undefined` where the proxy itself is asked. */
const wayThrough = (
  target: Address,
  tunnel: UpstreamTunnel,
  tls: ConnectionSettings["tls"]
): WayThrough | undefined => {
  if (target.kind === "unix") return (_, __, failed) => failed(new TunnelPointless())
  if (!isTunnelled(target, tunnel, tls)) return undefined
  const secured = tls && tlsOptions(bare(target.host), tls)
  let context: SecureContext | undefined
  return (proxy, container, failed, stands) => {
    const opened = () => {
      if (secured === undefined) {
        const connection = stands(proxy)
        proxy
          .on(
            "data",
            contained(connection, (bytes: Buffer) => connection.received(bytes, bytes.length))
          )
          .resume()
        return
      }
      context ??= createSecureContext(secured.identity)
      let connection: Connection | undefined
      const onread: Reading = {
        buffer: shared,
        callback: (length) => {
          if (connection === undefined) way.destroy()
          else connection.received(shared, length)
          return true
        }
      }
      const options = { socket: proxy, ...secured.options, secureContext: context, onread }
      const way = connectTls(options)
      const broken = contained(container, failed)
      const closed = contained(container, () => failed(new ConnectionClosed()))
      const secure = contained(container, () => {
        way.off("error", broken).off("close", closed)
        connection = stands(way)
      })
      way.on("error", broken).on("close", closed).once("secureConnect", secure)
    }
    askForTunnel(proxy, target, tunnel, container, (failure) => {
      if (failure === undefined) opened()
      else failed(failure)
    })
  }
}

/** Towards the proxy. Whoever wants TLS there says so. */
const tlsOfProxy = ({ proxy, tls }: UpstreamTunnel): ConnectionSettings["tls"] =>
  tls ?? (proxy.kind === "tcp" && proxy.tls ? { verify: "everything" } : undefined)

const hostOf = (address: Address): string => (address.kind === "unix" ? address.path : bare(address.host))

/** @param host of the backend, where it has one. */
const tlsOptions = (host: string | undefined, tls: UpstreamTls) => {
  const { rejectUnauthorized = true, checkServerIdentity: own, ...identity } = trust(tls)
  const name = tls.hostname ?? host ?? ""
  return {
    identity,
    options: {
      // An address is no name: nothing may be asked of the server, and its certificate must be for the address.
      servername: familyOf(name) === 0 ? name : "",
      checkServerIdentity: own ?? ((_: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate)),
      rejectUnauthorized,
      ALPNProtocols: ["http/1.1"]
    } satisfies ConnectionOptions
  }
}

const errorOf = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

const bare = (host: string): string => (host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host)
