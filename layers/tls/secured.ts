/**
 * A connection whose handshake is over: by what it was admitted, and what is known of the client. What expressions read of
 * its certificate is made when the first of them reads it.
 */
import type { X509Certificate } from "node:crypto"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import type { Exchange } from "../../src/pipeline/exchange.ts"
import type { ClientCertificate, PeerTls } from "../../src/pipeline/view.ts"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { admits } from "./admission.ts"
import { describe } from "./client-certificate.ts"

export class Secured implements PeerTls {
  readonly transport: Socket
  /** The name that the client asked for. */
  readonly serverName: string | undefined
  /** What was agreed upon to be spoken (ALPN), if anything was. */
  readonly protocol: string | undefined
  /** The certificate that the client has presented. */
  readonly #certificate: X509Certificate | undefined
  /** Whether the runtime found that one of the listener's authorities stands for it. */
  readonly #isVerified: boolean
  /** What its client had to meet last. */
  #admittedBy: ListenerTls
  #described: ClientCertificate | undefined = undefined

  constructor(socket: TLSSocket, transport: Socket, tls: ListenerTls, serverName: string | undefined) {
    this.transport = transport
    this.serverName = serverName
    this.protocol = socket.alpnProtocol || undefined
    this.#admittedBy = tls
    this.#certificate = tls.clients === undefined ? undefined : socket.getPeerX509Certificate()
    this.#isVerified = socket.authorized
  }

  /** Whether the handshake lets the client in. @param now milliseconds since 1970. */
  isAdmitted(now: number): boolean {
    const { clients } = this.#admittedBy
    if (clients === undefined) return true
    if (this.#certificate === undefined) return clients.mode === "optional"
    // A session that is resumed was verified once; the certificate may have expired since.
    return this.#isVerified && now < this.#certificate.validToDate.getTime()
  }

  /** Whether it would be let in by what is asked of clients now. */
  isAdmittedBy(tls: ListenerTls, now: number): boolean {
    const { clients } = this.#admittedBy
    if (clients?.mode !== tls.clients?.mode || clients?.roots !== tls.clients?.roots) {
      if (!admits(tls, this.#certificate, now)) return false
    }
    this.#admittedBy = tls
    return true
  }

  /** Says in the log who sends the request. */
  identify(exchange: Exchange): void {
    const { clientCertificate } = this
    const identity = clientCertificate?.spiffeId ?? clientCertificate?.subject
    if (identity !== undefined) exchange.fact("src.identity", identity)
    if (this.serverName !== undefined) exchange.fact("tls.sni", this.serverName)
  }

  get clientCertificate(): ClientCertificate | undefined {
    if (this.#certificate === undefined) return undefined
    this.#described ??= describe(this.#certificate)
    return this.#described
  }
}
