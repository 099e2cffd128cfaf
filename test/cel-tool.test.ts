/** headgatectl cel: expressions over a written context, and over the traces of a running proxy. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Explanation } from "../spec/explanation.ts"
import { start } from "../src/main/library.ts"
import { origin } from "./origin.ts"
import { root } from "./program.ts"
import { ctl } from "./tool.ts"

const folder = mkdtempSync(join(tmpdir(), "headgatectl-cel-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string): string => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const context = fileOf(
  "context.json",
  JSON.stringify({
    request: { path: "/mcp", headers: { authorization: "Bearer s3cret", "x-hush": "hush" }, body: "{}" },
    jwt: { rawToken: "eyJ.s3cret", sub: "alice", roles: ["viewer", "ops"] }
  })
)

const configuration = fileOf(
  "config.yaml",
  `config:
  sensitiveHeaders: [x-hush]
  customFunctions: "isOps(token) { 'ops' in token.roles }"
gateways: { default: { port: 8080 } }
`
)

describe("cel eval", () => {
  const values: ReadonlyArray<readonly [expression: string, printed: string]> = [
    ["1 + 2", "3"],
    ["9223372036854775807", "9223372036854775807"],
    ["18446744073709551615u", "18446744073709551615"],
    ["1.5 / 0.0", '"Infinity"'],
    ['b"hi"', '"aGk="'],
    ['timestamp("2024-02-29T12:00:00.5+01:00")', '"2024-02-29T11:00:00.5Z"'],
    ['duration("1500ms")', '"1.5s"'],
    ["type(1u)", '"uint"'],
    ['cidr("10.0.0.0/8")', '"10.0.0.0/8"'],
    ["optional.none()", "null"],
    ["{1: [null, true]}", '{"1":[null,true]}'],
    ["jwt.roles.map(r, r.upperAscii())", '["VIEWER","OPS"]'],
    ["jwt.rawToken", '"<redacted>"'],
    ["request.headers.authorization", '"<redacted>"'],
    ['request.headers.authorization.startsWith("Bearer ")', "true"],
    ["request.headers", '"<redacted>"'],
    ['lists.range(2000).map(x, "ab").size() == 2000 ? lists.range(600) : []', `[${[...Array(600).keys()]}]`],
    ['"\\u009b31m\\n"', '"\\u009b31m\\n"']
  ]
  for (const [expression, printed] of values)
    it.live(expression, () =>
      Effect.gen(function* () {
        const ran = yield* ctl("cel", "eval", "--context", context, expression)
        assert.deepStrictEqual(ran, { code: 0, out: [printed], err: [] })
      })
    )

  it.live("takes the expression from a file, or from behind --", () =>
    Effect.gen(function* () {
      const file = fileOf("rule.cel", "// who\njwt.sub ==\n  'alice'\n")
      assert.deepStrictEqual((yield* ctl("cel", "eval", "-f", file, "--context", context)).out, ["true"])
      assert.deepStrictEqual((yield* ctl("cel", "eval", "--", "-1 < 2")).out, ["true"])
      const both = yield* ctl("cel", "eval", "-f", file, "true")
      assert.deepStrictEqual([both.code, both.out], [1, []])
      assert.match(both.err.join(), /expected one expression/)
    })
  )

  it.live("knows the functions of a configuration, and hides what it hides", () =>
    Effect.gen(function* () {
      const run = (...args: ReadonlyArray<string>) => ctl("cel", "eval", "--context", context, ...args)
      assert.deepStrictEqual((yield* run("--config", configuration, "isOps(jwt)")).out, ["true"])
      assert.match((yield* run("isOps(jwt)")).err.join(), /undeclared function: isOps/)
      assert.deepStrictEqual((yield* run('request.headers["x-hush"]')).out, ['"hush"'])
      assert.deepStrictEqual((yield* run("--config", configuration, 'request.headers["x-hush"]')).out, ['"<redacted>"'])
      const wrong = fileOf("wrong.yaml", 'config: { customFunctions: "a() { a() }" }\n')
      const broken = yield* run("--config", wrong, "true")
      assert.strictEqual(broken.code, 1)
      assert.match(broken.err.join(), /wrong\.yaml:1:\d+: config\.customFunctions: invalid function: a calls itself/)
    })
  )

  it.live("that fails: where and why, and its own code", () =>
    Effect.gen(function* () {
      const { code, out, err } = yield* ctl("cel", "eval", "--context", context, "jwt.sub + jwt.nope")
      assert.deepStrictEqual([code, out], [2, []])
      assert.deepStrictEqual(err.join("\n").split("\n"), [
        "<expression>:1:11: no such key: nope",
        "    jwt.sub + jwt.nope",
        "              ^"
      ])
    })
  )

  const unusable: ReadonlyArray<readonly [args: ReadonlyArray<string>, said: RegExp]> = [
    [["1 +"], /^<expression>:1:4: the expression ends where a value is expected\n {4}1 \+\n {7}\^$/],
    [["response.code", "--phase", "route"], /response does not exist in the route phase\n[\s\S]*available: apiKey/],
    [["true", "--phase", "nowhere"], /nowhere/],
    [["-f", join(folder, "none.cel")], /cannot read .*none\.cel: there is no such file/],
    [["true", "--context", join(folder, "none.json")], /cannot read .*none\.json: there is no such file/],
    [["true", "--context", fileOf("broken.json", "{")], /broken\.json is not JSON/],
    [["true", "--context", fileOf("list.json", "[]")], /^context: expected an object of variables$/],
    [["true", "--context", fileOf("typo.json", '{"jtw": {}}')], /^context: jtw: no such variable; there are apiKey/],
    [["true", "--trace", join(folder, "none.jsonl")], /cannot read .*none\.jsonl/],
    [["true", "--trace", fileOf("empty.jsonl", "")], /no snapshot/],
    [["true", "--event", "1"], /--event chooses an event of --trace/],
    [["true", "--trace", fileOf("empty.jsonl", ""), "--event", "1"], /the trace has 0 events/],
    [["true", "--config", join(folder, "none.yaml")], /cannot read .*none\.yaml/]
  ]
  for (const [args, said] of unusable)
    it.live(`${args.join(" ").replaceAll(folder, "")}: an error`, () =>
      Effect.gen(function* () {
        const { code, out, err } = yield* ctl("cel", "eval", ...args)
        assert.deepStrictEqual([code, out.filter((line) => !line.includes("DESCRIPTION"))], [1, []])
        assert.match(err.join("\n"), said)
      })
    )
})

describe("cel explain", () => {
  const source = `jwt.roles.exists(r, r == "admin") || request.headers.authorization.startsWith("Bearer ") && jwt.nope == 1`

  it.live("shows every part with its place and value, and the first cause of a failure", () =>
    Effect.gen(function* () {
      const { code, out } = yield* ctl(
        "cel",
        "explain",
        "--context",
        context,
        `jwt.sub == "bob" &&\n  request.path == "/"`
      )
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(out.join("\n").split("\n"), [
        '1:1  jwt.sub == "bob" && request.path == "/"  =>  false',
        '1:1    jwt.sub == "bob"  =>  false',
        '1:1      jwt.sub  =>  "alice"',
        '2:3    request.path == "/"  =>  not evaluated',
        "2:3      request.path  =>  not evaluated"
      ])
      const failed = yield* ctl("cel", "explain", "--context", context, source)
      assert.strictEqual(failed.code, 2)
      const text = failed.out.join("\n")
      assert.include(text, '1:21      r == "admin"  =>  false  (the last of 2 times)')
      assert.include(text, 'request.headers.authorization  =>  "<redacted>"')
      assert.include(text, "<expression>:1:93: no such key: nope")
      assert.notInclude(text, "s3cret")
    })
  )

  it.live("as JSON is what traces hold", () =>
    Effect.gen(function* () {
      const { code, out } = yield* ctl("cel", "explain", "--format", "json", "--context", context, source)
      assert.strictEqual(code, 2)
      const explanation = Schema.decodeUnknownSync(Explanation, { onExcessProperty: "error" })(
        JSON.parse(out.join("\n"))
      )
      assert.deepInclude(explanation.cause, { line: 1, column: 93, message: "no such key: nope" })
    })
  )
})

describe("cel check", () => {
  it.live("tells every problem with its line, and the names that could stand there", () =>
    Effect.gen(function* () {
      const file = fileOf("faults.cel", 'jwt.sub == "a" &&\n  requst.path == "/" || request.path.startWith("/")')
      const text = yield* ctl("cel", "check", "-f", file, "--phase", "route")
      assert.strictEqual(text.code, 1)
      const lines = text.out.join("\n").split("\n")
      assert.deepStrictEqual(lines.slice(0, 3), [
        `${file}:2:3: undeclared reference: requst; did you mean request?`,
        '      requst.path == "/" || request.path.startWith("/")',
        "      ^"
      ])
      assert.match(lines[3]!, /^ {4}available: apiKey, .*request, source$/)
      assert.include(lines[4], `${file}:2:38: undeclared function: startWith; did you mean startsWith?`)
      assert.match(lines.at(-1)!, /available: .*startsWith/)

      const json = yield* ctl("cel", "check", "-f", file, "--phase", "route", "--format", "json")
      const { valid, problems } = JSON.parse(json.out.join("\n"))
      assert.deepStrictEqual([json.code, valid, problems.length], [1, false, 2])
      assert.deepInclude(problems[0], { line: 2, column: 3, start: 20, end: 26 })
      const github = yield* ctl("cel", "check", "-f", file, "--phase", "route", "--format", "github")
      assert.match(github.out.join("\n"), /^::error file=.*faults\.cel,line=2,col=3::undeclared reference: requst/)
    })
  )

  it.live("tells what a right one reads, which bodies it needs, and the bound of its work", () =>
    Effect.gen(function* () {
      const source = 'size(request.body) > 5 && jwt.roles.exists(r, r == "x") && [1, 2].all(i, i < 3)'
      const text = yield* ctl("cel", "check", source)
      assert.strictEqual(text.code, 0)
      assert.deepStrictEqual(text.out.join("\n").split("\n"), [
        "type:    bool",
        "reads:   jwt.roles, request.body",
        "buffers: request body",
        "cost:    0 steps or more in macros, by what they run over; an evaluation ends after 100000"
      ])
      assert.match((yield* ctl("cel", "check", "[1, 2].map(i, i)")).out.join(), /cost: {4}\d+ to \d+ steps in macros/)
      const json = yield* ctl("cel", "check", "--format", "json", 'response.bodyPrefix == b"" || llm.prompt == []')
      assert.deepInclude(JSON.parse(json.out.join("\n")), {
        valid: true,
        problems: [],
        type: "bool",
        reads: ["llm.prompt", "response.bodyPrefix"],
        requestBody: false,
        responseBodyPrefix: true,
        llmPrompt: true
      })
      assert.deepStrictEqual(yield* ctl("cel", "check", "--format", "github", "true"), { code: 0, out: [], err: [] })
    })
  )
})

describe("cel, over saved traces", () => {
  /** The traces of a request that passed and of one that a rule refused. */
  const traced = Effect.gen(function* () {
    const backend = yield* origin({ status: 201, body: '{"made": 3}' })
    const gateway = yield* start(
      `gateways: { default: { port: 8080 } }
routes:
  - policies:
      authorization: { rules: ['request.headers["x-team"] == "engines"'] }
      requestHeaderModifier: { set: { x-team: changed } }
    backends: [{ host: "${backend.address}" }]
`,
      { ephemeral: true, host: "127.0.0.1" }
    )
    const trace = (name: string, ...curl: ReadonlyArray<string>) =>
      Effect.gen(function* () {
        const admin = ["--local", "--raw", "--proxy-admin-port", String(gateway.ports.admin)]
        const port = ["--port", String(gateway.port(8080))]
        const url = ["--", "http://shop.example/orders?x=1", "-H", "authorization: Bearer s3cret", ...curl]
        const { out } = yield* ctl("proxy", "trace", ...admin, ...port, ...url)
        return fileOf(name, out.join("\n"))
      })
    return {
      passed: yield* trace("passed.jsonl", "-H", "x-team: engines", "-d", '{"n": 1}'),
      denied: yield* trace("denied.jsonl", "-H", "x-team: wheels", "-d", '{"n": 1}')
    }
  })

  it.live("the phase chooses the snapshot, or an event does, and a context goes over it", () =>
    Effect.gen(function* () {
      const { passed, denied } = yield* traced
      const over = (trace: string, ...args: ReadonlyArray<string>) =>
        Effect.map(ctl("cel", "eval", "--trace", trace, ...args), ({ code, out, err }) =>
          code === 0 ? out[0] : err[0]
        )
      const team = 'request.headers["x-team"]'
      assert.strictEqual(yield* over(passed, "--phase", "gateway", team), '"engines"')
      assert.strictEqual(yield* over(passed, "--phase", "route", team), '"changed"')
      assert.strictEqual(yield* over(passed, "--event", "2", team), '"engines"')
      assert.strictEqual(yield* over(passed, "response.code"), "201")
      assert.strictEqual(yield* over(passed, "json(request.body).n + json(response.body).made"), "4")
      assert.strictEqual(yield* over(passed, "--phase", "llm", "llmRequest.n"), "1")
      assert.strictEqual(yield* over(passed, "--phase", "response", "backend.type"), '"static"')
      const written = fileOf("over.json", '{"jwt": {"sub": "bob"}}')
      assert.strictEqual(yield* over(passed, "--context", written, "jwt.sub + request.path"), '"bob/orders"')
      // A request that was stopped has no snapshot after the phase: the last one knows the most.
      assert.strictEqual(yield* over(denied, "--phase", "route", team), '"wheels"')
      assert.strictEqual(yield* over(denied, "response.code"), "403")
    })
  )

  it.live("what the trace does not hold is told", () =>
    Effect.gen(function* () {
      const { denied } = yield* traced
      const hidden = yield* ctl("cel", "eval", "--trace", denied, 'request.headers.authorization == "Bearer s3cret"')
      assert.deepStrictEqual([hidden.code, hidden.out], [0, ["false"]])
      assert.match(hidden.err.join(), /^note: the trace does not hold request\.headers\.authorization: /)
      const body = yield* ctl("cel", "eval", "--trace", denied, "size(request.body)")
      assert.strictEqual(body.code, 2)
      assert.match(body.err.join(), /^note: the trace does not hold the body of the request: /)
    })
  )

  it.live("a denial explains itself in the trace, and the tool gives the same explanation", () =>
    Effect.gen(function* () {
      const { denied } = yield* traced
      const { out } = yield* ctl("proxy", "trace", "-f", denied)
      const line = out.find((each) => each.includes("authorizationResult"))
      assert.match(line!, /deny: allow request\.headers\["x-team"\] == "engines" does not hold$/)
      const raw = yield* ctl("proxy", "trace", "-f", denied, "--raw")
      const events = raw.out.map((each) => JSON.parse(each))
      const { message } = events.find((event) => event.message.type === "authorizationResult")
      const [rule] = message.rules
      const again = yield* ctl("cel", "explain", "--format", "json", "--trace", denied, rule.name)
      assert.deepStrictEqual(JSON.parse(again.out.join("\n")), rule.explanation)
      assert.deepInclude(rule.explanation.steps[0].parts[0].outcome, { value: '"wheels"' })
    })
  )
})

describe("the program", () => {
  it("reads standard input, and ends with the code of what came out", async () => {
    const run = (input: string, ...args: ReadonlyArray<string>) =>
      new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
        const child = execFile(
          process.execPath,
          [join(root, "bin/headgatectl.mjs"), "cel", ...args],
          (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err })
        )
        child.stdin?.end(input)
      })
    const [value, failed] = await Promise.all([
      run("jwt.sub +\n '!'\n", "eval", "--context", context),
      run("jwt.nope", "eval")
    ])
    assert.deepStrictEqual(value, { code: 0, out: '"alice!"\n', err: "" })
    assert.deepStrictEqual([failed.code, failed.out], [2, ""])
    assert.match(failed.err, /^<stdin>:1:1: no such key: nope\n/)
  })
})
