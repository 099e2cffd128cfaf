/** An identity provider for tests: a key set that never changes, and tokens that it signs. */
import { createPrivateKey, sign } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The key set that the issuer publishes (RFC 7517), as a file. */
export const keySetFile: string = fileURLToPath(new URL("./issuer.jwks.json", import.meta.url))

/** The same as JSON text. */
export const keySet: string = readFileSync(keySetFile, "utf8")

// Signs tokens of tests, and nothing else.
const privateKey = createPrivateKey({
  format: "jwk",
  key: { ...JSON.parse(keySet).keys[0], d: "icUofsbrOPNhuPisHtP06V2y4bN5_YWda8oRs3HeSLg" }
})

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
