import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { graphsOf } from "../main/configuration/offline.ts"

const problemsOf = (text: string) =>
  Effect.map(Effect.result(graphsOf({ name: "config.yaml", text, env: {} })), (result) =>
    Result.isFailure(result)
      ? result.failure.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`)
      : []
  )

describe("policies of several places", () => {
  it.effect("what is wrong with one of them is told at its own place, and once", () =>
    Effect.gen(function* () {
      const problems = yield* problemsOf(`
gateways: { default: { port: 8080 } }
routes:
- { name: a, policies: { authorization: { rules: ["true", "response.code == 200"] } }, backends: [] }
- { name: b, matches: [{ path: { exact: /b } }], backends: [{ host: "a:1" }] }
policies:
- name: { name: wide, namespace: n }
  target: { gateway: { gatewayName: default, gatewayNamespace: default } }
  policy: { authorization: { rules: ["true", { deny: "response.code == 404" }] } }
- name: { name: limit, namespace: n }
  target: { gateway: { gatewayName: default, gatewayNamespace: default } }
  policy:
    directResponse:
      conditional:
      - { condition: "response.code == 500", status: 200 }
`)
      assert.deepStrictEqual(problems.map((problem) => problem.replace(/: .*/, "")).toSorted(), [
        "15 policies[1].policy.directResponse.conditional[0].condition",
        "4 routes[0].policies.authorization.rules[1]",
        "9 policies[0].policy.authorization.rules[1]"
      ])
    })
  )
})
