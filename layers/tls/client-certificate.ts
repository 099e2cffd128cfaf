/** What a client certificate says of its bearer, in the form in which expressions read it. */
import type { X509Certificate } from "node:crypto"
import type { ClientCertificate } from "../../src/pipeline/view.ts"
import { alternativeNames, unquoted } from "./alternative-names.ts"

export const describe = (certificate: X509Certificate): ClientCertificate => {
  const all = alternativeNames(certificate.subjectAltName ?? "").map(parted)
  const names = all.filter(looksLikeItsKind)
  // An SVID has one URI; where there are several, none of them is the identity.
  const hasOneUri = all.filter(({ kind }) => kind === "URI").length === 1
  const spiffeId = hasOneUri ? names.find(isSpiffeId)?.name : undefined
  return {
    subject: oneLine(certificate.subject),
    subjectCn: commonName(certificate),
    issuer: oneLine(certificate.issuer),
    subjectAltNames: names.map(({ name }) => name),
    spiffeId,
    identity: spiffeId === undefined ? undefined : workloadOf(spiffeId),
    certificate: certificate.toString()
  }
}

/** The runtime writes a line for each part, with commas in it escaped. */
const oneLine = (name: string | undefined): string | undefined => name?.split("\n").join(", ")

/** The last one of the subject, which is the most specific. */
const commonName = (certificate: X509Certificate): string | undefined => {
  const { CN } = certificate.toLegacyObject().subject as { readonly CN?: string | ReadonlyArray<string> }
  return typeof CN === "string" ? CN : CN?.at(-1)
}

const kinds: ReadonlyMap<string, RegExp> = new Map([
  ["DNS", /^[\w*.-]+$/],
  ["IP Address", /^[\da-fA-F.:]+$/],
  ["URI", /^[a-zA-Z][\w+.-]*:\S+$/],
  ["email", /^\S+@[\w.-]+$/]
])

/** An alternative name as it stands in a certificate; without a name where that cannot be read. */
interface Named {
  readonly kind: string
  readonly name: string | undefined
}

const parted = (each: string): Named => {
  const colon = each.indexOf(":")
  return { kind: each.slice(0, colon), name: unquoted(each.slice(colon + 1)) }
}

/** Names are shown without their kinds; one that does not look like its kind could pass for one of another. */
const looksLikeItsKind = (each: Named): each is Named & { readonly name: string } =>
  each.name !== undefined && kinds.get(each.kind)?.test(each.name) === true

const isSpiffeId = ({ kind, name }: Named): boolean => kind === "URI" && name?.startsWith("spiffe://") === true

/** `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`. */
const workloadOf = (spiffeId: string): ClientCertificate["identity"] => {
  const [, trustDomain, namespace, serviceAccount] =
    /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(spiffeId) ?? []
  return trustDomain === undefined || namespace === undefined || serviceAccount === undefined
    ? undefined
    : { trustDomain, namespace, serviceAccount }
}
