/**
 * Which sessions of TLS may be resumed: a ticket holds where server name, listener, certificate, client roots and mode are
 * those of its first handshake, and nowhere else, because on resumption the runtime verifies nobody and asks no listener.
 */
import { createHash, hkdfSync, randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { ListenerTls } from "../../src/services/listener-tls.ts"

let secret: Buffer | undefined

/** Keys for tickets that another listener, another name or another configuration cannot read. */
export const ticketKeys = (tls: ListenerTls, serverName: string | undefined): Buffer => {
  secret ??= randomBytes(32)
  return Buffer.from(hkdfSync("sha256", secret, "", binding(tls, serverName), 48))
}

/** For sessions that a client brings by an id: the same. */
export const sessionContext = (tls: ListenerTls, serverName: string | undefined): string =>
  binding(tls, serverName).subarray(0, 16).toString("hex")

const binding = (tls: ListenerTls, serverName: string | undefined): Buffer => {
  const { key, ...rest } = tls
  return createHash("sha256")
    .update(JSON.stringify([rest, Redacted.value(key), serverName ?? null]))
    .digest()
}
