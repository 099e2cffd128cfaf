import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { parse } from "yaml"
import {
  type Bindings,
  CelError,
  type CelValue,
  type CompileOptions,
  compile,
  fromJson,
  parseFunctions,
  SecretValue,
  toJson,
  toText,
  Uint
} from "./expression.ts"

const compiled = (source: string, options: Partial<CompileOptions> = {}) =>
  Result.getOrThrow(compile(source, { phase: "log", ...options }))

const bindings: Bindings = {
  request: {
    method: "GET",
    headers: ["x-one", "1"],
    body: null,
    startTime: Date.UTC(2024, 0, 1)
  },
  jwt: {
    rawToken: "eyJ",
    rest: {
      sub: "alice",
      n: 3,
      exp: 1_700_000_000,
      ratio: 0.5,
      big: 2 ** 53,
      team: null,
      groups: ["a", "b"],
      nested: { x: { y: 1 } },
      "odd-name": "quoted"
    }
  },
  backend: { name: "b", type: "mcp" },
  source: { subjectAltNames: ["spiffe://cluster/ns/a"] },
  proxy: { upstreamDuration: 12.5 }
}

interface Case {
  readonly expr: string
  readonly value?: unknown
  readonly error?: string
  readonly problem?: string
}

const answer = (source: string): Case => {
  const result = compile(source, { phase: "log" })
  if (Result.isFailure(result)) return { expr: source, problem: result.failure[0]!.message }
  const outcome = result.success.evaluate(bindings)
  if (outcome instanceof CelError) return { expr: source, error: outcome.code }
  return { expr: source, value: JSON.parse(toJson(outcome) as string) as unknown }
}

describe("the language", () => {
  const file = readFileSync(join(import.meta.dirname, "fixtures", "language.yaml"), "utf8")
  for (const [title, cases] of Object.entries(parse(file) as Record<string, ReadonlyArray<Case>>))
    it(title, () => {
      for (const each of cases) {
        const { problem, ...rest } = answer(each.expr)
        if (each.problem !== undefined) assert.include(problem, each.problem, each.expr)
        else assert.deepStrictEqual({ ...rest, problem }, { ...each, problem: undefined }, each.expr)
      }
    })
})

describe("an expression", () => {
  it("is true only if it is exactly true", () => {
    assert.isTrue(compiled('jwt.sub == "alice"').test(bindings))
    for (const source of ['jwt.sub == "bob"', "jwt.sub", "jwt.nope == 1", "1 / 0 == 1"])
      assert.isFalse(compiled(source).test(bindings), source)
  })

  it("reads only what it needs", () => {
    const read: Array<string> = []
    const watched: Bindings = {
      get request() {
        read.push("request")
        return {
          get method() {
            read.push("method")
            return "GET"
          },
          get body(): Uint8Array {
            throw new Error("nobody asked for the body")
          }
        }
      },
      get jwt(): never {
        throw new Error("nobody asked for the claims")
      }
    }
    assert.isTrue(compiled('request.method == "GET" || jwt.sub == "x" || size(request.body) > 1').test(watched))
    assert.deepStrictEqual(read, ["request", "method"])
  })

  it("can be evaluated while it is being evaluated", () => {
    const inner = compiled("[1, 2].map(x, x + int(jwt.n))")
    const claims = { depth: 0 }
    const reentrant: Bindings = {
      get jwt() {
        claims.depth++
        if (claims.depth === 1)
          assert.strictEqual(toJson(inner.evaluate({ jwt: { rest: { n: 10 } } }) as CelValue), "[11,12]")
        return { rest: { n: 1 } }
      }
    }
    assert.strictEqual(toJson(inner.evaluate(reentrant) as CelValue), "[2,3]")
  })

  it("keeps nothing of a request after its evaluation", () => {
    const expr = compiled("request.method")
    expr.evaluate(bindings)
    assert.instanceOf(expr.evaluate({}), CelError)
  })

  it("fails with the place of the first cause, at no cost of an exception", () => {
    const missing = compiled('1 == 2 || jwt.nope.deeper == "x"')
    const first = missing.evaluate(bindings)
    assert.instanceOf(first, CelError)
    assert.deepInclude(first as CelError, { code: "no_such_key", message: "no such key: nope", start: 10, end: 18 })
    assert.notInstanceOf(first, Error)
    assert.strictEqual(missing.evaluate(bindings), first, "a missing key that the text names is one value for ever")
  })

  it("knows its value when it depends on nothing", () => {
    assert.strictEqual(compiled("1 + 2 * 3").constant, 7n)
    assert.strictEqual(toJson(compiled('["a", "b" + "c"]').constant!), '["a","bc"]')
    assert.isUndefined(compiled("1 / 0").constant)
    assert.isUndefined(compiled("random()").constant)
    assert.isUndefined(compiled("jwt.n + 1").constant)
  })

  it("bounds its work where the text tells it", () => {
    assert.deepStrictEqual(compiled("jwt.n == 1").cost, { least: 0, most: 0 })
    assert.deepStrictEqual(compiled("[1, 2, 3].map(x, x)").cost, { least: 6, most: 6 })
    assert.strictEqual(compiled("jwt.groups.exists(x, x == 1)").cost.most, Number.POSITIVE_INFINITY)
    const bomb = `${"[1,2,3,4,5,6,7,8,9,10].map(a, ".repeat(6)}a${")".repeat(6)}`
    const result = compile(bomb, { phase: "log" })
    assert.isTrue(Result.isFailure(result))
    assert.include(Result.isFailure(result) && result.failure[0]!.message, "needs more work")
  })

  it("refuses what is too long or too deep, without looking at the rest", () => {
    const refused = (source: string) => {
      const result = compile(source, { phase: "log" })
      return Result.isFailure(result) ? result.failure[0]!.message : "compiled"
    }
    assert.include(refused(`"${"x".repeat(16_384)}"`), "longer than 16384")
    for (const deep of ["(", "[", "{1:", "!", "-"]) assert.include(refused(deep.repeat(5_000)), "nests deeper", deep)
    assert.include(refused(`1${"+1".repeat(5_000)}`), "nests deeper")
    assert.strictEqual(refused(`true${"&&true".repeat(2_000)}`), "compiled", "a chain of one operator is not deep")
  })
})

describe("attributes", () => {
  const paths = (source: string, options: Partial<CompileOptions> = {}) =>
    [...compiled(source, options).attributes.paths].sort()

  it("are the paths that are read, one level deep", () => {
    assert.deepStrictEqual(paths('jwt.a.b == "x" && request.headers["x"] == "y"'), ["jwt.a", "request.headers"])
    assert.deepStrictEqual(paths('jwt["a"].b == request["path"]'), ["jwt.a", "request.path"])
    assert.deepStrictEqual(paths("has(llm.requestModel) && default(jwt.nope, 1) == 1"), [
      "jwt.nope",
      "llm.requestModel"
    ])
  })

  it("leave out the names that the expression introduces", () => {
    assert.deepStrictEqual(paths("jwt.groups.exists(request, request == 1)"), ["jwt.groups"])
    assert.deepStrictEqual(paths("cel.bind(jwt, request.path, jwt)"), ["request.path"])
    assert.deepStrictEqual(paths("jwt.groups.exists(jwt, jwt == .jwt.sub)"), ["jwt.groups", "jwt.sub"])
  })

  it("are the whole variable where only run time tells the part", () => {
    assert.deepStrictEqual(paths("request[jwt.key]"), ["jwt.key", "request"])
    assert.isTrue(compiled("request[jwt.key] == null").attributes.requestBody)
    assert.isTrue(compiled("cel.bind(r, request, r.path)").attributes.requestBody)
    assert.isTrue(compiled("size(variables()) > 0").attributes.responseBody)
  })

  it("tell which bodies and conversations must be kept", () => {
    const { attributes } = compiled('json(request["body"]).model == "x" || llm.prompt[0].role == "user"')
    assert.deepInclude(attributes, { requestBody: true, responseBody: false, llmPrompt: true, llmCompletion: false })
    assert.isFalse(compiled("request.path == response.headers.x").attributes.requestBody)
    assert.isTrue(compiled("size(response.bodyPrefix) > 0").attributes.responseBodyPrefix)
  })

  it("pass through functions of the configuration", () => {
    const functions = Result.getOrThrow(parseFunctions("model() { json(request.body).model } name(jwt) { jwt }"))
    assert.isTrue(compiled('model() == "x"', { functions }).attributes.requestBody)
    assert.deepStrictEqual(paths("name(1)", { functions }), [])
  })
})

describe("conversions for the host", () => {
  it("JSON integers are ints, what is beyond them uints and doubles", () => {
    assert.strictEqual(fromJson(3), 3n)
    assert.strictEqual(fromJson(2.5), 2.5)
    assert.deepStrictEqual(fromJson(2 ** 63), new Uint(2n ** 63n))
    assert.strictEqual(fromJson(1e300), 1e300)
    assert.strictEqual(fromJson(123456789012345678n), 123456789012345678n)
    const object = { a: 1 }
    assert.strictEqual(fromJson(object), object, "containers are not copied")
  })

  it("values have one form as JSON and one as text", () => {
    const value = compiled('{"i": 1, "u": 2u, "b": b"hi", "t": timestamp(0), "l": [null, 1.5]}').constant!
    assert.strictEqual(toJson(value), '{"i":1,"u":2,"b":"aGk=","t":"1970-01-01T00:00:00Z","l":[null,1.5]}')
    assert.strictEqual(toText("as it is"), "as it is")
    assert.strictEqual(toText(new TextEncoder().encode("é")), "é")
    assert.strictEqual(toText(12n), "12")
    assert.strictEqual(toText([1, "a"]), '[1,"a"]')
  })

  it("secrets stay secret in both, and in what JavaScript makes of them", () => {
    const secret = new SecretValue("hush")
    for (const text of [
      toText(secret),
      toJson(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      toText([{ a: secret }])
    ])
      assert.isFalse(String(text).includes("hush"))
    assert.strictEqual(secret.unredacted(), "hush")
  })

  it("further variables are given beside those of the phase", () => {
    const expr = compiled('key + ":" + jwt.sub', { extra: ["key"] })
    assert.strictEqual(expr.evaluate({ ...bindings, extra: { key: "k" } }), "k:alice")
    assert.instanceOf(expr.evaluate(bindings), CelError)
  })
})
