/**
 * Key sets: issuers that answer with anything, and tokens that ask for keys which there are not. However many come, an
 * issuer is asked seldom, its odd keys open nothing, and tokens of other issuers are answered meanwhile.
 */
import { generateKeyPairSync } from "node:crypto"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { type OriginAnswer, origin } from "../origin.ts"
import { keySet, publicKey, signedToken, token } from "../tokens.ts"
import { type AttackCase, attack, type Trial } from "./attack.ts"
import { unhurried } from "./gateway.ts"

const issuer = "https://issuer.example"
const claims = { iss: issuer, exp: 4_000_000_000, sub: "ada" }
const good = token("rsa-1", claims)
/** Tokens that name keys which nobody has. */
const strangers = (count: number) =>
  Array.from({ length: count }, (_, index) => token("rsa-2", claims, { kid: `stranger-${index}` }))

interface KeySetCase extends AttackCase {
  /** What the issuer answers. */
  readonly answer: OriginAnswer
  readonly tokens: ReadonlyArray<string>
  /** What each of them is answered. */
  readonly status: 200 | 401 | 503
}

const keys = (...all: ReadonlyArray<unknown>): OriginAnswer => ({ body: JSON.stringify({ keys: all }) })
const ours = publicKey("rsa-1")
const theirs = publicKey("rsa-2")
const flood = strangers(40)

/** The issuer answers with no set at all: nobody can tell whether a token is good. */
const unloaded = (title: string, answer: OriginAnswer): KeySetCase => ({
  title: `an issuer that answers with ${title}`,
  answer,
  tokens: [good, ...flood],
  status: 503
})
/** The set is read, whatever is odd in it, and our key is there. */
const among = (title: string, answer: OriginAnswer): KeySetCase => ({
  title: `our key beside ${title}`,
  answer,
  tokens: [good],
  status: 200
})
/** What is in the set opens nothing. */
const useless = (title: string, answer: OriginAnswer, ...tokens: ReadonlyArray<string>): KeySetCase => ({
  title,
  answer,
  tokens: tokens.length > 0 ? tokens : [good, ...flood],
  status: 401
})

const withKid = (kid: string) => token("rsa-1", claims, { kid })
const { privateKey: _, ...short } = publicKey("rsa-short")
const elsewhere = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" })

const cases: ReadonlyArray<KeySetCase> = [
  unloaded("status 500", { status: 500, body: "no" }),
  unloaded("status 404", { status: 404, body: keySet("rsa-1") }),
  unloaded("status 201", { status: 201, body: keySet("rsa-1") }),
  unloaded("nothing", {}),
  unloaded("status 204", { status: 204 }),
  unloaded("a redirect to itself", { status: 302, headers: { location: "?again" } }),
  unloaded("a redirect into this machine", { status: 307, headers: { location: "http://127.0.0.1:1/keys" } }),
  unloaded("a redirect to a file", { status: 301, headers: { location: "file:///etc/passwd" } }),
  unloaded("the end of the connection", { closes: true }),
  unloaded("a page", { body: "<html>sign in</html>" }),
  unloaded("half a set", { body: keySet("rsa-1").slice(0, -9) }),
  unloaded("two sets", { body: `${keySet("rsa-1")}${keySet("rsa-1")}` }),
  unloaded("null", { body: "null" }),
  unloaded("a list", { body: `[${JSON.stringify(ours)}]` }),
  unloaded("an object of keys", { body: JSON.stringify({ keys: { "rsa-1": ours } }) }),
  unloaded("keys that are null", { body: '{"keys":null}' }),
  unloaded("keys by inheritance", { body: `{"__proto__":${keySet("rsa-1")}}` }),
  unloaded("64 MiB", { body: `${keySet("rsa-1").slice(0, -1)},"x":"${"x".repeat(64 << 20)}"}` }),
  unloaded(
    "20,000 keys",
    keys(...Array.from({ length: 20_000 }, (_, index) => ({ ...theirs, kid: `k${index}` })), ours)
  ),
  unloaded("a great depth", { body: `{"keys":${"[".repeat(200_000)}` }),

  among(
    "2,000 others",
    keys(...Array.from({ length: 2_000 }, (_, index) => ({ ...theirs, kid: `k${index}`, use: "enc" })), ours)
  ),
  among("a coding that was not applied", { headers: { "content-encoding": "gzip" }, body: keySet("rsa-1") }),
  among("what is no key", keys(null, 42, "key", [], {}, true, ours)),
  among("a key without a name", keys({ ...theirs, kid: undefined }, ours)),
  among("a key of an empty name", keys({ ...theirs, kid: "" }, ours)),
  among("a key of many megabytes", keys({ ...theirs, kid: "wide", n: "A".repeat(400_000) }, ours)),
  among("a key of zeros", keys({ ...theirs, kid: "zero", n: "AAAA", e: "AAAA" }, ours)),
  among("a key with an exponent of 1", keys({ ...theirs, kid: "one", e: "AQ" }, ours)),
  among("a point off its curve", keys({ ...publicKey("ec-256"), kid: "off", x: "AAAA" }, ours)),
  among("a curve that is not served", keys({ ...elsewhere, kid: "curve" }, ours)),
  among("members of the wrong type", keys({ ...theirs, kid: 42 }, { ...theirs, kid: "n", n: 42 }, ours)),

  useless("a flood of keys that there are not", keys(theirs), ...flood),
  useless("the same key, asked for without end", keys(theirs), ...Array.from({ length: 40 }, () => flood[0]!)),
  useless("names as long as a head allows", keys(theirs), ...[1, 2, 3].map((n) => withKid(`${n}${"x".repeat(8_000)}`))),
  useless(
    "names of what every object has",
    keys(theirs),
    ...["__proto__", "constructor", "toString", "hasOwnProperty"].map(withKid)
  ),
  useless("a set that may not be kept", { ...keys(theirs), headers: { "cache-control": "no-store, max-age=0" } }),
  useless("a set that may be kept for ever", {
    ...keys(theirs),
    headers: { "cache-control": "max-age=99999999999999" }
  }),
  useless("a set that is over already", { ...keys(theirs), headers: { expires: "0", age: "99999999" } }),
  useless("an empty set", keys()),
  useless("a key for encryption", keys({ ...ours, use: "enc" })),
  useless("a key for signing alone", keys({ ...ours, key_ops: ["sign"] })),
  useless("a key that is too short", keys(short), token("rsa-short", claims)),
  useless(
    "a shared secret",
    keys({ kty: "oct", kid: "rsa-1", k: "c2VjcmV0", alg: "HS256" }),
    signedToken("rsa-1", "HS256", JSON.stringify({ alg: "HS256", kid: "rsa-1" }), JSON.stringify(claims))
  ),
  useless(
    "a key for no algorithm",
    keys({ ...ours, alg: "none" }),
    signedToken("rsa-1", "none", JSON.stringify({ alg: "none", kid: "rsa-1" }), JSON.stringify(claims))
  )
]

const open = Effect.gen(function* () {
  const asked = new Map<string, number>()
  const provider = yield* origin(({ path }) => {
    const name = path.split("?")[0]!
    asked.set(name, (asked.get(name) ?? 0) + 1)
    return cases[Number(name.slice("/keys-".length))]?.answer ?? { body: keySet("rsa-1") }
  })
  const route = (name: string) => `
- name: ${name}
  matches: [{ path: { pathPrefix: /${name} } }]
  policies:
    jwtAuth: { mode: strict, issuer: "${issuer}", jwks: { url: "http://${provider.address}/${name}" } }
    directResponse: { status: 200, body: in }`
  const gateway = yield* start(
    `
gateways: { default: { port: 8080 } }
routes:${cases.map((_, index) => route(`keys-${index}`)).join("")}${route("healthy")}
${unhurried}
`,
    { ephemeral: true, host: "127.0.0.1" }
  )
  const ask = (path: string, text: string) =>
    send(gateway.port(8080)!, { path, headers: { authorization: `Bearer ${text}` } })

  const trial: Trial<KeySetCase> = ({ title, tokens, status }) =>
    Effect.promise(async () => {
      const path = `/keys-${cases.findIndex((each) => each.title === title)}`
      const began = performance.now()
      const all = Promise.all(tokens.map((each) => ask(path, each)))
      const other = await ask("/healthy", good)
      if (other.status !== 200) throw new Error(`a token of another issuer is answered ${other.status} ${other.body}`)
      for (const answer of await all)
        if (answer.status !== status) throw new Error(`${answer.status} ${answer.body}, where ${status} was due`)
      const took = performance.now() - began
      if (took > 10_000) throw new Error(`it took ${Math.round(took)} ms`)
      // Once at the start, and as often as an issuer is tried that never answered.
      const times = asked.get(path) ?? 0
      if (times === 0) throw new Error("the issuer was never asked")
      if (times > (status === 503 ? 8 : 2)) throw new Error(`the issuer was asked ${times} times`)
    })
  return trial
})

export const keySets = attack<KeySetCase>({
  class: "key-set exhaustion",
  name: "key sets",
  proves: "an issuer is asked seldom, whoever asks for whatever key, and what it publishes harms nobody",
  cases,
  open
})
