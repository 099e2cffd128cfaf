/**
 * Whether a client that is connected would be let in by other roots. The handshake has verified its certificate by those of
 * then, and the runtime verifies outside of handshakes nothing, so the chain is followed here: signatures, times, and that
 * whoever signs may.
 */
import { X509Certificate } from "node:crypto"
import type { ListenerTls } from "../../src/services/listener-tls.ts"

/** More links than any chain has. */
const longestChain = 10

export const admits = ({ clients }: ListenerTls, certificate: X509Certificate | undefined, now: number): boolean => {
  if (clients === undefined) return true
  if (certificate === undefined) return clients.mode === "optional"
  const roots = rootsOf(clients)
  const isTrusted = (each: X509Certificate): boolean =>
    roots.some(
      (root) => root.fingerprint256 === each.fingerprint256 || (isCurrent(root, now) && isSignedBy(each, root))
    )
  let each: X509Certificate | undefined = certificate
  for (let links = 0; each !== undefined && links < longestChain && isCurrent(each, now); links++) {
    if (isTrusted(each)) return true
    const issuer: X509Certificate | undefined = each.issuerCertificate
    if (issuer === undefined || issuer.fingerprint256 === each.fingerprint256 || !isSignedBy(each, issuer)) return false
    each = issuer
  }
  return false
}

const isCurrent = ({ validFromDate, validToDate }: X509Certificate, now: number): boolean =>
  validFromDate.getTime() <= now && now < validToDate.getTime()

const isSignedBy = (each: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && each.checkIssued(issuer) && each.verify(issuer.publicKey)

const parsed = new WeakMap<object, ReadonlyArray<X509Certificate>>()

const rootsOf = (clients: NonNullable<ListenerTls["clients"]>): ReadonlyArray<X509Certificate> => {
  let roots = parsed.get(clients)
  if (roots === undefined) {
    const blocks = clients.roots.match(/-----BEGIN [^-]*CERTIFICATE-----[^-]+-----END [^-]*CERTIFICATE-----/g) ?? []
    roots = blocks.map((pem) => new X509Certificate(pem))
    parsed.set(clients, roots)
  }
  return roots
}
