/** Makes connections to a backend: within what time, to which of its addresses, whom they trust, and how their silence is probed. */
import { connect, isIP, type Socket } from "node:net"
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type PeerCertificate,
  type SecureContext
} from "node:tls"
import type { Address } from "../../../spec/target.ts"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { Later } from "../../../src/services/timer.ts"
import { type ConnectionSettings, lookupOf, trust } from "../connection-settings.ts"
import { Connection, type Home } from "./connection.ts"
import { ConnectionClosed, ConnectTimedOut } from "./failures.ts"

/** Makes one, and tells how it went, never before it returns. */
export type Dial = (home: Home & Container, done: (made: Connection | Error) => void) => void

/** All connections read into the same memory, one after the other: what is read is copied before the next read. */
const shared = Buffer.allocUnsafeSlow(65_536)

interface Reading {
  readonly buffer: Buffer
  readonly callback: (length: number) => boolean
}

/** @param later for time limits. */
export const dialTo = (target: Address, settings: ConnectionSettings, later: Later): Dial => {
  const { tls, connectTimeout, probes, addresses } = settings
  const common = { noDelay: true, allowHalfOpen: true }
  const place =
    target.kind === "unix"
      ? { ...common, path: target.path }
      : { ...common, host: bare(target.host), port: target.port, lookup: lookupOf(addresses) }
  const secured = target.kind === "tcp" && target.tls ? tlsOptions(bare(target.host), tls) : undefined
  let context: SecureContext | undefined
  /** Whom all connections of one dialler reach, and as whom, is the same: they may resume each other's sessions. */
  let session: Buffer | undefined

  const open = (onread: Reading): Socket => {
    if (secured === undefined) return connect({ ...place, onread })
    // Made once: the authorities of a system are hundreds.
    context ??= createSecureContext(secured.identity)
    const options = {
      ...place,
      ...secured.options,
      onread,
      secureContext: context,
      ...(session === undefined ? {} : { session })
    }
    return connectTls(options)
  }

  return (home, done) => {
    let socket: Socket | undefined
    let connection: Connection | undefined
    let over = false
    const conclude = (made: Connection | Error) => {
      if (over) return
      over = true
      callOff()
      done(made)
    }
    const container: Container = {
      contain: (cause) => {
        home.contain(cause)
        socket?.destroy()
        conclude(errorOf(cause))
      }
    }
    const late = contained(container, () => {
      socket?.destroy()
      conclude(new ConnectTimedOut())
    })
    const callOff = later(connectTimeout, late)
    const failed = contained(container, (error: Error) => conclude(error))
    try {
      socket = open({
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
      return
    }
    const opened = socket
    const closed = contained(container, () => conclude(new ConnectionClosed()))
    /** A session is worth nothing until its server has been verified. */
    let offered: Buffer | undefined
    const made = contained(container, () => {
      if (over) return
      opened.off("error", failed).off("close", closed)
      if (probes !== "none") opened.setKeepAlive(true, probes.time, probes.interval, probes.retries)
      if (offered !== undefined) session = offered
      connection = new Connection(home, opened)
      conclude(connection)
    })
    opened
      .on("error", failed)
      .on("close", closed)
      .once(secured === undefined ? "connect" : "secureConnect", made)
    if (secured === undefined) return
    const ticketed = contained(container, (ticket: Buffer) => {
      if (connection === undefined) offered = ticket
      else session = ticket
    })
    opened.on("session", ticketed)
  }
}

/** @param host of the backend. */
const tlsOptions = (host: string, tls: ConnectionSettings["tls"]) => {
  const { rejectUnauthorized = true, checkServerIdentity: own, ...identity } = trust(tls)
  const name = tls?.hostname ?? host
  return {
    identity,
    options: {
      // An address is no name: nothing may be asked of the server, and its certificate must be for the address.
      servername: isIP(name) === 0 ? name : "",
      checkServerIdentity: own ?? ((_: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate)),
      rejectUnauthorized,
      ALPNProtocols: ["http/1.1"]
    } satisfies ConnectionOptions
  }
}

const errorOf = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

const bare = (host: string): string => (host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host)
