/**
 * What a port with TLS does for whoever connects to it: which certificate is shown for a server name, and what is asked of
 * the client. It is asked for each connection, so that certificates and configurations may be replaced meanwhile.
 */
import type { Redacted } from "effect"

export type TlsVersion = "TLSv1.2" | "TLSv1.3"

/** TLS towards the clients of one listener. Texts are PEM. An object that nothing changes: others follow it. */
export interface ListenerTls {
  /** The key of the listener. */
  readonly listener: string
  /** The chain that is shown, that of the server first; or the authority that issues one for each server name. */
  readonly certificate: string
  readonly key: Redacted.Redacted<string>
  readonly mode: "static" | "dynamicCa"
  /** What is asked of clients; `undefined`: nothing. */
  readonly clients: { readonly mode: "required" | "optional"; readonly roots: string } | undefined
  readonly versions: readonly [lowest: TlsVersion, highest: TlsVersion]
  /** Cipher suites by the names of OpenSSL, best first. */
  readonly ciphers: ReadonlyArray<string>
  /** Groups of key exchanges by the names of OpenSSL, best first; `undefined`: those of the runtime. */
  readonly groups: ReadonlyArray<string> | undefined
  /** Protocols, best first. */
  readonly alpn: ReadonlyArray<string>
}

/** What a port with TLS says of a connection that comes. */
export interface PortTls {
  /** Milliseconds from the first byte on. */
  readonly handshakeTimeout: number
  /**
   * `undefined`: nobody is served under that name. A client may name no server. `passed through`: what it says is for somebody
   * behind the proxy.
   */
  readonly forServerName: (name: string | undefined) => ListenerTls | "passed through" | undefined
}
