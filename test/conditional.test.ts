/** Policies in several versions, of which the request chooses one: which may be so, what is chosen, and what is told and drawn of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { PolicySpecs } from "../spec/standalone/policies.ts"
import { plainRequest, whole } from "../src/main/testing/whole.ts"
import { schemas } from "../stages/schemas.ts"

const specs: PolicySpecs = schemas

const file = `
gateways:
  default:
    port: 8080
    transformations:
      conditional:
      - { condition: 'request.headers["x-version"] == "2"', request: { set: { ":path": '"/v2" + request.path' } } }
routes:
- name: second
  matches: [{ path: { pathPrefix: /v2 } }]
  policies:
    localRateLimit: { conditional: [{ condition: 'request.path == "/v2/limited"', maxTokens: 1, tokensPerFill: 1, fillInterval: 1h }] }
    directResponse:
      conditional:
      - { condition: 'request.path == "/v2/first"', status: 201 }
      - { condition: 'request.headers["x-pass"] == "no"', status: 202 }
      - { status: 203 }
  backends: [{ host: "b.example:80" }]
- name: first
  backends: [{ host: "b.example:80" }]
policies:
- name: { name: wide, namespace: default }
  target: { gateway: { gatewayName: default, gatewayNamespace: default } }
  policy: { directResponse: { conditional: [{ condition: 'request.path == "/closed"', status: 410 }] } }
`

const asking = (path: string, ...headers: ReadonlyArray<readonly [string, string]>) => ({
  ...plainRequest,
  path,
  headers
})
const second = ["x-version", "2"] as const

describe("conditional policies", () => {
  it("are those of the documentation", () => {
    const names = Object.entries(specs).flatMap(([name, { conditional }]) => (conditional === true ? [name] : []))
    assert.deepStrictEqual(names, [
      "extAuthz",
      "localRateLimit",
      "remoteRateLimit",
      "extProc",
      "transformations",
      "directResponse"
    ])
  })

  it.effect("apply in the first version whose condition holds, and in none where none does", () =>
    Effect.gen(function* () {
      const { send } = yield* whole(file)
      const status = (...request: Parameters<typeof asking>) => Effect.map(send(asking(...request)), (p) => p.status)
      assert.strictEqual(yield* status("/first", second), 201)
      // Without the header the condition cannot be evaluated, which is a no.
      assert.strictEqual(yield* status("/other", second), 203)
      assert.strictEqual(yield* status("/other", second, ["x-pass", "no"]), 202)
      assert.strictEqual(yield* status("/first", second, ["x-pass", "no"]), 201)
      assert.strictEqual(yield* status("/other"), 200)
      assert.strictEqual(yield* status("/limited", second), 203)
      assert.strictEqual(yield* status("/limited", second), 429)
    })
  )

  it.effect("of a wider level hold where nothing nearer stands, and are replaced as a whole", () =>
    Effect.gen(function* () {
      const { send } = yield* whole(file)
      assert.strictEqual((yield* send(asking("/closed"))).status, 410)
      assert.strictEqual((yield* send(asking("/v2/closed"))).status, 203)
    })
  )

  it.effect("are told with the entry that was chosen, and why the others were not", () =>
    Effect.gen(function* () {
      const { send } = yield* whole(file)
      const { events } = yield* send(asking("/other", second, ["x-pass", "no"]))
      const told = events.flatMap(({ message }) =>
        message.type === "policy" ? [`${message.source} ${message.result.type}`] : []
      )
      const at = "routes.0.policies"
      assert.deepStrictEqual(told, [
        "gateways.default.transformations.conditional.0 apply",
        `${at}.localRateLimit.conditional.0 skip`,
        `${at}.directResponse.conditional.0 skip`,
        `${at}.directResponse.conditional.1 apply`
      ])
      const reasons = events.flatMap(({ message }) =>
        message.type === "policy" && message.result.type === "skip" ? [message.result.reason] : []
      )
      assert.deepStrictEqual(reasons, [
        'condition not met: request.path == "/v2/limited"',
        'condition not met: request.path == "/v2/first"'
      ])
    })
  )

  it.effect("are drawn as branches", () =>
    Effect.gen(function* () {
      const { ways } = yield* whole(file)
      const { nodes, edges } = ways.find(({ graph }) => graph.route.endsWith("/second"))!.graph
      const branches = nodes.filter(({ policy }) => policy === "directResponse")
      assert.deepStrictEqual(
        branches.map(({ condition, path }) => [condition, path]),
        [
          ['request.path == "/v2/first"', "routes[0].policies.directResponse.conditional[0]"],
          ['request.headers["x-pass"] == "no"', "routes[0].policies.directResponse.conditional[1]"],
          [null, "routes[0].policies.directResponse.conditional[2]"]
        ]
      )
      const onward = (index: number) => edges.filter(({ from }) => from === branches[index]!.id).map(({ kind }) => kind)
      for (const index of [0, 1]) assert.includeMembers(onward(index), ["next", "respond"])
    })
  )
})

describe("what is not configured", () => {
  const labels = (text: string) =>
    Effect.map(Effect.scoped(whole(text)), ({ ways }) => ways.map(({ graph }) => graph.nodes.map(({ label }) => label)))

  it.effect("is no node: of a route without policies there is the call alone", () =>
    Effect.gen(function* () {
      const bare = [["request", "route selection", "host", "static b.example:80", "response"]]
      const without = yield* labels(`
gateways: { default: { port: 8080 } }
routes: [{ backends: [{ host: "b.example:80" }] }]
`)
      assert.deepStrictEqual(without, bare)
      // What is there and says nothing is the same.
      const empty = yield* labels(`
gateways: { default: { port: 8080, transformations: {} } }
routes:
- policies: { transformations: { request: {}, response: { set: {} } } }
  backends: [{ host: "b.example:80", policies: { transformations: {} } }]
`)
      assert.deepStrictEqual(empty, bare)
    })
  )
})
