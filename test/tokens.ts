/** Tokens for tests: signing keys that never change, the key sets that publish them, and tokens of any shape. */
import { constants, createHmac, createPrivateKey, createPublicKey, sign as signWith } from "node:crypto"
import signingKeys from "./fixtures/signing-keys.json" with { type: "json" }

export type KeyName = keyof typeof signingKeys

/** The public part of a key. */
export const publicKey = (name: KeyName): Record<string, unknown> => {
  const { kty, kid, alg, crv, x, y, n, e } = signingKeys[name] as Record<string, unknown>
  return JSON.parse(JSON.stringify({ kty, kid, alg, crv, x, y, n, e }))
}

/** The key set that publishes these keys, as JSON. */
export const keySet = (...names: ReadonlyArray<KeyName>): string => JSON.stringify({ keys: names.map(publicKey) })

const hashOf: Readonly<Record<string, string>> = { "256": "sha256", "384": "sha384", "512": "sha512" }

const signatureOf = (algorithm: string, name: KeyName, signed: string): string => {
  const key = createPrivateKey({ key: signingKeys[name], format: "jwk" })
  const hash = hashOf[algorithm.slice(2)]
  const data = Buffer.from(signed)
  const made = () => {
    switch (algorithm.slice(0, 2)) {
      case "RS":
        return signWith(hash, data, key)
      case "PS":
        return signWith(hash, data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: -1 })
      case "ES":
        return signWith(hash, data, { key, dsaEncoding: "ieee-p1363" })
      case "HS":
        // What an attacker does: the published key, taken for a shared secret.
        return createHmac(hash!, createPublicKey(key).export({ type: "spki", format: "pem" }))
          .update(data)
          .digest()
      case "no":
        return Buffer.alloc(0)
      default:
        return signWith(null, data, key)
    }
  }
  return made().toString("base64url")
}

const usual: Readonly<Record<string, string>> = {
  "rsa-1": "RS256",
  "rsa-2": "RS256",
  "rsa-short": "RS256",
  "ec-256": "ES256",
  "ec-384": "ES384",
  "ec-521": "ES512",
  "ed-1": "EdDSA"
}

/** A token of these very bytes, signed as the algorithm says. */
export const signedToken = (
  key: KeyName,
  algorithm: string,
  header: string | Uint8Array,
  claims: string | Uint8Array
): string => {
  const signed = `${Buffer.from(header).toString("base64url")}.${Buffer.from(claims).toString("base64url")}`
  return `${signed}.${signatureOf(algorithm, key, signed)}`
}

/** A signed token. What `header` says replaces the usual header of the key; `undefined` leaves a member out. */
export const token = (key: KeyName, claims: unknown, header: Readonly<Record<string, unknown>> = {}): string => {
  const full = { alg: usual[key], typ: "JWT", kid: key, ...header }
  return signedToken(key, String(full.alg), JSON.stringify(full), JSON.stringify(claims))
}
