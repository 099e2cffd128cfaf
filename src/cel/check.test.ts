import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { type CelProblem, type CompileOptions, compile } from "./expression.ts"

const problems = (source: string, options: Partial<CompileOptions> = {}): ReadonlyArray<CelProblem> => {
  const result = compile(source, { phase: "route", ...options })
  return Result.isFailure(result) ? result.failure : []
}

const only = (source: string, options: Partial<CompileOptions> = {}): CelProblem => {
  const found = problems(source, options)
  assert.strictEqual(found.length, 1, `${source}: ${found.map(({ message }) => message)}`)
  return found[0]!
}

/** The text that a problem points at. */
const pointed = (source: string, options: Partial<CompileOptions> = {}) => {
  const { start, end } = only(source, options)
  return source.slice(start, end)
}

describe("static checks", () => {
  it("a name that does not exist is reported with its place and the names that do", () => {
    const { message, line, column, available } = only('jwt.sub == "a" &&\n  requst.path == "/"')
    assert.strictEqual(message, "undeclared reference: requst; did you mean request?")
    assert.deepStrictEqual([line, column], [2, 3])
    assert.includeMembers([...available], ["request", "jwt", "source"])
    assert.notInclude(available, "response", "only the names of the phase are offered")
    assert.include(only("[1].map(x, y)").available, "x")
  })

  it("a field that a variable does not have is reported with those that it has", () => {
    const { message, available } = only("request.pth")
    assert.strictEqual(message, "no such field: pth; did you mean path?")
    assert.include(available, "path")
    assert.strictEqual(pointed('source.identity["spiffe"] == "x"'), 'source.identity["spiffe"]')
    assert.deepStrictEqual(problems("jwt.anything.at.all == 1"), [], "claims are known at run time only")
  })

  it("a variable that the phase does not have cannot be read, and what guards against that can", () => {
    assert.strictEqual(only("response.code == 200").message, "response does not exist in the route phase")
    assert.strictEqual(only("llm.cost.total > 1.0").message, "llm does not exist in the route phase")
    for (const source of [
      "has(response.code)",
      "default(response.code, 0) == 0",
      "response == null",
      "response.?code.orValue(0)",
      "coalesce(response.code, 1)"
    ])
      assert.deepStrictEqual(problems(source), [], source)
    assert.deepStrictEqual(problems("response.code == 200", { phase: "response" }), [])
    assert.strictEqual(
      only("mcp.tool.arguments.x == 1", { phase: "mcp" }).message,
      "arguments does not exist in the mcp phase"
    )
    assert.deepStrictEqual(problems("mcp.tool.arguments.x == 1", { phase: "log" }), [])
    assert.strictEqual(
      only("request.path == ''", { phase: "network" }).message,
      "request does not exist in the network phase"
    )
  })

  it("a function that does not exist is reported with those that could stand there", () => {
    const { message, available } = only("request.path.startWith('/')")
    assert.strictEqual(message, "undeclared function: startWith; did you mean startsWith?")
    assert.include(available, "startsWith")
    assert.notInclude(available, "containsIP", "only methods of the receiver's kind")
    assert.include(only("sise('x')").available, "size")
    assert.deepStrictEqual(problems("default(nothing(1), 2)"), [], "default() takes what does not exist for missing")
  })

  it("operators and functions are reported where they can only fail", () => {
    const reported: Readonly<Record<string, string>> = {
      "request.path + 1": "no such overload: string + int",
      "1 + 1.0": "no such overload: int + double",
      "request.path < 1": "no such overload: string < int",
      "!request.path": "! needs a bool, this is a string",
      "request.path && true": "&& needs a bool, this is a string",
      "1 ? 2 : 3": "?: needs a bool, this is a int",
      "-'a'": "a string cannot be negated",
      "1 in 2": "no such overload: int in int",
      "'a'.b": "a string has no fields",
      "[1]['a']": "a list has no element named by a string",
      "{1.5: 1}": "a double cannot be the key of a map",
      "request.path.startsWith(1)": "no such overload: startsWith(string, int)",
      "size(1)": "no such overload: size(int)",
      "'a'.startsWith()": "startsWith does not take 0 arguments",
      "jwt.rawToken.contains('x')":
        "no such overload: contains(secret, string); unredacted() gives the text of a secret",
      "[1].filter(x, 'a')": "filter needs a bool, this is a string",
      "1.map(x, x)": "map needs a list or a map, this is a int",
      "[1].map(x, x.y)": "a int has no fields",
      "request.path.matches('(?=a)')":
        "the pattern is not valid: look-ahead and look-behind, as (?= and (?<!, are not in RE2; write a second condition in their place"
    }
    for (const [source, message] of Object.entries(reported)) assert.strictEqual(only(source).message, message, source)
  })

  it("what run time may make right is left to run time", () => {
    for (const source of [
      "jwt.n + 1 == 2.0",
      "jwt.a < jwt.b",
      "1 == 1.0 && 1u < 2.5",
      "request.path == 5",
      "jwt.list[0].x in jwt.map",
      "[1, 'a'].map(x, x)",
      "(jwt.a ? 1 : 'a') == 1",
      "dyn(1) + jwt.x == 2",
      "request.headers['x'].split(',')[0] == 'a'",
      "int(timestamp('2024-01-01T00:00:00Z') - request.startTime < duration('1h') ? 1 : 0) == 1"
    ])
      assert.deepStrictEqual(problems(source), [], source)
  })

  it("all problems are told at once, in the order of the text", () => {
    const found = problems("requst.path == 'a' || request.pth == 1 + 'b' || 'x'.matches('(')")
    assert.deepStrictEqual(
      found.map(({ message }) => message.split(":")[0]),
      ["undeclared reference", "no such field", "no such overload", "the pattern is not valid"]
    )
  })

  it("a rule must not surely give something else than a bool", () => {
    assert.strictEqual(
      only("request.path", { expect: "bool" }).message,
      "the expression gives a string where a bool is needed"
    )
    assert.deepStrictEqual(problems("jwt.admin", { expect: "bool" }), [])
    assert.deepStrictEqual(problems("request.path == '/'", { expect: "bool" }), [])
  })

  it("unchecked, everything that parses compiles and fails when it is evaluated", () => {
    const result = compile("requst.path == '/' || nothing(1)", { phase: "route", unchecked: true })
    assert.isTrue(Result.isSuccess(result) && !result.success.test({}))
  })

  it("syntax is reported where it breaks", () => {
    const broken: Readonly<Record<string, readonly [message: string, column: number]>> = {
      "": ["the expression ends where a value is expected", 1],
      "a +": ["the expression ends where a value is expected", 4],
      "(1 + 2": ["'(' is not closed: expected ')'", 1],
      "[1, 2)": ["')' cannot close '[': expected ']'", 6],
      "1)": ["')' closes nothing", 2],
      "'abc": ["the string is not closed", 1],
      "'a\nb'": ["the string is not closed on its line", 1],
      "a b": ["unexpected 'b'", 3],
      "a = b": ["unexpected '='; equality is ==", 3],
      "a ? b": ["expected ':', got the end", 6],
      "99999999999999999999": ["the integer does not fit 64 bits; write a double with a decimal point", 1],
      "b'\\u0041'": ["'\\u' is no escape sequence of bytes", 3],
      "a.`b c d": ["backquotes may only enclose the name of a field after a dot", 3],
      "Message{field: 1}": ["unexpected '{'", 8]
    }
    for (const [source, [message, column]] of Object.entries(broken)) {
      const problem = only(source)
      assert.deepStrictEqual([problem.message, problem.column], [message, column], source)
    }
  })
})
