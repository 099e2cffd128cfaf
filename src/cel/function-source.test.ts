import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { type Bindings, CelError, compile, explain, parseFunctions } from "./expression.ts"

const source = `
# What a tenant is called.
tenant() { default(jwt.tenant, "none") } # after a definition, too
label(a, b) { a + "#" + b }  # a '#' inside a string is no comment
this.shout(mark) { this.upperAscii() + mark }
any(first, rest...) { first in rest }
count(all...) { size(all) }
orElse(value, other) { default(value, other) }
shadow(request) { request + "!" }
greet(name) { label("hello", name).shout("?") }
`

const functions = Result.getOrThrow(parseFunctions(source))
const bindings: Bindings = { jwt: { rest: { sub: "alice" } }, request: { path: "/x" } }

const value = (expression: string) => {
  const outcome = Result.getOrThrow(compile(expression, { phase: "log", functions })).evaluate(bindings)
  return outcome instanceof CelError ? `${outcome.code}: ${outcome.message}` : outcome
}

const problems = (text: string) => {
  const result = parseFunctions(text)
  return Result.isFailure(result)
    ? result.failure.map(({ message, line, column }) => `${line}:${column} ${message}`)
    : []
}

describe("functions of the configuration", () => {
  it("are called like any other", () => {
    assert.strictEqual(value("tenant()"), "none")
    assert.strictEqual(value('label(jwt.sub, "1")'), "alice#1")
    assert.strictEqual(value('jwt.sub.shout("!!")'), "ALICE!!")
    assert.strictEqual(value("greet(jwt.sub)"), "HELLO#ALICE?")
    assert.strictEqual(value('any("b", "a", "b") && !any("c")'), true)
    assert.strictEqual(value("count() + count(1, 2)"), 2n)
    assert.strictEqual(value('[1, 2].map(x, label(string(x), label("a", "b"))).join(",")'), "1#a#b,2#a#b")
  })

  it("parameters hide variables, and names of the caller are not seen inside", () => {
    assert.strictEqual(value('shadow("a")'), "a!")
    assert.strictEqual(value("cel.bind(jwt, 1, tenant())"), "none")
  })

  it("an argument that fails is missing where the body asks whether it is", () => {
    assert.strictEqual(value('orElse(jwt.nope, "x")'), "x")
    assert.strictEqual(value('label(jwt.nope, "x")'), "no_such_key: label: no such key: nope")
  })

  it("an error is placed at the call", () => {
    const expression = Result.getOrThrow(compile('1 == 1 && label(jwt.sub, jwt.n) == "x"', { phase: "log", functions }))
    const outcome = expression.evaluate({ jwt: { rest: { sub: "a", n: 1 } } })
    assert.deepInclude(outcome as CelError, { code: "no_such_overload", start: 10, end: 31 })
    assert.strictEqual(
      explain(expression, { jwt: { rest: { sub: "a", n: 1 } } }).cause?.source,
      "label(jwt.sub, jwt.n)"
    )
  })

  it("the number of arguments is checked when the call is compiled", () => {
    const result = compile("label(1)", { phase: "log", functions })
    assert.strictEqual(Result.isFailure(result) && result.failure[0]!.message, "label takes 2 arguments")
  })

  it("cost work like any other loop", () => {
    const chain = Array.from({ length: 40 }, (_, i) => `f${i}(x) { ${i === 0 ? "x" : `f${i - 1}(x) + f${i - 1}(x)`} }`)
    const doubling = Result.getOrThrow(parseFunctions(chain.join("\n")))
    const result = compile("f39(jwt.n)", { phase: "log", functions: doubling })
    const outcome = Result.getOrThrow(result).evaluate({ jwt: { rest: { n: 1 } } })
    assert.strictEqual((outcome as CelError).code, "limit")
  })

  it("what is wrong with them is told with its place in the whole text", () => {
    assert.deepStrictEqual(problems("size(x) { x }"), ["1:1 size is the name of a built-in function"])
    assert.deepStrictEqual(problems("math(x) { x }"), ["1:1 math is the name of a built-in function"])
    assert.deepStrictEqual(problems("this.exists(x) { x }"), ["1:1 exists is the name of a built-in function"])
    assert.deepStrictEqual(problems("a() { 1 }\na() { 2 }"), ["2:1 a is defined twice"])
    assert.deepStrictEqual(problems("a(x) { b(x) }\nb(x) { a(x) }"), ["1:1 a calls itself", "2:1 b calls itself"])
    assert.deepStrictEqual(problems("a(x, x) { x }"), ["1:1 two parameters are named x"])
    assert.deepStrictEqual(problems("a(x..., y) { x }"), ["1:1 only the last parameter can collect the rest"])
    assert.deepStrictEqual(problems("a(1) { 1 }"), ["1:1 '1' is no parameter"])
    assert.deepStrictEqual(problems("a() { 1 + }"), ["1:11 the expression ends where a value is expected"])
    assert.deepStrictEqual(problems("# comment\na() {\n  requst.path }"), [
      "3:3 undeclared reference: requst; did you mean request?"
    ])
    assert.deepStrictEqual(problems("a() { {"), ["1:5 '{' is not closed: expected '}'"])
    assert.deepStrictEqual(problems("a() { 1 } nonsense"), [
      "1:11 expected a definition: name(parameters) { expression }"
    ])
    assert.deepStrictEqual(problems("  # nothing\n"), [])
  })
})
