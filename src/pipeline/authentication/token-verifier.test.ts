import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { createLocalJWKSet, jwtVerify } from "jose"
import * as Documents from "../../../layers/documents/layer.ts"
import * as Files from "../../../layers/files.ts"
import { parseKeySet } from "../../../layers/jwks/key-set.ts"
import * as KeySets from "../../../layers/jwks/live.ts"
import * as ConsoleLog from "../../../layers/log/console.ts"
import { type KeyName, keySet, publicKey, token } from "../../../test/tokens.ts"
import { HeaderList } from "../../http/header-list.ts"
import { HttpFetch } from "../../services/http-fetch.ts"
import { Jwks, type KeySet, type Keys } from "../../services/jwks.ts"
import { Log } from "../../services/log.ts"
import { TokenBearer } from "./identity.ts"
import { makeTokenVerifier, type TokenIssuer, type TokenVerifier } from "./token-verifier.ts"

const now = Date.parse("2026-01-01T00:00:00Z")
const seconds = now / 1000
const url = "https://issuer.example/jwks.json"
const good = { iss: "https://issuer.example", aud: "headgate", exp: seconds + 300, sub: "ada" }

const keysOf = (text: string): Keys => {
  const parsed = parseKeySet(text)
  if (typeof parsed === "string") throw new Error(parsed)
  return parsed.keys
}

const trusting = (keys: KeySet, over: Partial<TokenIssuer> = {}): TokenIssuer => ({
  issuer: "https://issuer.example",
  audiences: ["headgate"],
  requiredClaims: ["exp"],
  keys,
  ...over
})

/** A set that never changes. */
const fixed = (...names: ReadonlyArray<KeyName>): KeySet => {
  const keys = keysOf(keySet(...names))
  return { current: () => keys, refresh: Effect.void }
}

const said = (exit: Exit.Exit<TokenBearer, { readonly message: string }>) =>
  Exit.isSuccess(exit) ? "accepted" : Option.getOrThrow(Cause.findErrorOption(exit.cause)).message

const judged = (verify: TokenVerifier, text: string, at = now) => Effect.map(Effect.exit(verify(text, at)), said)

const invalid = (detail: string) => `authentication failure: the token is invalid or malformed: ${detail}`

/** An issuer that publishes its keys, and counts who asks. */
const publishing = () => {
  const state = { keys: keySet("rsa-1"), fetches: 0 }
  const fetch = Layer.succeed(HttpFetch, {
    fetch: () =>
      Effect.sync(() => {
        state.fetches++
        return { status: 200, headers: new HeaderList(), body: new TextEncoder().encode(state.keys) }
      })
  })
  const quiet = Layer.succeed(Log, ConsoleLog.make({ filter: "off", format: "text", write: () => {}, now: () => 0 }))
  const opened = Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const keys = yield* (yield* Jwks).open({ url })
    yield* keys.refresh
    return makeTokenVerifier([trusting(keys)])
  })
  const run = <A, E>(effect: Effect.Effect<A, E, Jwks | Scope.Scope>) =>
    Effect.provide(
      effect,
      KeySets.layer.pipe(
        Layer.provide(Layer.provideMerge(Layer.merge(Documents.layer, Files.layer), Layer.merge(fetch, quiet)))
      ),
      { local: true }
    )
  return { state, opened, run }
}

describe("security invariant: algorithms are pinned by the type of the key", () => {
  const all = makeTokenVerifier([trusting(fixed("rsa-1", "rsa-2", "ec-256", "ec-384", "ed-1"))])
  const notAllowed = invalid("the algorithm is not allowed for its key")

  it.effect.each<readonly [KeyName, string]>([
    ["rsa-1", "RS256"],
    ["rsa-1", "RS512"],
    ["rsa-1", "PS384"],
    ["rsa-2", "RS256"],
    ["ec-256", "ES256"],
    ["ec-384", "ES384"],
    ["ed-1", "EdDSA"]
  ])("%s may sign by %s", ([key, alg]) =>
    Effect.map(judged(all, token(key, good, { alg })), (verdict) => assert.strictEqual(verdict, "accepted"))
  )

  it.effect.each<readonly [KeyName, string, string]>([
    ["rsa-1", "HS256", "the public key as a shared secret"],
    ["rsa-1", "HS512", "the public key as a shared secret"],
    ["ec-256", "HS256", "the public key as a shared secret"],
    ["rsa-1", "none", "no signature at all"],
    ["ed-1", "none", "no signature at all"],
    ["rsa-2", "RS512", "an algorithm that its key does not name"],
    ["rsa-2", "PS256", "an algorithm that its key does not name"]
  ])("%s must not be used by %s: %s", ([key, alg]) =>
    Effect.map(judged(all, token(key, good, { alg })), (verdict) => assert.strictEqual(verdict, notAllowed))
  )

  it.effect.each(["None", "nOnE", "NONE", "rs256", "", "__proto__", "constructor"])("%j is no algorithm", (alg) =>
    Effect.gen(function* () {
      const [, payload, signature] = token("rsa-1", good).split(".")
      const header = Buffer.from(JSON.stringify({ alg, kid: "rsa-1" })).toString("base64url")
      assert.strictEqual(yield* judged(all, `${header}.${payload}.${signature}`), notAllowed)
      assert.strictEqual(yield* judged(all, `${header}.${payload}.`), notAllowed)
    })
  )

  it.effect("a key that the token brings along is not looked at", () =>
    Effect.gen(function* () {
      const own = token("rsa-2", good, { kid: "rsa-1", jwk: publicKey("rsa-2"), jku: url, x5u: url })
      assert.strictEqual(
        yield* judged(makeTokenVerifier([trusting(fixed("rsa-1"))]), own),
        invalid("the signature does not verify")
      )
    })
  )
})

describe("security invariant: what a token says is believed only if all of it holds", () => {
  const verify = makeTokenVerifier([trusting(fixed("ec-256"))])
  const expectation = (claims: unknown, expected: string) =>
    Effect.map(judged(verify, token("ec-256", claims)), (verdict) => assert.strictEqual(verdict, expected))

  it.effect.each<readonly [string, Record<string, unknown>, string]>([
    ["expired", { exp: seconds - 60 }, "the token has expired"],
    ["without an expiry", { exp: undefined }, "the claim exp is missing"],
    ["with an expiry that is null", { exp: null }, "the claim exp is missing"],
    ["with an expiry as text", { exp: String(seconds + 60) }, "the claim exp is not a number"],
    ["not valid yet", { nbf: seconds + 61 }, "the token is not valid yet"],
    ["with a beginning as text", { nbf: "now" }, "the claim nbf is not a number"],
    ["of another issuer", { iss: "https://issuer.example/" }, "the issuer is not accepted"],
    ["without an issuer", { iss: undefined }, "the claim iss is missing"],
    ["of several issuers", { iss: ["https://issuer.example"] }, "the issuer is not accepted"],
    ["for another audience", { aud: ["other", "headgat"] }, "the audience is not accepted"],
    ["for an audience that is no text", { aud: { headgate: true } }, "the audience is not accepted"],
    ["without an audience", { aud: undefined }, "the claim aud is missing"],
    ["for nobody", { aud: [] }, "the audience is not accepted"],
    [
      "with the audience as the party it was given to",
      { aud: "account", azp: "headgate" },
      "the audience is not accepted"
    ]
  ])("a token %s is refused", ([_, over, detail]) => expectation({ ...good, ...over }, invalid(detail)))

  it.effect("a token of one of several audiences is accepted, up to the last second of the leeway", () =>
    Effect.gen(function* () {
      yield* expectation({ ...good, aud: ["other", "headgate"] }, "accepted")
      yield* expectation({ ...good, exp: seconds - 59 }, "accepted")
      yield* expectation({ ...good, nbf: seconds + 60 }, "accepted")
    })
  )

  it.effect.each<readonly [string, (text: string) => string]>([
    ["another payload", (text) => text.replace(/\.[^.]+\./, `.${Buffer.from("{}").toString("base64url")}.`)],
    ["no signature", (text) => text.slice(0, text.lastIndexOf(".") + 1)],
    ["a signature of one byte", (text) => `${text.slice(0, text.lastIndexOf(".") + 1)}AA`],
    ["a signature of zeros", (text) => text.slice(0, text.lastIndexOf(".") + 1) + "A".repeat(86)],
    ["a signature in another alphabet", (text) => `${text.slice(0, -3)}+/=`],
    ["a fourth part", (text) => `${text}.x`],
    ["an encrypted form", () => "a.b.c.d.e"],
    ["no parts", () => "...."],
    ["white space", (text) => `${text} `]
  ])("a token with %s is refused, and never throws", ([_, change]) =>
    Effect.map(judged(verify, change(token("ec-256", good))), (verdict) =>
      assert.match(verdict, /^authentication failure: the token /)
    )
  )

  it.effect("a token that was accepted before expires all the same", () =>
    Effect.gen(function* () {
      const text = token("ec-256", good)
      assert.strictEqual(yield* judged(verify, text), "accepted")
      assert.strictEqual(yield* judged(verify, text, now + 359_999), "accepted")
      assert.strictEqual(yield* judged(verify, text, now + 360_000), invalid("the token has expired"))
    })
  )

  it.effect("who bears it is not shown by anything that prints", () =>
    Effect.gen(function* () {
      const text = token("ec-256", good)
      const bearer = yield* verify(text, now)
      assert.deepStrictEqual(JSON.parse(JSON.stringify(bearer)), { ...good, rawToken: "<redacted>" })
      const { inspect } = yield* Effect.promise(() => import("node:util"))
      assert.notInclude(inspect(bearer, { showHidden: true, depth: 9 }), text.slice(-20))
      assert.strictEqual(bearer.rawToken, text)
    })
  )
})

describe("security invariant: unknown keys cause one fetch per interval, withdrawn keys end their tokens", () => {
  it.effect("a flood of tokens with unknown keys", () => {
    const { state, opened, run } = publishing()
    return run(
      Effect.gen(function* () {
        const verify = yield* opened
        assert.strictEqual(state.fetches, 1)
        const flood = Effect.forEach(
          Array.from({ length: 300 }, (_, i) => token("ec-256", good, { kid: `guess-${i}` })),
          (text) => judged(verify, text),
          { concurrency: "unbounded" }
        )
        const verdicts = yield* flood
        assert.strictEqual(verdicts[7], 'authentication failure: token uses the unknown key "guess-7"')
        assert.strictEqual(state.fetches, 1)
        yield* TestClock.adjust("30 seconds")
        yield* flood
        yield* flood
        assert.strictEqual(state.fetches, 2)
      })
    )
  })

  it.effect("tokens that claim to be from elsewhere do not have its keys fetched", () => {
    const { state, opened, run } = publishing()
    return run(
      Effect.gen(function* () {
        const verify = yield* opened
        yield* TestClock.adjust("30 seconds")
        yield* judged(verify, token("ec-256", { ...good, iss: "https://other.example" }))
        assert.strictEqual(state.fetches, 1)
      })
    )
  })

  it.effect("a key that is new at the issuer is found by the token that needs it", () => {
    const { state, opened, run } = publishing()
    return run(
      Effect.gen(function* () {
        const verify = yield* opened
        state.keys = keySet("rsa-1", "ec-256")
        yield* TestClock.adjust("30 seconds")
        const verdicts = yield* Effect.forEach(
          [1, 2, 3].map((sub) => token("ec-256", { ...good, sub })),
          (text) => judged(verify, text),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(verdicts, ["accepted", "accepted", "accepted"])
        assert.strictEqual(state.fetches, 2)
      })
    )
  })

  it.effect("a token whose key was withdrawn is refused, though it was accepted before", () => {
    const { state, opened, run } = publishing()
    return run(
      Effect.gen(function* () {
        const verify = yield* opened
        const text = token("rsa-1", { ...good, exp: seconds + 86_400 })
        assert.strictEqual(yield* judged(verify, text), "accepted")
        state.keys = keySet("rsa-2")
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(
          yield* judged(verify, text, now + 900_000),
          'authentication failure: token uses the unknown key "rsa-1"'
        )
      })
    )
  })

  it.effect("a key that was replaced under its name takes the tokens of the old one along", () => {
    const { state, opened, run } = publishing()
    return run(
      Effect.gen(function* () {
        const verify = yield* opened
        const text = token("rsa-1", { ...good, exp: seconds + 86_400 })
        assert.strictEqual(yield* judged(verify, text), "accepted")
        state.keys = JSON.stringify({ keys: [{ ...publicKey("rsa-2"), kid: "rsa-1" }] })
        yield* TestClock.adjust("15 minutes")
        assert.strictEqual(yield* judged(verify, text, now + 900_000), invalid("the signature does not verify"))
      })
    )
  })
})

describe("laws of the verifier", () => {
  const Claims = Schema.Struct({
    iss: Schema.Literals(["https://issuer.example", "https://other.example"]),
    aud: Schema.Union([
      Schema.Literals(["headgate", "other"]),
      Schema.Array(Schema.Literals(["headgate", "other"])).check(Schema.isMaxLength(2))
    ]),
    exp: Schema.Literals([seconds - 61, seconds - 60, seconds - 59, seconds + 60]),
    nbf: Schema.Literals([seconds - 60, seconds + 60, seconds + 61])
  })
  const names = ["rsa-1", "ec-256", "ed-1"] as const
  const published = keySet(...names)
  const keys = keysOf(published)
  const local = createLocalJWKSet(JSON.parse(published))
  const issuers = [trusting({ current: () => keys, refresh: Effect.void })]

  it.effect.prop(
    "it accepts what another implementation accepts, and nothing else",
    {
      claims: Claims,
      key: Schema.Literals([...names, "rsa-2"]),
      kid: Schema.Literals(names),
      alg: Schema.Literals(["usual", "usual", "usual", "RS256", "ES256", "EdDSA", "HS256", "none"]),
      altered: Schema.Literals([false, false, true])
    },
    ({ claims, key, kid, alg, altered }) =>
      Effect.gen(function* () {
        const usable = { RS256: "rsa", ES256: "ec", EdDSA: "ed" }[alg as "RS256"]
        // A key cannot sign by the algorithm of another type.
        const header = alg === "usual" || (usable !== undefined && !key.startsWith(usable)) ? { kid } : { kid, alg }
        const signed = token(key, claims, header)
        const text = altered
          ? signed.replace(/(.)\.([^.]*)$/, (_, last, end) => `${last === "A" ? "B" : "A"}.${end}`)
          : signed
        const other = yield* Effect.promise(() =>
          jwtVerify(text, local, {
            issuer: "https://issuer.example",
            audience: "headgate",
            clockTolerance: 60,
            requiredClaims: ["exp"],
            currentDate: new Date(now)
          }).then(
            () => true,
            () => false
          )
        )
        const verify = makeTokenVerifier(issuers)
        const verdict = yield* judged(verify, text)
        assert.strictEqual(verdict === "accepted", other, verdict)
        // And it stays with what it said, from its cache too.
        assert.strictEqual(yield* judged(verify, text), verdict)
      }),
    { arbitrary: { runs: 150 } }
  )

  it.prop("no text makes it throw", [Schema.String, Schema.String, Schema.String], ([a, b, c]) => {
    const verify = makeTokenVerifier(issuers)
    for (const text of [a, `${a}.${b}`, `${a}.${b}.${c}`, `${a}.${b}.${c}.${a}`]) {
      const exit = verify(text, now)
      assert.isTrue(Exit.isExit(exit) && Exit.isFailure(exit))
    }
  })

  it.effect("a token that was seen is answered at once, and by an equal bearer", () =>
    Effect.gen(function* () {
      const verify = makeTokenVerifier(issuers)
      const text = token("rsa-1", good)
      const first = verify(text, now)
      const second = verify(text, now)
      assert.isTrue(Exit.isExit(first) && Exit.isExit(second))
      assert.instanceOf(yield* first, TokenBearer)
      assert.strictEqual((yield* first).claims, (yield* second).claims)
    })
  )
})
