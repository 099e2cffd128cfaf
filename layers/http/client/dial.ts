/** Makes connections to a backend: within what time, to which of its addresses, whom they trust, and how their silence is probed. */
import { connect, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Address } from "../../../spec/target.ts"
import { familyOf } from "../../../src/http/ip.ts"
import { type Container, contained, ignore } from "../../../src/services/contained.ts"
import type { Families, Known, Names, NameUnresolved } from "../../../src/services/names.ts"
import type { Later } from "../../../src/services/timer.ts"
import type { Addresses, Version } from "../../../src/services/upstreams.ts"
import type { ConnectionSettings } from "../connection-settings.ts"
import { Connection, type Home } from "./connection.ts"
import { ConnectionClosed, ConnectTimedOut, NotHttp2 } from "./failures.ts"
import { Race } from "./race.ts"
import { protocolsOf } from "./tls.ts"
import { TlsSessions } from "./tls-sessions.ts"
import { tlsOfProxy, wayThrough } from "./way-through.ts"

/** What is offered to a backend that is asked which version it speaks, and spoken to others. */
export type Offered = Version | "either"

/** What becomes of a connection that stands. */
export interface Standing extends Container {
  readonly destroy: () => void
  /** Takes what was read, from memory that others read into next. Absent: whoever has the socket reads it. */
  readonly received?: (memory: Buffer, length: number) => void
}

/** A connection on which HTTP/2 is to be spoken, and that nobody has read from. */
export class Opened implements Standing {
  readonly socket: Socket
  /** Of the backend. */
  readonly address: string
  readonly #container: Container

  constructor(socket: Socket, address: string, container: Container) {
    this.socket = socket
    this.address = address
    this.#container = container
  }

  destroy(): void {
    this.socket.destroy()
  }

  contain(cause: unknown): void {
    this.destroy()
    this.#container.contain(cause)
  }
}

/** Makes one, and tells how it went, never before it returns. @param home of those that speak HTTP/1.1. */
export type Dial = (home: Home & Container, offered: Offered, done: (made: Connection | Opened | Error) => void) => void

/**
 * Makes a connection of any kind. `make` is called when it stands, and `done` once, never before this returns. Returns how to give it
 * up.
 * @param offered the version that is to be spoken, or what else the protocols that are offered by TLS are for.
 */
export type DialSocket = <M extends Standing>(
  container: Container,
  offered: Offered | "bytes",
  make: (socket: Socket, address: string, version: Version) => M,
  done: (made: M | Error) => void
) => () => void

/** All connections read into the same memory, one after the other: what is read is copied before the next read. */
const shared = Buffer.allocUnsafeSlow(65_536)

interface Reading {
  readonly buffer: Buffer
  readonly callback: (length: number) => boolean
}

/** A connection that is being made. */
interface Opening {
  readonly socket: Socket
  /** Called when it stands, and with TLS when the handshake is over. */
  readonly verified: () => void
}

/** How connections to one backend are made. */
export interface Dialler {
  readonly dial: Dial
  /** The same for what is not HTTP. */
  readonly dialSocket: DialSocket
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

/**
 * @param later for time limits.
 * @param wall the time by which certificates expire.
 */
export const dialTo = (
  target: Address,
  settings: ConnectionSettings,
  later: Later,
  wall: () => number,
  names: Names["Service"]
): Dialler => {
  const { connectTimeout, tunnel } = settings
  const probes = tunnel?.probes ?? settings.probes
  const { wanted, preferred } = families[settings.addresses]
  /** Whom the connection is made to. */
  const peer = tunnel?.proxy ?? target
  const tls = tunnel === undefined ? settings.tls : tlsOfProxy(tunnel)
  const through = tunnel && wayThrough(target, tunnel, settings.tls, wall)
  const host = peer.kind === "unix" ? peer.path : bare(peer.host)
  const secured = tls && new TlsSessions(peer.kind === "unix" ? undefined : host, tls, wall)
  /** The one address of a target that has no name; of which family it is makes no difference. */
  const own = peer.kind === "unix" || familyOf(host) !== 0 ? { v4: [host], v6: [] } : undefined

  const open = (
    address: string,
    offered: Offered | "bytes",
    onread: Reading | undefined,
    container: Container
  ): Opening => {
    const place = peer.kind === "unix" ? { path: address } : { host: address, port: peer.port }
    const common = { ...place, noDelay: true, allowHalfOpen: true, ...(onread === undefined ? {} : { onread }) }
    if (secured === undefined) return { socket: connect(common), verified: ignore }
    return secured.connect(common, tunnel === undefined ? offered : "1.1", container)
  }

  const dialSocket: DialSocket = <M extends Standing>(
    home: Container,
    offered: Offered | "bytes",
    make: (socket: Socket, address: string, version: Version) => M,
    done: (made: M | Error) => void
  ) => {
    /** The attempt for which the others were given up. */
    let winner: Socket | undefined
    let forget = ignore
    let over = false
    const settle = (isMade: boolean): boolean => {
      if (over) return false
      over = true
      callOff()
      stopWaiting()
      forget()
      if (isMade) return true
      race.stop()
      winner?.destroy()
      return true
    }
    const failedWith = (error: Error) => {
      if (settle(false)) done(error)
    }
    // What the proxy says of a tunnel is read by itself, and sessions of HTTP/2 read by themselves.
    const isReadForIt = through === undefined && offered === "1.1"
    const asksFor2 =
      offered === "2" && settings.tls !== undefined && protocolsOf(settings.tls.alpn, offered).includes("h2")
    const container: Container = {
      contain: (cause) => {
        home.contain(cause)
        failedWith(errorOf(cause))
      }
    }
    const late = contained(container, () => failedWith(race.failure ?? new ConnectTimedOut()))
    const callOff = later(connectTimeout, late)
    const proxyTime = tunnel?.connectTimeout
    const stopWaiting = proxyTime === undefined || proxyTime >= connectTimeout ? ignore : later(proxyTime, late)

    const attempt = (address: string): (() => void) => {
      let opening: Opening
      let socket: Socket | undefined
      let connection: M | undefined
      const failed = contained(container, (error: Error) => {
        if (winner !== undefined && winner === socket) failedWith(error)
        else race.failed(address, error)
      })
      try {
        const onread: Reading = {
          buffer: shared,
          callback: (length) => {
            // Bytes that come before anybody asked are no answer.
            if (connection === undefined) socket?.destroy()
            else connection.received?.(shared, length)
            return true
          }
        }
        opening = open(address, offered, isReadForIt ? onread : undefined, container)
        socket = opening.socket
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
        opening.verified()
        stopWaiting()
        const stands = (way: Socket) => {
          opened.off("error", failed).off("close", closed)
          // What breaks there breaks here.
          if (way !== opened) opened.on("error", ignore)
          // Whoever is asked for it by name has to agree (RFC 9113 3.3).
          if (asksFor2 && protocolOf(way) !== "h2") {
            way.on("error", ignore).destroy()
            failedWith(new NotHttp2())
            return
          }
          const made = make(way, address, spoken(way, offered))
          connection = made
          if (!isReadForIt && made.received !== undefined)
            way
              .on(
                "data",
                contained(made, (bytes: Buffer) => made.received?.(bytes, bytes.length))
              )
              .resume()
          if (settle(true)) done(made)
          else made.destroy()
        }
        if (through === undefined) stands(opened)
        else through(opened, offered, container, failedWith, stands)
      })
      opened
        .on("error", failed)
        .on("close", closed)
        .once("connect", stands)
        .once(secured === undefined ? "connect" : "secureConnect", made)
      return () => opened.destroy()
    }

    const race = new Race({
      preferred,
      later: (milliseconds, action) => later(milliseconds, contained(container, action)),
      attempt,
      lost: failedWith
    })
    const hear = contained(container, (known: Known | NameUnresolved) => race.hear(known))
    const begin = contained(container, () => {
      if (over) return
      if (own === undefined) forget = names.ask(host, wanted, hear)
      else hear(own)
    })
    process.nextTick(begin)
    return () => void settle(false)
  }
  const dial: Dial = (home, offered, done) => {
    dialSocket<Connection | Opened>(
      home,
      offered,
      (socket, address, version) =>
        version === "2" ? new Opened(socket, address, home) : new Connection(home, socket, address),
      done
    )
  }

  return {
    dial,
    dialSocket,
    follow: own === undefined ? (changed) => names.follow(host, wanted, changed) : () => ignore
  }
}

/** What a peer chose by TLS. */
const protocolOf = (way: Socket): string | false | null | undefined =>
  way instanceof TLSSocket ? way.alpnProtocol : undefined

/** What is spoken over a connection that stands: where both are offered its peer has said so. */
const spoken = (way: Socket, offered: Offered | "bytes"): Version => {
  if (offered === "1.1" || offered === "2") return offered
  return protocolOf(way) === "h2" ? "2" : "1.1"
}

const errorOf = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

const bare = (host: string): string => (host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host)
