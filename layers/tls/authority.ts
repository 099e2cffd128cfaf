/**
 * A listener that has the certificate of an authority issues one for each name that clients ask for: for a few days, with a
 * key of this process that is never written anywhere.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import { Redacted } from "effect"
import type { ListenerTls } from "../../src/services/listener-tls.ts"
import { type Element, element, elements, integer, oid, placed, placedBytes, sequence, tag } from "./der.ts"

export interface Issued {
  /** With the chain of the authority. */
  readonly cert: string
  readonly key: string
  /** Milliseconds since 1970: when another one is due. */
  readonly until: number
}

export interface Authority {
  /** @param now milliseconds since 1970. */
  readonly issue: (name: string, now: number) => Issued
}

const authorities = new WeakMap<ListenerTls, Authority>()

/** That of a listener whose certificate is one. */
export const authorityOf = (tls: ListenerTls): Authority => {
  let authority = authorities.get(tls)
  if (authority === undefined) {
    authority = makeAuthority(tls.certificate, createPrivateKey(Redacted.value(tls.key)))
    authorities.set(tls, authority)
  }
  return authority
}

const hour = 3_600_000
const lifetime = 7 * 24 * hour

const makeAuthority = (chain: string, secret: KeyObject): Authority => {
  const own = new X509Certificate(chain)
  const { subject, keyIdentifier } = partsOf(own.raw)
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const spki = publicKey.export({ type: "spki", format: "der" })
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const { algorithm, digest } = signatureOf(secret)
  return {
    issue: (name, now) => {
      // The clocks of clients may be behind.
      const from = Math.max(now - hour, own.validFromDate.getTime())
      const to = Math.min(now + lifetime, own.validToDate.getTime())
      const toBeSigned = sequence(
        element(placed(0), integer(Buffer.from([2]))),
        integer(randomBytes(16)),
        algorithm,
        subject,
        sequence(time(from), time(to)),
        commonName(name),
        spki,
        element(placed(3), extensions(name, keyIdentifier))
      )
      const signature = element(tag.bits, Buffer.from([0]), sign(digest, toBeSigned, secret))
      const base64 = sequence(toBeSigned, algorithm, signature)
        .toString("base64")
        .replace(/.{1,64}/g, "$&\n")
      const cert = `-----BEGIN CERTIFICATE-----\n${base64}-----END CERTIFICATE-----\n${chain}`
      return { cert, key, until: Math.max(now + hour, now + (to - now) / 2) }
    }
  }
}

/** Of a certificate: the name of its subject, and the identifier of its key, if it has one. */
const partsOf = (certificate: Buffer): { readonly subject: Buffer; readonly keyIdentifier: Buffer | undefined } => {
  const [whole] = elements(certificate)
  const [toBeSigned] = elements(whole!.content)
  const parts = elements(toBeSigned!.content)
  // Version, serial number, algorithm, issuer, times, subject; those of version 1 do not say their version.
  const first = parts[0]!.tag === placed(0) ? 1 : 0
  const extensions = parts.find((part) => part.tag === placed(3))
  const [list] = extensions === undefined ? [] : elements(extensions.content)
  const found = list && elements(list.content).find(({ content }) => content.indexOf(keyIdentifierName) === 0)
  const value: Element | undefined = found && elements(found.content).at(-1)
  return { subject: parts[first + 4]!.whole, keyIdentifier: value && elements(value.content)[0]?.content }
}

const keyIdentifierName = oid("2.5.29.14")

const signatureOf = (secret: KeyObject): { readonly algorithm: Buffer; readonly digest: string | null } => {
  switch (secret.asymmetricKeyType) {
    case "rsa":
      return { algorithm: sequence(oid("1.2.840.113549.1.1.11"), Buffer.from([5, 0])), digest: "sha256" }
    case "ec":
      return { algorithm: sequence(oid("1.2.840.10045.4.3.2")), digest: "sha256" }
    default:
      return { algorithm: sequence(oid("1.3.101.112")), digest: null }
  }
}

/** To the second, as certificates have it from 2050 on and may have it before. */
const time = (milliseconds: number): Buffer => {
  const text = new Date(milliseconds).toISOString()
  return Number(text.slice(0, 4)) < 2050
    ? element(0x17, Buffer.from(`${text.slice(2, 19).replaceAll(/[-:T]/g, "")}Z`))
    : element(tag.generalizedTime, Buffer.from(`${text.slice(0, 19).replaceAll(/[-:T]/g, "")}Z`))
}

/** A name that is too long for it stands among the alternative names alone. */
const commonName = (name: string): Buffer =>
  name.length > 64
    ? sequence()
    : sequence(element(tag.set, sequence(oid("2.5.4.3"), element(tag.utf8, Buffer.from(name)))))

const critical = element(tag.boolean, Buffer.from([0xff]))

const extensions = (name: string, keyIdentifier: Buffer | undefined): Buffer => {
  const extension = (id: string, isCritical: boolean, value: Buffer) =>
    sequence(oid(id), isCritical ? critical : Buffer.alloc(0), element(tag.octets, value))
  return sequence(
    extension("2.5.29.19", true, sequence()),
    // Signatures alone.
    extension("2.5.29.15", true, element(tag.bits, Buffer.from([7, 0x80]))),
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.17", name.length > 64, sequence(alternativeName(name))),
    keyIdentifier === undefined
      ? Buffer.alloc(0)
      : extension("2.5.29.35", false, sequence(element(placedBytes(0), keyIdentifier)))
  )
}

const alternativeName = (name: string): Buffer => {
  switch (isIP(name)) {
    case 4:
      return element(placedBytes(7), Buffer.from(name.split(".").map(Number)))
    case 6:
      return element(placedBytes(7), bytesOf(name))
    default:
      return element(placedBytes(2), Buffer.from(name))
  }
}

/** The sixteen bytes of an address of IPv6, without its zone. */
const bytesOf = (address: string): Buffer => {
  const [head = "", tail] = address.split("%")[0]!.split("::")
  const groups = (text: string) => (text === "" ? [] : text.split(":")).flatMap(groupBytes)
  const [before, after] = [groups(head), groups(tail ?? "")]
  return Buffer.from([...before, ...new Array<number>(16 - before.length - after.length).fill(0), ...after])
}

const groupBytes = (group: string): ReadonlyArray<number> => {
  if (group.includes(".")) return group.split(".").map(Number)
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}
