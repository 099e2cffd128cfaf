/**
 * The session of TLS that the next connection of a dialler may begin with. Whom all of its connections reach, by which way and as whom, is
 * the same: they may resume each other's sessions. The runtime verifies nobody then, and has no certificate any more.
 */
import { type ConnectionOptions, connect, type PeerCertificate, type TLSSocket } from "node:tls"
import { type Container, contained } from "../../../src/services/contained.ts"
import type { UpstreamTls } from "../../../src/services/upstreams.ts"
import { type TlsClient, tlsClient } from "./tls.ts"

/** What another handshake may begin with, and until when. */
interface Session {
  readonly ticket: Buffer
  readonly until: number
}

/** A connection whose handshake is under way. */
export interface Securing {
  readonly socket: TLSSocket
  /** The handshake is over, and the server is the one that was meant: a session is worth nothing until then. */
  readonly verified: () => void
}

export class TlsSessions {
  readonly #client: TlsClient
  readonly #tls: UpstreamTls
  readonly #wall: () => number
  #kept: Session | undefined

  /**
   * @param host of the server; a socket of this machine has none.
   * @param wall the time by which certificates expire.
   */
  constructor(host: string | undefined, tls: UpstreamTls, wall: () => number) {
    this.#client = tlsClient(host, tls)
    this.#tls = tls
    this.#wall = wall
  }

  /** @param way where the connection leads. */
  connect(way: ConnectionOptions, offered: Parameters<TlsClient["offering"]>[0], container: Container): Securing {
    if (this.#kept !== undefined && this.#wall() >= this.#kept.until) this.#kept = undefined
    const { context, options, offering } = this.#client
    const begun = this.#kept
    const session = begun === undefined ? {} : { session: begun.ticket }
    const socket = connect({ ...way, ...options, ...offering(offered), secureContext: context(), ...session })
    let isVerified = false
    let ticketed: Buffer | undefined
    /** When the certificate expires that was verified, at this handshake or when the session was made that it resumes. */
    let until = begun?.until ?? 0
    const hand = contained(container, (ticket: Buffer) => {
      if (isVerified) this.#kept = { ticket, until }
      else ticketed = ticket
    })
    socket.on("session", hand)
    return {
      socket,
      verified: () => {
        isVerified = true
        if (!socket.isSessionReused())
          until = this.#tls.verify === "nothing" ? Infinity : expiryOf(socket.getPeerCertificate())
        if (ticketed !== undefined) this.#kept = { ticket: ticketed, until }
      }
    }
  }
}

const expiryOf = ({ valid_to }: PeerCertificate): number => Date.parse(valid_to) || 0
