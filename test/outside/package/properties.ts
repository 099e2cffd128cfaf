/** Checks the policies of this package by the laws of every policy, and a route with them in memory. */
import assert from "node:assert/strict"
import { Effect, Layer } from "effect"
import { policyLaws, type Request, registryLaws, traceProblems, type World, whole } from "headgate/testing"
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
  ...registryLaws(withTenants, { layer, words, runs: 20 })
]
for (const law of laws) await Effect.runPromise(law.check)

// A law that does not hold says which, and for what.
const careless = policyLaws({ ...tenant, outcomes: ["next"] }, { layer, words })
const broken = await Effect.runPromise(Effect.flip(careless[0]!.check))
assert.match(broken.message, /reached, and not declared: .*(respond|fail)/)

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
          dialect: headgate.dialect,
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
