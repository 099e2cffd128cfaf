/** Names of TLS: versions, cipher suites and key exchange groups. */
import { Schema } from "effect"

/** A version of TLS. */
export const TlsVersion = Schema.Literals(["TLS_V1_0", "TLS_V1_1", "TLS_V1_2", "TLS_V1_3"]).annotate({
  identifier: "TlsVersion",
  description: "A version of TLS. Only 1.2 and 1.3 are spoken."
})

/** A cipher suite that is supported. */
export const CipherSuite = Schema.Literals([
  "TLS13_AES_256_GCM_SHA384",
  "TLS13_AES_128_GCM_SHA256",
  "TLS13_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
]).annotate({ identifier: "CipherSuite", description: "A cipher suite." })

/** A group for the key exchange. */
export const KeyExchangeGroup = Schema.Literals(["X25519", "P-256", "P-384", "X25519_MLKEM768"]).annotate({
  identifier: "KeyExchangeGroup",
  description: "A group for the key exchange."
})

/** The name that OpenSSL has for it. */
export const opensslGroup = (group: string): string => (group === "X25519_MLKEM768" ? "X25519MLKEM768" : group)
