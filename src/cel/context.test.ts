import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { contextOf } from "./context.ts"
import { CelError, compile, toJson } from "./expression.ts"

const context = {
  request: {
    method: "POST",
    headers: { "X-One": "1", "x-two": ["a", "b"] },
    body: '{"n": 9007199254740993}',
    bodyPrefix: { base64: "/w==" },
    startTime: "2024-02-29T12:00:00.5Z"
  },
  response: { code: 503 },
  jwt: { rawToken: "eyJ", sub: "alice", n: 7, nothing: null },
  metadata: { tier: 3 },
  source: { subjectAltNames: ["a.example", "b.example"] },
  llm: { streaming: true, timeToFirstToken: "1.5s", cost: { total: 0.25 }, prompt: [{ role: "user", content: "hi" }] },
  backend: null
}

const values: Readonly<Record<string, string>> = {
  'request.headers["x-one"] + request.headers["x-two"].join("")': '"1ab"',
  "json(request.body).n + 1": "9007199254740994",
  "request.bodyPrefix": '"/w=="',
  "request.startTime.getDayOfYear()": "59",
  "request.startTime": '"2024-02-29T12:00:00.5Z"',
  "response.code >= 500": "true",
  "jwt.rawToken": '"<redacted>"',
  'jwt.rawToken.unredacted() + string(jwt.n + 1) + (jwt.nothing == null ? "!" : "")': '"eyJ8!"',
  "metadata.tier + 1": "4",
  '"b.example" in source.subjectAltNames': "true",
  'llm.timeToFirstToken > duration("1s") && llm.streaming': "true",
  "llm.cost.total * 2.0": "0.5",
  "llm.prompt[0].role": '"user"',
  "backend == null": "true"
}

describe("a context written as JSON", () => {
  it("is what the host would hold", () => {
    const bindings = Result.getOrThrow(contextOf(context))
    for (const [source, expected] of Object.entries(values)) {
      const outcome = Result.getOrThrow(compile(source, { phase: "log" })).evaluate(bindings)
      assert.strictEqual(outcome instanceof CelError ? outcome.message : toJson(outcome), expected, source)
    }
  })

  it("tells everything that no variable has, or has in another form", () => {
    const problemsOf = (json: unknown) =>
      Result.getOrThrow(Result.flip(contextOf(json))).map((each) => each.split(";")[0])
    assert.deepStrictEqual(problemsOf([]), ["expected an object of variables"])
    assert.deepStrictEqual(
      problemsOf({
        requst: {},
        request: { pth: "/", path: 1, headers: { a: 1 }, body: [], startTime: "now" },
        response: { code: 1.5 },
        source: { identity: [], port: "1" },
        llm: { timeToFirstToken: "soon", streaming: "yes", cost: { total: "1" } }
      }),
      [
        "requst: no such variable",
        "request.pth: no such field",
        "request.path: expected a text",
        "request.headers: expected an object of texts, or lists of them",
        'request.body: expected a text, or { "base64": … }',
        "request.startTime: expected a time as 2026-01-31T12:00:00Z",
        "response.code: expected an integer",
        "source.identity: expected an object",
        "source.port: expected an integer",
        "llm.timeToFirstToken: expected a duration as 1.5s",
        "llm.streaming: expected true or false",
        "llm.cost.total: expected a number"
      ]
    )
  })

  it("takes any name for what it is", () => {
    const bindings = Result.getOrThrow(contextOf(JSON.parse('{"jwt": {"__proto__": 1, "constructor": "x"}}')))
    const claim = (source: string) => Result.getOrThrow(compile(source, { phase: "log" })).evaluate(bindings)
    assert.strictEqual(claim("jwt.__proto__"), 1n)
    assert.strictEqual(claim("jwt.constructor"), "x")
    assert.isTrue(Result.isFailure(contextOf(JSON.parse('{"__proto__": {}}'))))
  })
})
