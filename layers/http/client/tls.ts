/** TLS towards a server: what is asked for and shown, and whether the one who answers is the one that was meant. */
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  type SecureContext
} from "node:tls"
import { Redacted } from "effect"
import { opensslGroup } from "../../../spec/connection/crypto.ts"
import { familyOf } from "../../../src/http/ip.ts"
import type { UpstreamTls } from "../../../src/services/upstreams.ts"
import { alternativeNames, unquoted } from "../../tls/alternative-names.ts"
import type { Offered } from "./dial.ts"

export interface TlsClient {
  /** Made once, when it is first needed: the authorities of a system are hundreds. */
  readonly context: () => SecureContext
  readonly options: ConnectionOptions
  /** The protocols to offer, where any version of HTTP may be spoken, or one of them. */
  readonly offering: (offered: Offered | "bytes") => Pick<ConnectionOptions, "ALPNProtocols">
}

/** @param host of the server; a socket of this machine has none. */
export const tlsClient = (host: string | undefined, tls: UpstreamTls): TlsClient => {
  const { root, client, groups, alpn, verify } = tls
  const name = tls.hostname ?? host
  const stranger = verify === "everything" ? identified(name, tls.names) : () => undefined
  let context: SecureContext | undefined
  return {
    context: () => {
      context ??= createSecureContext({
        ...(root === undefined ? {} : { ca: root }),
        ...(client === undefined ? {} : { cert: client.certificate, key: Redacted.value(client.key) }),
        ...(groups === undefined ? {} : { ecdhCurve: groups.map(opensslGroup).join(":") })
      })
      return context
    },
    options: {
      // An address is no name: nothing may be asked of the server, and its certificate must be for the address.
      servername: name !== undefined && familyOf(name) === 0 ? name : "",
      checkServerIdentity: (_: string, certificate: PeerCertificate) => stranger(certificate),
      rejectUnauthorized: verify !== "nothing"
    },
    offering: (offered) => {
      const protocols = protocolsOf(alpn, offered)
      return protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }
    }
  }
}

const ofVersion = { "1.1": "http/1.1", "2": "h2" } as const

/**
 * What is offered: what was said, with the version that is spoken in place of the other one. Protocols that are none of HTTP are the
 * business of whoever wrote them.
 */
export const protocolsOf = (
  alpn: ReadonlyArray<string> | undefined,
  offered: Offered | "bytes"
): ReadonlyArray<string> => {
  if (offered === "either" || offered === "bytes") return alpn ?? []
  const own = ofVersion[offered]
  if (alpn === undefined) return [own]
  const other = ofVersion[offered === "2" ? "1.1" : "2"]
  return [...new Set(alpn.map((protocol) => (protocol === other ? own : protocol)))]
}

const identified =
  (name: string | undefined, names: ReadonlyArray<string> | undefined) =>
  (certificate: PeerCertificate): Error | undefined => {
    if (names !== undefined) return names.some((each) => bears(certificate, each)) ? undefined : otherName()
    return name === undefined ? otherName() : checkServerIdentity(name, certificate)
  }

const otherName = () =>
  Object.assign(new Error("the certificate bears none of the names that are asked for"), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID"
  })

/** Whether it is for that name among the alternative ones of its subject: a host, an address, or a URI. */
const bears = ({ subjectaltname = "" }: PeerCertificate, name: string): boolean => {
  const all = alternativeNames(subjectaltname)
  if (name.includes("://")) return all.some((each) => each.startsWith("URI:") && unquoted(each.slice(4)) === name)
  // As they stand: a name in quotes may hold what looks like another name. What the subject is called otherwise is none of them.
  const hosts = all.filter((each) => each.startsWith("DNS:") || each.startsWith("IP Address:")).join(", ")
  const alone = { subject: {}, subjectaltname: hosts } as unknown as PeerCertificate
  return hosts !== "" && checkServerIdentity(name, alone) === undefined
}
