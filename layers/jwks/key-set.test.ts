import { assert, describe, it } from "@effect/vitest"
import { importJWK, SignJWT } from "jose"
import signingKeys from "../../test/fixtures/signing-keys.json" with { type: "json" }
import { type KeyName, keySet, publicKey, token } from "../../test/tokens.ts"
import { parseKeySet } from "./key-set.ts"

const parsed = (text: string) => {
  const found = parseKeySet(text)
  if (typeof found === "string") throw new Error(found)
  return found
}

const keyOf = (name: KeyName) => parsed(keySet(name)).keys.get(name)!

const checked = (name: KeyName, algorithm: string, jwt: string): boolean | undefined => {
  const end = jwt.lastIndexOf(".")
  return keyOf(name).checks.get(algorithm)?.(jwt.slice(0, end), Buffer.from(jwt.slice(end + 1), "base64url"))
}

describe("a key set", () => {
  it.each<readonly [KeyName, ReadonlyArray<string>]>([
    ["rsa-1", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
    ["rsa-2", ["RS256"]],
    ["ec-256", ["ES256"]],
    ["ec-384", ["ES384"]],
    ["ed-1", ["EdDSA", "Ed25519"]]
  ])("the key %s verifies %j and nothing else", (name, algorithms) => {
    assert.deepStrictEqual([...keyOf(name).checks.keys()], algorithms)
  })

  it.each<readonly [KeyName, string]>([
    ["rsa-1", "RS256"],
    ["rsa-1", "RS384"],
    ["rsa-1", "RS512"],
    ["rsa-1", "PS256"],
    ["rsa-1", "PS384"],
    ["rsa-1", "PS512"],
    ["ec-256", "ES256"],
    ["ec-384", "ES384"],
    ["ed-1", "EdDSA"],
    ["ed-1", "Ed25519"]
  ])(
    "what another implementation signed with %s by %s is verified, and nothing that was altered",
    async (name, alg) => {
      const { alg: _, ...jwk } = signingKeys[name] as Record<string, string>
      const jwt = await new SignJWT({ sub: "someone" })
        .setProtectedHeader({ alg, kid: name })
        .sign(await importJWK({ kty: jwk["kty"]!, ...jwk }, alg))
      assert.isTrue(checked(name, alg, jwt))
      const [header, payload, signature] = jwt.split(".") as [string, string, string]
      assert.isFalse(checked(name, alg, `${header}.${payload}x.${signature}`))
      assert.isFalse(checked(name, alg, `${header}.${payload}.${Buffer.alloc(64, 7).toString("base64url")}`))
      assert.isFalse(checked(name, alg, `${header}.${payload}.`))
    }
  )

  it("our own test tokens are verified too", () => {
    assert.isTrue(checked("rsa-1", "PS256", token("rsa-1", {}, { alg: "PS256" })))
    assert.isFalse(checked("rsa-1", "RS256", token("rsa-2", {})))
  })

  it("passes over keys that are not for signatures", () => {
    const keys = [
      { ...publicKey("rsa-1"), use: "enc", alg: "RSA-OAEP" },
      { ...publicKey("ec-256"), key_ops: ["sign"] }
    ]
    assert.deepStrictEqual(parseKeySet(JSON.stringify({ keys })), { keys: new Map(), unusable: [] })
  })

  it("leaves out a private part that was published by mistake", () => {
    const key = parsed(JSON.stringify({ keys: [signingKeys["ec-256"]] })).keys.get("ec-256")
    assert.isTrue(key !== undefined && !JSON.stringify(key).includes(signingKeys["ec-256"].d))
  })

  it("says of every key that it cannot use why", () => {
    const { kid: _, ...anonymous } = publicKey("ec-256")
    const keys = [
      publicKey("ec-256"),
      { kty: "oct", kid: "shared", k: "c2VjcmV0" },
      anonymous,
      publicKey("ec-521"),
      publicKey("rsa-short"),
      { ...publicKey("rsa-1"), alg: "HS256" },
      { ...publicKey("ec-256"), alg: "ES384" },
      { ...publicKey("ec-256"), x: "AAAA" },
      { kty: "__proto__", kid: "odd" },
      "no object"
    ]
    const { keys: usable, unusable } = parsed(JSON.stringify({ keys }))
    assert.deepStrictEqual([...usable.keys()], ["ec-256"])
    assert.deepStrictEqual(unusable, [
      "keys[1]: symmetric keys are not accepted",
      'keys[2]: a key needs a "kid"',
      'keys[3]: keys of type "EC P-521" are not supported',
      "keys[4]: RSA keys of fewer than 2048 bits are not accepted",
      'keys[5]: the algorithm "HS256" is not one of RSA',
      'keys[6]: the algorithm "ES384" is not one of EC P-256',
      "keys[7]: not a valid public key",
      'keys[8]: keys of type "__proto__" are not supported',
      "keys[9]: not a JSON Web Key"
    ])
  })

  it.each(["", "{}", "[]", '{"keys":{}}', "not json"])("%j is none", (text) => {
    assert.strictEqual(parseKeySet(text), 'expected a JSON Web Key Set: an object with a list "keys"')
  })
})
