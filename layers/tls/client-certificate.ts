/** What a client certificate says of its bearer, in the form in which expressions read it. */
import type { X509Certificate } from "node:crypto"
import type { ClientCertificate } from "../../src/pipeline/view.ts"
import { alternativeNames, unquoted } from "./alternative-names.ts"

export const describe = (certificate: X509Certificate): ClientCertificate => {
  const names = namesOf(certificate.subjectAltName ?? "")
  const uris = names.flatMap(({ kind, name }) => (kind === "URI" ? [name] : []))
  // An SVID has one URI; where there are several, none of them is the identity.
  const spiffeId = uris.length === 1 && uris[0]!.startsWith("spiffe://") ? uris[0] : undefined
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

/** Names without what kind they are; one that does not look like its kind could pass for one of another. */
const namesOf = (text: string) =>
  alternativeNames(text).flatMap((each) => {
    const colon = each.indexOf(":")
    const kind = each.slice(0, colon)
    const name = unquoted(each.slice(colon + 1))
    return name !== undefined && kinds.get(kind)?.test(name) === true ? [{ kind, name }] : []
  })

/** `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`. */
const workloadOf = (spiffeId: string): ClientCertificate["identity"] => {
  const [, trustDomain, namespace, serviceAccount] =
    /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(spiffeId) ?? []
  return trustDomain === undefined || namespace === undefined || serviceAccount === undefined
    ? undefined
    : { trustDomain, namespace, serviceAccount }
}
