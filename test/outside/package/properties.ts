/** Checks the policies of this package by the laws of every policy, and a route with them in memory. */
import assert from "node:assert/strict"
import { Effect, Layer } from "effect"
import {
  policyLaws,
  type Request,
  readCase,
  registryLaws,
  runCase,
  traceProblems,
  type World,
  whole
} from "headgate/testing"
import { entitlement } from "./entitlement.ts"
import { directory, headgate, withTenants } from "./proxy.ts"
import { DirectoryDown, Tenants, tenant, tenantGreeting } from "./tenant.ts"

/** The directory of a world: it waits and fails as the world says. */
const layer = (world: World) =>
  Layer.effect(
    Tenants,
    Effect.map(Effect.provide(Tenants, directory), ({ find }) => ({
      find: (key) => {
        const answer = world.failing ? Effect.fail(new DirectoryDown()) : find(key)
        return world.waits ? Effect.andThen(Effect.yieldNow, answer) : answer
      }
    }))
  )

const words = { header: ["x-a"] }
const laws = [
  ...policyLaws(tenant, { layer, words }),
  ...policyLaws(tenantGreeting, { runs: 10 }),
  ...registryLaws(withTenants, { layer, words, runs: 40 })
]
for (const law of laws) await Effect.runPromise(law.check)

// A law that does not hold says which, and for what.
const careless = policyLaws({ ...tenant, outcomes: ["next"] }, { layer, words })
const broken = await Effect.runPromise(Effect.flip(careless[0]!.check))
assert.match(broken.message, /reached, and not declared: .*(respond|fail)/)

// A case of one policy, as data.
const known = readCase(`
shows: the backend is told the name of a tenant that is known, and never sees another
config: { header: x-tenant }
backend: { after: 2 }
steps:
  - request: { headers: { x-tenant: acme } }
    expect: { status: 200, took: 2, upstream: { headers: { x-tenant-name: Acme } }, called: [GET backend.example:80/] }
  - request: { headers: { x-tenant: nobody } }
    expect: { status: 403, body: unknown tenant, upstream: null, called: [] }
`)
const shown = await Effect.runPromise(runCase(tenant, known, { layer }))
assert.deepEqual(shown.outcomes.get("tenant"), new Set(["next", "failed"]))

// One that decides, with a credential, a call, slots, a pattern, an expression and an edited body.
const decides = readCase(`
shows: an account with a plan passes without its key, and its plan stands in the body
config:
  location: { header: { name: x-key } }
  accounts: "acct_[0-9a-f]{4}"
  plans: https://plans.example/
  unless: request.method == "GET"
outside:
  POST https://plans.example/: { body: { plan: large } }
steps:
  - request: { method: POST, headers: { x-key: acct_00ff }, body: '{ "big": 12345678901234567890, "plan": "mine" }' }
    expect:
      status: 200
      upstream: { headers: { x-key: null }, body: '{ "big": 12345678901234567890, "plan": "large" }' }
      holds: [apiKey.plan == "large"]
      called: [POST https://plans.example/, POST backend.example:80/]
  - request: { method: POST, headers: { x-key: acct_zz } }
    expect: { status: 403, upstream: null, called: [] }
  - request: { method: POST }
    expect: { status: 401, headers: { www-authenticate: 'ApiKey realm="Restricted", header="x-key"' }, called: [] }
  - outside: { POST https://plans.example/: { fails: unreachable } }
    request: { method: POST, headers: { x-key: acct_00ff } }
    expect: { status: 503, upstream: null }
  - request: {}
    expect: { status: 200 }
`)
await Effect.runPromise(runCase(entitlement, decides))

const request: Request = {
  method: "POST",
  scheme: "http",
  authority: "api.example",
  path: "/orders",
  headers: [["x-tenant", "acme"]],
  body: { chunks: ["one ", "order"], streamed: true },
  prefix: undefined
}
const { answer, received } = await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const route = yield* whole(
        `
gateways: { default: { port: 8080 } }
routes:
  - matches: [{ path: { pathPrefix: /orders } }]
    policies: { tenant: { header: x-tenant }, tenantGreeting: {} }
    backends: [{ host: orders.example:80 }]
`,
        {
          distribution: headgate.distribution,
          backend: ({ target, body }) => ({
            status: 201,
            headers: [],
            body: { chunks: [`${target} took ${body}`], streamed: true }
          })
        }
      )
      return { answer: yield* route.send(request), received: route.world.received }
    }).pipe(Effect.provide(directory))
  )
)
assert.equal(answer.status, 201)
assert.equal(answer.body, "orders.example:80 took one order")
assert.ok(answer.headers.includes("hello Acme"))
assert.equal(received[0]?.authority, "orders.example")
assert.deepEqual(traceProblems(answer.events), [])
console.log(`${laws.length} laws hold`)
