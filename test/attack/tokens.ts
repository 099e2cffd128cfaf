/**
 * Tokens: forged, altered, meant for something else, or written so that two readers see two tokens. Whoever signs one
 * properly for this audience gets in, and nobody else.
 */
import { createHmac, createPublicKey } from "node:crypto"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import signingKeys from "../fixtures/signing-keys.json" with { type: "json" }
import { keySet, publicKey, signedToken, token } from "../tokens.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"

const issuer = "https://issuer.example"
/** Far enough from now for every clock. */
const exp = 4_000_000_000
const good = { iss: issuer, aud: "headgate", exp, sub: "ada" }

interface TokenCase extends AttackCase {
  /** What stands in `authorization`, without the scheme. */
  readonly token: string
  readonly accepted?: true
}

const refused = (title: string, text: string): TokenCase => ({ title, token: text })
const accepted = (title: string, text: string): TokenCase => ({ title, token: text, accepted: true })

const ours = token("rsa-1", good)
const [head, claims, signature] = ours.split(".") as [string, string, string]
const b64 = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")

/** Our signature under a header or claims written by hand. */
const rawHeader = (text: string | Uint8Array) => signedToken("rsa-1", "RS256", text, JSON.stringify(good))
const rawClaims = (text: string | Uint8Array) =>
  signedToken("rsa-1", "RS256", JSON.stringify({ alg: "RS256", kid: "rsa-1" }), text)
const headerWith = (more: object) => token("rsa-1", good, more as Record<string, unknown>)
const claimsWith = (more: object) => token("rsa-1", { ...good, ...more })

const pem = createPublicKey({ key: signingKeys["rsa-1"], format: "jwk" })
const shared = (hash: string, secret: string | Buffer, kid = "rsa-1") => {
  const signed = `${b64({ alg: `HS${hash}`, kid })}.${claims}`
  return `${signed}.${createHmac(`sha${hash}`, secret).update(signed).digest("base64url")}`
}

const algorithms: ReadonlyArray<TokenCase> = [
  ...["none", "None", "nOnE", "NONE", "none ", ""].flatMap((alg) => [
    refused(`algorithm ${JSON.stringify(alg)}, no signature`, `${b64({ alg, kid: "rsa-1" })}.${claims}.`),
    refused(`algorithm ${JSON.stringify(alg)}, a signature`, `${b64({ alg, kid: "rsa-1" })}.${claims}.${signature}`)
  ]),
  ...[
    undefined,
    null,
    42,
    true,
    ["RS256"],
    { RS256: 1 },
    "rs256",
    " RS256",
    "RS256 ",
    "RS256\0",
    "RS257",
    "RSA-OAEP",
    "dir",
    "A256KW",
    "ES256K",
    "__proto__",
    "constructor",
    "toString"
  ].map((alg) =>
    refused(`algorithm ${JSON.stringify(alg) ?? "missing"}`, rawHeader(JSON.stringify({ alg, kid: "rsa-1" })))
  ),
  ...["256", "384", "512"].flatMap((hash) => [
    refused(`HS${hash} with the public key in PEM`, shared(hash, pem.export({ type: "spki", format: "pem" }))),
    refused(`HS${hash} with the public key in DER`, shared(hash, pem.export({ type: "spki", format: "der" }))),
    refused(`HS${hash} with the public key as JSON`, shared(hash, JSON.stringify(publicKey("rsa-1")))),
    refused(`HS${hash} with its modulus`, shared(hash, Buffer.from(String(publicKey("rsa-1")["n"]), "base64url"))),
    refused(`HS${hash} without a secret`, shared(hash, "")),
    refused(`HS${hash} under the name of an elliptic key`, shared(hash, "", "ec-256"))
  ]),
  refused("an algorithm that its key does not name", token("rsa-2", good, { alg: "RS512" })),
  refused("another padding than its key names", token("rsa-2", good, { alg: "PS256" })),
  refused("RS256 under the name of an elliptic key", token("rsa-1", good, { kid: "ec-256" })),
  refused("ES256 under the name of an RSA key", token("ec-256", good, { kid: "rsa-1" })),
  refused("EdDSA under the name of an RSA key", token("ed-1", good, { kid: "rsa-1" })),
  refused("ES256 that says ES384", `${b64({ alg: "ES384", kid: "ec-256" })}.${claims}.${signature}`),
  refused(
    "an ECDSA signature of zeros",
    `${b64({ alg: "ES256", kid: "ec-256" })}.${claims}.${Buffer.alloc(64).toString("base64url")}`
  ),
  refused(
    "an EdDSA signature of zeros",
    `${b64({ alg: "EdDSA", kid: "ed-1" })}.${claims}.${Buffer.alloc(64).toString("base64url")}`
  ),
  ...(["rsa-1", "ec-256", "ed-1"] as const).map((key) => accepted(`a token of ${key}`, token(key, good)))
]

const keys: ReadonlyArray<TokenCase> = [
  ...[
    undefined,
    null,
    42,
    true,
    ["rsa-1"],
    { id: "rsa-1" },
    "",
    "RSA-1",
    "rsa-1 ",
    "rsa-1\0",
    "../rsa-1",
    "rsa-1' or '1'='1",
    "http://a.example/key",
    "__proto__",
    "constructor",
    "toString",
    "x".repeat(4000)
  ].map((kid) => refused(`key id ${(JSON.stringify(kid) ?? "missing").slice(0, 40)}`, headerWith({ kid }))),
  refused("the name of a key that did not sign", token("rsa-2", good, { kid: "rsa-1" })),
  refused("a key that the token brings along", token("rsa-2", good, { kid: "stranger", jwk: publicKey("rsa-2") })),
  refused(
    "a key of the token under a name that is known",
    token("rsa-2", good, { kid: "rsa-1", jwk: publicKey("rsa-2") })
  ),
  refused("a key set of the token", token("rsa-2", good, { kid: "rsa-1", jku: "https://a.example/keys" })),
  refused("a certificate's address", token("rsa-2", good, { kid: "rsa-1", x5u: "https://a.example/cert" })),
  refused("a certificate", token("rsa-2", good, { kid: "rsa-1", x5c: ["MIIB"] })),
  refused("a key that is too short to be published", token("rsa-short", good))
]

const uses: ReadonlyArray<TokenCase> = [
  ...[
    "logout+jwt",
    "application/logout+jwt",
    "LOGOUT+JWT",
    "dpop+jwt",
    "secevent+jwt",
    "token-introspection+jwt",
    "oauth-authz-req+jwt",
    "client-authentication+jwt",
    "entity-statement+jwt",
    "kb+jwt",
    "vc+sd-jwt",
    "oauth-id-jag+jwt",
    "JWE",
    " JWT",
    "JWT ",
    "JWT\0",
    "at+jwt;v=1",
    "application/application/jwt",
    "",
    null,
    42,
    ["JWT"],
    { JWT: 1 }
  ].map((typ) => refused(`type ${JSON.stringify(typ)}`, headerWith({ typ }))),
  ...[undefined, "JWT", "jwt", "JOSE", "at+jwt", "AT+JWT", "application/at+jwt", "application/jwt"].map((typ) =>
    accepted(`type ${JSON.stringify(typ) ?? "missing"}`, headerWith({ typ }))
  ),
  refused(
    "a logout token of the old kind",
    claimsWith({ events: { "http://schemas.openid.net/event/backchannel-logout": {} } })
  ),
  ...[["exp"], [], ["b64"], null, "exp", ["x"], {}].map((crit) =>
    refused(`critical: ${JSON.stringify(crit)}`, headerWith({ crit }))
  ),
  ...[false, true, "false", null].map((value) => refused(`b64: ${JSON.stringify(value)}`, headerWith({ b64: value }))),
  refused("b64: false, as it should be", headerWith({ b64: false, crit: ["b64"] }))
]

const doubles: ReadonlyArray<TokenCase> = [
  ...[
    '{"alg":"none","alg":"RS256","kid":"rsa-1"}',
    '{"alg":"RS256","alg":"RS256","kid":"rsa-1"}',
    '{"alg":"RS256","kid":"stranger","kid":"rsa-1"}',
    '{"alg":"RS256","kid":"rsa-1","\\u0061lg":"RS256"}',
    '{"alg":"RS256","kid":"rsa-1","typ":"logout+jwt","typ":"JWT"}',
    '{"alg":"RS256","kid":"rsa-1","x":{"y":1,"y":2}}'
  ].map((text) => refused(`header ${text}`, rawHeader(text))),
  ...[
    `{"iss":"${issuer}","iss":"${issuer}","aud":"headgate","exp":${exp}}`,
    `{"iss":"https://evil.example","iss":"${issuer}","aud":"headgate","exp":${exp}}`,
    `{"iss":"${issuer}","aud":"other","aud":"headgate","exp":${exp}}`,
    `{"iss":"${issuer}","aud":"headgate","exp":1,"exp":${exp}}`,
    `{"iss":"${issuer}","aud":"headgate","exp":${exp},"sub":"admin","sub":"ada"}`,
    `{"iss":"${issuer}","aud":"headgate","exp":${exp},"\\u0073ub":"admin","sub":"ada"}`,
    `{"iss":"${issuer}","aud":"headgate","exp":${exp},"realm_access":{"roles":["user"],"roles":["admin"]}}`,
    `{"iss":"${issuer}","aud":"headgate","exp":${exp},"__proto__":1,"__proto__":2}`,
    `{"iss":"${issuer}","aud":"headgate","exp":${exp},"list":[{"a":1},{"b":1,"b":2}]}`
  ].map((text) => refused(`claims ${text}`, rawClaims(text))),
  accepted(
    "names that look alike, and texts with quotes and colons",
    rawClaims(
      `{"iss":"${issuer}","aud":"headgate","exp":${exp},"Sub":"a","sub":"b: \\"c\\":","x":{"sub":1},"y":["a:","b"]}`
    )
  )
]

const utf16 = Buffer.from(`\ufeff${JSON.stringify(good)}`, "utf16le")
const deep = (depth: number) => `${JSON.stringify(good).slice(0, -1)},"x":${"[".repeat(depth)}${"]".repeat(depth)}}`

const encodings: ReadonlyArray<TokenCase> = [
  refused("padding behind the header", `${head}=.${claims}.${signature}`),
  refused("padding behind the claims", `${head}.${claims}==.${signature}`),
  refused("padding behind the signature", `${ours}==`),
  refused(
    "the alphabet of plain base64",
    `${head}.${claims}.${Buffer.from(signature, "base64url").toString("base64").replace(/=+$/, "")}+/`
  ),
  refused("a stray character in the signature", `${ours}A`),
  refused(
    "stray bits in the signature",
    `${ours.slice(0, -1)}${String.fromCharCode(ours.charCodeAt(ours.length - 1) + 1)}`
  ),
  refused("a blank in the claims", `${head}.${claims.slice(0, 9)} ${claims.slice(9)}.${signature}`),
  refused("a percent sign", `${head}.${claims}.%${signature}`),
  refused("claims with a byte order mark", rawClaims(`\ufeff${JSON.stringify(good)}`)),
  refused("a header with a byte order mark", rawHeader(`\ufeff{"alg":"RS256","kid":"rsa-1"}`)),
  refused("claims in UTF-16", rawClaims(utf16)),
  refused("claims that are no UTF-8", rawClaims(Buffer.from(JSON.stringify({ ...good, x: "é" }), "latin1"))),
  refused(
    "claims with an overlong sequence",
    rawClaims(
      Buffer.concat([
        Buffer.from(JSON.stringify(good).slice(0, -1)),
        Buffer.from(',"x":"'),
        Buffer.from([0xc0, 0xaf]),
        Buffer.from('"}')
      ])
    )
  ),
  refused("claims with a comment", rawClaims(`${JSON.stringify(good)}//`)),
  refused("claims with a trailing comma", rawClaims(`${JSON.stringify(good).slice(0, -1)},}`)),
  refused("claims with single quotes", rawClaims(JSON.stringify(good).replaceAll('"', "'"))),
  refused("claims with a number that is none", rawClaims(`${JSON.stringify(good).slice(0, -1)},"x":NaN}`)),
  refused("claims followed by claims", rawClaims(JSON.stringify(good) + JSON.stringify(good))),
  ...["[]", "null", "42", '"text"', "", "true", "{"].flatMap((text) => [
    refused(`claims ${JSON.stringify(text)}`, rawClaims(text)),
    refused(`header ${JSON.stringify(text)}`, rawHeader(text))
  ]),
  refused("claims in a list", rawClaims(JSON.stringify([good]))),
  accepted("a depth of 30", rawClaims(deep(30))),
  refused("a depth of 1,000", rawClaims(deep(1000))),
  refused("a depth of 4,000, altered", rawClaims(deep(4000)).replace(/^e/, "f"))
]

const parts: ReadonlyArray<TokenCase> = [
  ["two parts", `${head}.${claims}`],
  ["one part", head],
  ["four parts", `${ours}.${signature}`],
  ["five parts, as an encrypted token has", `${ours}.${signature}.${signature}`],
  ["no part", ".."],
  ["dots alone", "...."],
  ["a leading dot", `.${ours}`],
  ["a trailing dot", `${ours}.`],
  ["claims that stand elsewhere", `${head}..${signature}`],
  ["no signature", `${head}.${claims}.`],
  ["half a signature", `${head}.${claims}.${signature.slice(0, signature.length / 2)}`],
  ["a signature twice", `${ours}${signature}`],
  ["the signature of another token", `${head}.${claims}.${token("rsa-1", { ...good, sub: "bob" }).split(".")[2]}`],
  ["a signature backwards", `${head}.${claims}.${[...signature].reverse().join("")}`],
  ["a signature of zeros", `${head}.${claims}.${Buffer.alloc(256).toString("base64url")}`],
  ["claims that were altered", `${head}.${b64({ ...good, sub: "admin" })}.${signature}`],
  ["a header that was altered", `${b64({ alg: "RS256", kid: "rsa-1", typ: "JWT", x: 1 })}.${claims}.${signature}`],
  ["the JSON form", JSON.stringify({ protected: head, payload: claims, signature })],
  ["the general JSON form", JSON.stringify({ payload: claims, signatures: [{ protected: head, signature }] })],
  ["two tokens with a comma", `${ours}, ${ours}`],
  ["a second blank", ` ${ours.slice(0, 20)} ${ours.slice(20)}`],
  ["quotes", `"${ours}"`]
].map(([title, text]) => refused(title!, text!))

const claimCases: ReadonlyArray<TokenCase> = [
  ...[
    { exp: 1 },
    { exp: undefined },
    { exp: null },
    { exp: String(exp) },
    { exp: [exp] },
    { exp: { valueOf: exp } },
    { exp: true },
    { exp: -exp },
    { exp: 0 },
    { nbf: exp },
    { nbf: "0" },
    { nbf: null },
    { nbf: [0] },
    { iss: undefined },
    { iss: null },
    { iss: `${issuer}/` },
    { iss: issuer.toUpperCase() },
    { iss: ` ${issuer}` },
    { iss: [issuer] },
    { iss: { [issuer]: 1 } },
    { iss: "https://other.example" },
    { aud: undefined },
    { aud: null },
    { aud: "other" },
    { aud: "HEADGATE" },
    { aud: "headgate " },
    { aud: "head" },
    { aud: [] },
    { aud: ["other"] },
    { aud: [["headgate"]] },
    { aud: { headgate: true } },
    { aud: 1 }
  ].map((more) => {
    const [[name, value]] = Object.entries(more) as [[string, unknown]]
    return refused(`${name} ${JSON.stringify(value) ?? "missing"}`, claimsWith(more))
  }),
  refused("exp 1e999", rawClaims(`{"iss":"${issuer}","aud":"headgate","exp":1e999}`)),
  refused("nbf -1e999", rawClaims(`{"iss":"${issuer}","aud":"headgate","exp":${exp},"nbf":-1e999}`)),
  refused("claims by inheritance", rawClaims(`{"__proto__":${JSON.stringify(good)}}`)),
  refused("claims of the constructor", rawClaims(`{"constructor":{"prototype":${JSON.stringify(good)}}}`)),
  accepted("an audience among others", claimsWith({ aud: ["other", "headgate"] })),
  accepted("more claims", claimsWith({ constructor: 1, toString: "a", n: 2 ** 53, z: -0 }))
]

const open = Effect.gen(function* () {
  const published = keySet("rsa-1", "rsa-2", "ec-256", "ed-1")
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 } }
routes:
- policies:
    jwtAuth:
      mode: strict
      issuer: ${issuer}
      audiences: [headgate]
      jwks: '${published}'
    directResponse: { status: 200, body: in }
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const trial: Trial<TokenCase> = ({ token: text, accepted }) =>
    Effect.promise(async () => {
      // Twice, since what was believed once is remembered.
      for (let times = 0; times < 2; times++) {
        const answer = await send(gateway.port(8080)!, { path: "/", headers: { authorization: `Bearer ${text}` } })
        const expected = accepted === true ? 200 : 401
        if (answer.status !== expected) throw new Error(`${answer.status} ${answer.body}, where ${expected} was due`)
        if (answer.status === 401 && answer.body.includes(signature.slice(0, 20)))
          throw new Error("the answer quotes it")
      }
    })
  return trial
})

export const tokens = attack<TokenCase>({
  class: "tokens",
  name: "forged and odd tokens",
  proves: "nobody gets in without a token that a trusted key signed for bearers of this audience, in one reading",
  cases: [...algorithms, ...keys, ...uses, ...doubles, ...encodings, ...parts, ...claimCases],
  open
})
