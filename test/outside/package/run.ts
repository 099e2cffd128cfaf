/** Runs the proxy with a policy of this package, sends requests through it, and reads their traces. */
import assert from "node:assert/strict"
import { createServer } from "node:http"
import { after, policies } from "headgate/policy"
import { watching } from "headgate/trace"
import { headgate } from "./proxy.ts"

const backend = createServer((request, response) => response.end(`for ${request.headers["x-tenant-name"]}`))
await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve))
const address = backend.address()
assert.ok(typeof address === "object" && address !== null)

const configuration = (notice: string) => `
gateways:
  default:
    port: 8080
routes:
  - name: api
    policies:
      cors: { allowOrigins: ["*"] }
      tenant: { header: x-tenant, notice: ${notice} }
      tenantGreeting: {}
    backends:
      - host: 127.0.0.1:${address.port}
`

const problems = await headgate.problems("routes: [{ policies: { tenant: { header: x-other } } }]")
assert.match(problems[0]?.message ?? "", /x-tenant/)
assert.equal(problems[0]?.line, 1)

{
  await using gateway = await headgate.open(configuration("pay first"), { ephemeral: true, host: "127.0.0.1" })
  const ask = async (tenant: string) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port(8080)}/`, {
      headers: { "x-tenant": tenant, origin: "https://page.example" }
    })
    return [response.status, await response.text(), response.headers.get("x-greeting")]
  }
  assert.deepEqual(await ask("acme"), [200, "for Acme", "hello Acme"])
  assert.deepEqual(await ask("late"), [402, "pay first", null])
  assert.deepEqual(await ask("nobody"), [403, "unknown tenant", null])

  // In this process, and over the admin interface.
  for (const source of [gateway, `127.0.0.1:${gateway.ports.admin}`]) {
    await using trace = await watching(source, { expression: 'request.headers["x-tenant"] == "acme"' })
    await ask("late")
    await ask("acme")
    const kinds: Array<string> = []
    for await (const { message } of trace) {
      if (message.type === "policySelection" && message.phase === "route")
        assert.deepEqual(message.effectivePolicy["tenant"], {
          header: "x-tenant",
          failureMode: "failClosed",
          notice: "pay first"
        })
      if (message.type === "policy") kinds.push(message.kind)
    }
    assert.deepEqual(kinds, ["cors", "tenant", "tenantGreeting"])
  }

  await gateway.reload(configuration("settle your bill"))
  assert.deepEqual(await ask("late"), [402, "settle your bill", null])
  await assert.rejects(gateway.reload("routes: 1"), { _tag: "InvalidConfiguration" })
  assert.deepEqual(await ask("late"), [402, "settle your bill", null])
}
backend.close()
assert.deepEqual(after(policies.orders.gateway, "cors", "tenant").slice(0, 2), ["cors", "tenant"])
console.log("the gateway ran")
