/** TLS towards a backend. */
import { Schema } from "effect"
import { defaulted, object, optional } from "../field.ts"
import { LongString, ShortString } from "../primitives.ts"
import { KeyExchangeGroup } from "./crypto.ts"

/** TLS towards a backend. An empty object turns it on with the trust of the system. */
export const BackendTls = object(
  "BackendTls",
  "TLS towards the backend. An empty object turns it on with the trust of the system. Files that are replaced hold for new connections, without a reload; where what is new cannot be used, what was there before stays.",
  {
    cert: optional(
      LongString,
      "Path of the client certificate chain, PEM, the certificate of the client first; watched."
    ),
    key: optional(LongString, "Path of the private key of the client certificate, PEM, without a passphrase; watched."),
    root: optional(LongString, "Path of the trusted authorities, PEM; watched. Those of the system when left out."),
    hostname: optional(ShortString, "Server name to ask for and to verify; the host of the backend when left out."),
    insecure: defaulted(Schema.Boolean, false, "Verify nothing."),
    insecureHost: defaulted(Schema.Boolean, false, "Verify the chain but not the name."),
    alpn: optional(
      Schema.Array(ShortString),
      "Protocols to offer; those of the version of HTTP that is spoken when left out."
    ),
    subjectAltNames: optional(
      Schema.Array(ShortString).check(Schema.isMinLength(1, { expected: "at least one name" })),
      "The certificate must carry one of these alternative names (hosts, IP addresses, URIs), in place of `hostname`, which is then asked for only."
    ),
    keyExchangeGroups: optional(
      Schema.Array(KeyExchangeGroup).check(Schema.isMinLength(1, { expected: "at least one group" })),
      "Key exchange groups to offer, best first; those of the runtime when left out."
    ),
    spiffe: optional(
      object("SpiffeBackendTls", "An empty object.", {}),
      "Present and verify identities of the Workload API of SPIFFE."
    )
  },
  {
    check: (tls) => ("cert" in tls !== "key" in tls ? "cert and key come together" : undefined),
    jsonSchema: { dependentRequired: { cert: ["key"], key: ["cert"] } }
  },
  {
    check: (tls) => {
      if (!("spiffe" in tls)) return undefined
      const other =
        ["cert", "key", "root", "keyExchangeGroups"].find((key) => key in tls) ??
        (["insecure", "insecureHost"] as const).find((key) => tls[key] === true)
      return other === undefined ? undefined : `spiffe excludes ${other}`
    },
    jsonSchema: {
      not: {
        required: ["spiffe"],
        anyOf: [
          ...["cert", "key", "root", "keyExchangeGroups"].map((key) => ({ required: [key] })),
          ...["insecure", "insecureHost"].map((key) => ({ required: [key], properties: { [key]: { const: true } } }))
        ]
      }
    }
  },
  {
    check: (tls) =>
      "subjectAltNames" in tls && (tls.insecure === true || tls.insecureHost === true)
        ? "subjectAltNames cannot be verified with insecure or insecureHost"
        : undefined,
    jsonSchema: {
      not: {
        required: ["subjectAltNames"],
        anyOf: ["insecure", "insecureHost"].map((key) => ({ required: [key], properties: { [key]: { const: true } } }))
      }
    }
  }
)
