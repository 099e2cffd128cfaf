/**
 * Reads a JSON Web Key Set (RFC 7517) into keys that can verify, each bound to the algorithms of its type (RFC 7518 3.1):
 * what a token claims about its algorithm can only choose among these.
 */
import { constants, createPublicKey, type KeyObject, verify } from "node:crypto"
import { Result, Schema } from "effect"
import type { Keys, SignatureCheck, VerificationKey } from "../../src/services/jwks.ts"

const JsonWebKey = Schema.Struct({
  kty: Schema.String,
  kid: Schema.optional(Schema.String),
  use: Schema.optional(Schema.String),
  key_ops: Schema.optional(Schema.Array(Schema.String)),
  alg: Schema.optional(Schema.String),
  crv: Schema.optional(Schema.String),
  n: Schema.optional(Schema.String),
  e: Schema.optional(Schema.String),
  x: Schema.optional(Schema.String),
  y: Schema.optional(Schema.String)
})
type JsonWebKey = typeof JsonWebKey.Type

const decodeSet = Schema.decodeUnknownResult(
  Schema.fromJsonString(Schema.Struct({ keys: Schema.Array(Schema.Unknown) }))
)
const decodeKey = Schema.decodeUnknownResult(JsonWebKey)

export interface ParsedKeySet {
  readonly keys: Keys
  /** The keys that cannot be used, and why: `keys[1]: symmetric keys are not accepted`. */
  readonly unusable: ReadonlyArray<string>
}

/** Parses a key set. Keys that are not for signatures are passed over; a text that is no key set yields what is wrong with it. */
export const parseKeySet = (text: string): ParsedKeySet | string => {
  const set = decodeSet(text)
  if (Result.isFailure(set)) return 'expected a JSON Web Key Set: an object with a list "keys"'
  const keys = new Map<string, VerificationKey>()
  const unusable: Array<string> = []
  for (const [index, value] of set.success.keys.entries()) {
    const decoded = decodeKey(value)
    if (Result.isFailure(decoded)) {
      unusable.push(`keys[${index}]: not a JSON Web Key`)
      continue
    }
    const jwk = decoded.success
    if (!isForSignatures(jwk)) continue
    const key = verificationKey(jwk)
    if (typeof key === "string") unusable.push(`keys[${index}]: ${key}`)
    else keys.set(key.id, key)
  }
  return { keys, unusable }
}

const isForSignatures = ({ use, key_ops }: JsonWebKey) =>
  (use === undefined || use === "sig") && (key_ops === undefined || key_ops.includes("verify"))

type Verifier = (key: KeyObject) => SignatureCheck

const pkcs1 =
  (hash: string): Verifier =>
  (key) =>
  (signed, signature) =>
    verify(hash, Buffer.from(signed, "latin1"), key, signature)

const pss =
  (hash: string): Verifier =>
  (key) => {
    const how = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    return (signed, signature) => verify(hash, Buffer.from(signed, "latin1"), how, signature)
  }

const ecdsa =
  (hash: string): Verifier =>
  (key) => {
    const how = { key, dsaEncoding: "ieee-p1363" } as const
    return (signed, signature) => verify(hash, Buffer.from(signed, "latin1"), how, signature)
  }

const eddsa: Verifier = (key) => (signed, signature) => verify(null, Buffer.from(signed, "latin1"), key, signature)

/** By key type and curve: the members that make up the public key, and the algorithms that it may verify. */
const families: Readonly<
  Record<string, { readonly members: ReadonlyArray<keyof JsonWebKey>; readonly algorithms: Record<string, Verifier> }>
> = {
  RSA: {
    members: ["n", "e"],
    algorithms: {
      RS256: pkcs1("sha256"),
      RS384: pkcs1("sha384"),
      RS512: pkcs1("sha512"),
      PS256: pss("sha256"),
      PS384: pss("sha384"),
      PS512: pss("sha512")
    }
  },
  "EC P-256": { members: ["crv", "x", "y"], algorithms: { ES256: ecdsa("sha256") } },
  "EC P-384": { members: ["crv", "x", "y"], algorithms: { ES384: ecdsa("sha384") } },
  // RFC 9864 gives EdDSA with this curve a name of its own.
  "OKP Ed25519": { members: ["crv", "x"], algorithms: { EdDSA: eddsa, Ed25519: eddsa } }
}

/** RFC 7518 3.3: shorter keys must not be used. */
const shortestRsa = 2048

/** The key, or why it cannot be used. */
const verificationKey = (jwk: JsonWebKey): VerificationKey | string => {
  if (jwk.kty === "oct") return "symmetric keys are not accepted"
  if (jwk.kid === undefined || jwk.kid === "") return 'a key needs a "kid"'
  const kind = jwk.crv === undefined || jwk.kty === "RSA" ? jwk.kty : `${jwk.kty} ${jwk.crv}`
  const family = Object.hasOwn(families, kind) ? families[kind] : undefined
  if (family === undefined) return `keys of type ${JSON.stringify(kind)} are not supported`
  const algorithms = Object.entries(family.algorithms).filter(([name]) => jwk.alg === undefined || jwk.alg === name)
  if (algorithms.length === 0) return `the algorithm ${JSON.stringify(jwk.alg)} is not one of ${kind}`
  // Only what makes up the public key: a private part that was published by mistake is left out.
  const members = Object.fromEntries(family.members.map((member) => [member, jwk[member]]))
  let key: KeyObject
  try {
    key = createPublicKey({ key: { kty: jwk.kty, ...members }, format: "jwk" })
  } catch {
    return "not a valid public key"
  }
  if ((key.asymmetricKeyDetails?.modulusLength ?? shortestRsa) < shortestRsa)
    return `RSA keys of fewer than ${shortestRsa} bits are not accepted`
  return { id: jwk.kid, checks: new Map(algorithms.map(([name, verifier]) => [name, verifier(key)])) }
}
