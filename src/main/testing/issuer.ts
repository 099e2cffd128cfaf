/** An identity provider for tests: a key set that never changes, and tokens that it signs. */
import { createHash, createPrivateKey, sign } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The key set that the issuer publishes (RFC 7517), as a file: of one line, so that it can be a credential as well. */
export const keySetFile: string = fileURLToPath(new URL("./issuer.jwks.json", import.meta.url))

/** The same as JSON text. */
export const keySet: string = readFileSync(keySetFile, "utf8")

// It signs tokens of tests, and nothing else. It follows from these words, so that no file holds a private key.
const seed = createHash("sha256").update("the issuer of headgate/testing").digest()
/** What stands before the seed of an Ed25519 key in PKCS #8 (RFC 8410 7). */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex")
const privateKey = createPrivateKey({ format: "der", type: "pkcs8", key: Buffer.concat([pkcs8, seed]) })

/** What tokens name as their issuer. */
export const issuer = "https://issuer.example"

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A token of the issuer, signed with EdDSA. Claims beside `iss` and an `exp` in the year 2100 may be added or replaced. */
export const token = (claims: Readonly<Record<string, unknown>> = {}): string => {
  const head = encoded({ alg: "EdDSA", typ: "JWT", kid: "test" })
  const signed = `${head}.${encoded({ iss: issuer, exp: 4_102_444_800, ...claims })}`
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`
}

/** The issuer's metadata (OpenID Connect Discovery 3, RFC 8414), as JSON text. */
export const metadata: string = JSON.stringify({
  issuer,
  jwks_uri: `${issuer}/jwks`,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  response_types_supported: ["code"]
})
