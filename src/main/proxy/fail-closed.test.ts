import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { send } from "../../../test/client.ts"
import { graphsOf } from "../configuration/offline.ts"
import { start } from "../library.ts"

const problemsOf = (text: string) =>
  Effect.map(Effect.result(graphsOf({ name: "config.yaml", text, env: {} })), (result) =>
    Result.isFailure(result) ? result.failure.problems.map(({ path, message }) => `${path}: ${message}`) : []
  )

describe("what would let through too much", () => {
  it.live("a child that allows does not undo what the route that delegates to it denies or requires", () =>
    Effect.gen(function* () {
      const gateway = yield* start(
        `
gateways: { default: { port: 8080 } }
routes:
  - policies:
      authorization:
        rules:
          - deny: request.headers["x-bad"] == "1"
          - require: request.method == "GET"
    backends: [{ routeGroup: inner }]
routeGroups:
  - name: inner
    routes:
      - policies: { authorization: { rules: [{ allow: "true" }] }, directResponse: { status: 204 } }
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const status = (request: Parameters<typeof send>[1]) =>
        Effect.map(
          Effect.promise(() => send(gateway.port(8080)!, request)),
          (answer) => answer.status
        )
      assert.strictEqual(yield* status({}), 204)
      assert.strictEqual(yield* status({ headers: { "x-bad": "1" } }), 403)
      assert.strictEqual(yield* status({ method: "POST" }), 403)
    })
  )

  it.effect("a condition over the body is refused: whether the body has come must not decide", () =>
    Effect.gen(function* () {
      const problems = yield* problemsOf(`
gateways: { default: { port: 3000 } }
routes:
  - policies:
      directResponse:
        conditional:
          - condition: json(request.body).model == "big"
            status: 403
    backends: [{ host: "a:1" }]
`)
      assert.deepStrictEqual(problems, [
        "routes[0].policies.directResponse.conditional[0].condition: a condition cannot read the body: a policy is chosen before the body has come"
      ])
    })
  )

  it.effect("rules for tools are refused where no tools are served", () =>
    Effect.gen(function* () {
      const problems = yield* problemsOf(`
gateways: { default: { port: 3000 } }
routes:
  - policies: { mcpAuthorization: { rules: ['mcp.tool.name == "a"'] } }
    backends: [{ host: "a:1" }]
`)
      assert.deepStrictEqual(problems, ["routes[0].policies.mcpAuthorization: mcpAuthorization needs an mcp backend"])
    })
  )
})
