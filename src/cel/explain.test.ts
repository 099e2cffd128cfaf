import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Result from "effect/Result"
import { Explanation, type Step } from "../../spec/explanation.ts"
import { type Bindings, compile, explain, parseFunctions } from "./expression.ts"

const bindings: Bindings = {
  request: {
    method: "GET",
    path: "/mcp",
    headers: ["authorization", "Bearer s3cret", "x-tenant", "acme", "x-hidden", "hush"]
  },
  jwt: { rawToken: "eyJ.s3cret", rest: { sub: "alice", roles: ["viewer", "admin", "ops"] } },
  sensitiveHeaders: new Set(["x-hidden"])
}

const functions = Result.getOrThrow(
  parseFunctions('bearer() { request.headers.authorization } shout(text) { text.upperAscii() + "!" }')
)

const explained = (source: string): Explanation =>
  explain(Result.getOrThrow(compile(source, { phase: "log", functions })), bindings)

const flat = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => steps.flatMap((step) => [step, ...flat(step.parts)])

/** What each part gave, by its text. */
const parts = (source: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    flat(explained(source).steps).map(({ source, outcome }) => [
      source,
      outcome.kind === "value" ? outcome.value : outcome.kind === "error" ? `error: ${outcome.message}` : "skipped"
    ])
  )

describe("an explanation", () => {
  it("gives the value of every part with its place", () => {
    const { outcome, steps, cause } = explained('jwt.sub == "alice" &&\n  request.path.startsWith("/api")')
    assert.deepStrictEqual(outcome, { kind: "value", type: "bool", value: "false" })
    assert.isUndefined(cause)
    assert.deepStrictEqual(
      flat(steps).map(({ source, line, column }) => [source, line, column]),
      [
        ['jwt.sub == "alice" &&\n  request.path.startsWith("/api")', 1, 1],
        ['jwt.sub == "alice"', 1, 1],
        ["jwt.sub", 1, 1],
        ['request.path.startsWith("/api")', 2, 3],
        ["request.path", 2, 3]
      ]
    )
    assert.deepStrictEqual(parts('jwt.sub == "alice"'), { 'jwt.sub == "alice"': "true", "jwt.sub": '"alice"' })
  })

  it("marks what was never reached", () => {
    const found = parts('request.method == "GET" || jwt.sub == "bob"')
    assert.strictEqual(found['jwt.sub == "bob"'], "skipped")
    assert.strictEqual(found["jwt.sub"], "skipped")
    assert.strictEqual(parts("true ? jwt.sub : request.path")["request.path"], "skipped")
  })

  it("tells the first cause of a failure and what was absorbed", () => {
    const failed = explained('request.path == "/x" || jwt.nope.deeper == 1 || 1 / int(jwt.sub) == 1')
    assert.deepInclude(failed.outcome, { kind: "error", code: "no_such_key" })
    assert.deepInclude(failed.cause, { source: "jwt.nope", line: 1, column: 25, message: "no such key: nope" })
    const absorbed = explained('jwt.nope == 1 || request.path == "/mcp"')
    assert.deepInclude(absorbed.outcome, { kind: "value", value: "true" })
    assert.isUndefined(absorbed.cause)
  })

  it("counts the turns of a macro and shows the one that decided", () => {
    const { steps } = explained('jwt.roles.exists(r, r == "admin")')
    const turn = flat(steps).find(({ source }) => source === 'r == "admin"')!
    assert.strictEqual(turn.evaluations, 2)
    assert.deepInclude(turn.outcome, { kind: "value", value: "true" })
    assert.strictEqual(parts('jwt.roles.exists(r, r == "admin")')["r"], '"admin"')
  })

  it("has the result of the evaluation, too, when the work is used up", () => {
    const source = "lists.range(10000).map(x, lists.range(10000)) == jwt.sub"
    assert.deepInclude(explained(source).outcome, { kind: "error", code: "limit" })
  })

  it("cuts long values", () => {
    const found = parts("lists.range(1000).map(x, jwt.sub)")
    assert.isAtMost(found["lists.range(1000).map(x, jwt.sub)"]!.length, 1_001)
    const body = new Uint8Array(2 ** 21).fill(97)
    const compiled = Result.getOrThrow(compile("[request.body, string(request.body)]", { phase: "log" }))
    const [whole] = explain(compiled, { request: { body } }).steps
    for (const { outcome } of [whole!, ...whole!.parts])
      assert.isTrue(outcome.kind === "value" && outcome.value.length === 1_001 && outcome.value.endsWith("…"))
    const asked = explain(compiled, { request: { body: body.subarray(0, 3_000) } }, { most: Number.POSITIVE_INFINITY })
    assert.isTrue(asked.outcome.kind === "value" && asked.outcome.value.endsWith('a"]'))
  })

  it("is as told to programs, and the same again for another request", () => {
    const compiled = Result.getOrThrow(compile("jwt.nope == 1 || jwt.sub == 'bob'", { phase: "log" }))
    const first = explain(compiled, bindings)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Explanation)(JSON.parse(JSON.stringify(first))), first)
    assert.deepInclude(explain(compiled, { jwt: { rest: { sub: "bob" } } }).outcome, { value: "true" })
    assert.deepStrictEqual(explain(compiled, bindings), first)
  })

  it("hides secrets and what is made of them", () => {
    const hidden = [
      "jwt.rawToken",
      "jwt.rawToken.unredacted()",
      'jwt.rawToken.unredacted().split(".")',
      "request.headers.authorization",
      'request.headers["Authorization"]',
      'request.headers["x-hidden"]',
      "request.headers.authorization.substring(7)",
      'request.headers.authorization.split(" ").map(part, part + "!")',
      "request.headers",
      "request",
      "cel.bind(r, request, r.headers.authorization)",
      'cel.bind(h, request.headers, h["authorization"])',
      "request.headers.map(name, request.headers[name])",
      "variables()",
      "bearer()",
      "shout(bearer())",
      "fail(request.headers.authorization)",
      "sha256.encode(request.headers.authorization)",
      "toJson(request.headers)",
      'default(request.headers.authorization, "")',
      "[jwt.rawToken.unredacted()].filter(t, true)"
    ]
    for (const source of hidden) {
      const text = JSON.stringify(explained(source))
      for (const secret of ["s3cret", "hush", "eyJ", "Bearer s", "S3CRET"]) assert.notInclude(text, secret, source)
    }
  })

  it("hides what is made of a query that may hold a credential", () => {
    const shown = (source: string, name: string, ...parameters: ReadonlyArray<string>) =>
      JSON.stringify(
        explain(Result.getOrThrow(compile(source, { phase: "log" })), {
          request: {
            uri: `http://a.example/x?${name}=s3cret&page=2`,
            pathAndQuery: `/x?${name}=s3cret`,
            path: "/x"
          },
          sensitiveParameters: new Set(parameters)
        })
      )
    for (const source of [
      "request.uri",
      'request.uri.query("ticket")[0]',
      'request["pathAndQuery"].split("=")',
      "cel.bind(r, request, r.uri)"
    ]) {
      assert.notInclude(shown(source, "ticket", "ticket"), "s3cret", source)
      assert.notInclude(shown(source, "access_token"), "s3cret", source)
      if (!source.includes("bind")) assert.include(shown(source, "ticket", "page_token"), "s3cret", source)
    }
    assert.include(shown("request.path", "ticket", "ticket"), '\\"/x\\"')
  })

  it("shows what a secret decided, and what is none", () => {
    assert.deepInclude(explained('request.headers.authorization.startsWith("Bearer ")').outcome, { value: "true" })
    assert.deepInclude(explained('request.headers["x-tenant"]').outcome, { value: '"acme"' })
    assert.include(JSON.stringify(explained("request.headers.redacted()").outcome), "acme")
    assert.deepInclude(explained("shout(jwt.sub)").outcome, { value: '"ALICE!"' })
  })
})
