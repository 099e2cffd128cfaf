import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema } from "effect"
import type { StageMessage } from "../../spec/trace-events.ts"
import type { Bindings } from "../cel/bindings.ts"
import { HeaderList } from "../http/header-list.ts"
import { RequestHead } from "../http/message.ts"
import { Exchange } from "./exchange.ts"
import { mcpAuthorizer } from "./mcp-rules.ts"
import { compileRules } from "./rules.ts"

/** Expressions by what becomes of them. */
const texts = { true: "true", false: "1 == 2", error: "jwt.absent == 1", "no boolean": '"true"' } as const

const Rule = Schema.Struct({
  effect: Schema.Literals(["allow", "deny", "require"]),
  becomes: Schema.Literals(["true", "false", "error", "no boolean"])
})

const exchange = () =>
  new Exchange(
    new RequestHead("POST", "http", "example.com", "/mcp", new HeaderList(["x-team", "engines"])),
    undefined,
    { address: "192.0.2.1", port: 1, rawAddress: "192.0.2.1", rawPort: 1 },
    0,
    0
  )

describe("rules", () => {
  it.effect.prop(
    "deny before require before allow; what cannot be evaluated, or is no boolean, is false",
    [Arbitrary.array(Arbitrary.schema(Rule), { maxLength: 6 })],
    ([rules]) =>
      Effect.gen(function* () {
        const holds = (effect: string) =>
          rules.filter((rule) => rule.effect === effect).map((r) => r.becomes === "true")
        const expected =
          !holds("deny").includes(true) &&
          !holds("require").includes(false) &&
          (holds("allow").length === 0 || holds("allow").includes(true))
        const compiled = yield* compileRules(
          rules.map(({ effect, becomes }) => ({ effect, expression: texts[becomes] })),
          "route",
          ["rules"]
        )
        const { variables } = exchange()
        assert.strictEqual(compiled.decide(variables), expected ? "allow" : "deny")
        // Explaining changes nothing, and leaves no rule out.
        const explained = compiled.explain(variables)
        assert.strictEqual(explained.ruling === "allow", expected)
        assert.deepStrictEqual(
          explained.rules.map(({ explanation: _, ...outcome }) => outcome),
          rules.map(({ effect, becomes }) => ({
            name: texts[becomes],
            matched: becomes === "true",
            mode: effect
          }))
        )
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect("every rule that does not compile is a problem at its place", () =>
    Effect.gen(function* () {
      const rules = ["1 +", "true", "(("].map((expression) => ({ effect: "deny" as const, expression }))
      const problems = yield* Effect.flip(compileRules(rules, "route", ["policies", "authorization", "rules"]))
      assert.deepStrictEqual(
        problems.map(({ path }) => path.join(".")),
        ["policies.authorization.rules.0", "policies.authorization.rules.2"]
      )
    })
  )

  it.effect("know whether a body must be read before", () =>
    Effect.gen(function* () {
      const preparing = (expression: string) =>
        Effect.map(compileRules([{ effect: "allow", expression }], "route", []), ({ prepare }) => prepare !== undefined)
      assert.isFalse(yield* preparing('request.headers["x"] == "y"'))
      assert.isTrue(yield* preparing("size(request.body) > 1"))
      assert.isTrue(yield* preparing("size(request.bodyPrefix) > 1"))
    })
  )
})

describe("rules over MCP", () => {
  const tool = (name: string, target = "files") => ({ kind: "tool", target, name, method: "tools/call" }) as const
  const prompt = { kind: "prompt", target: "files", name: "echo", method: "prompts/get" } as const

  it.effect("see the item and the request, and nothing of another kind", () =>
    Effect.gen(function* () {
      const rules = yield* compileRules(
        [
          { effect: "allow", expression: 'mcp.tool.name == "echo" && request.headers["x-team"] == "engines"' },
          { effect: "deny", expression: 'mcp.tool.target == "secret"' }
        ],
        "mcp",
        []
      )
      const x = exchange()
      const may = mcpAuthorizer(rules, x, "session-1")
      assert.isTrue(may(tool("echo")))
      assert.isFalse(may(tool("delete")))
      assert.isFalse(may(tool("echo", "secret")))
      // A rule over tools is an error for a prompt, and so allows none.
      assert.isFalse(may(prompt))
      assert.isUndefined((x.variables as Bindings).mcp, "nothing is left of the question")
    })
  )

  it.effect("know the method and the session, and tell whoever watches", () =>
    Effect.gen(function* () {
      const source = 'mcp.methodName == "tools/call" && mcp.sessionId == "session-1"'
      const rules = yield* compileRules([{ effect: "require", expression: source }], "mcp", [])
      const told: Array<StageMessage> = []
      const x = exchange()
      const { request, variables } = x
      const watching = { request, variables, watched: true, tell: (event: StageMessage) => told.push(event) }
      assert.isTrue(mcpAuthorizer(rules, watching, "session-1")(tool("echo")))
      assert.isFalse(mcpAuthorizer(rules, watching, undefined)(tool("echo")))
      const [allowed, denied] = told.filter((event) => event.type === "authorizationResult")
      assert.deepInclude(allowed, { type: "authorizationResult", result: "allow" })
      assert.deepInclude(denied, { type: "authorizationResult", result: "deny" })
      for (const [event, matched] of [
        [allowed, true],
        [denied, false]
      ] as const)
        assert.deepInclude(event?.rules[0], { name: source, matched, mode: "require" })
      // Why: the part that decided, with its value.
      const [, session] = denied!.rules[0]!.explanation!.steps[0]!.parts
      assert.deepInclude(session, { source: 'mcp.sessionId == "session-1"', line: 1, column: 35 })
      assert.deepInclude(session?.parts[0]?.outcome, { kind: "error", message: "no such key: sessionId" })
    })
  )
})

describe("preparing", () => {
  it.effect("a body that is in memory costs no fiber", () =>
    Effect.gen(function* () {
      const { prepare } = yield* compileRules([{ effect: "allow", expression: "size(request.body) == 0" }], "route", [])
      assert.isTrue(Exit.isExit(prepare!(exchange())))
    })
  )
})
