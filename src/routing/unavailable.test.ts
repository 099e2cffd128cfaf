import { assert, describe, it } from "@effect/vitest"
import { Effect, Scheduler } from "effect"
import { schemas } from "../../stages/schemas.ts"
import { reader } from "./read.ts"
import { missing } from "./unavailable.ts"

describe("what a build does not have", () => {
  const text = `
frontendPolicies: { connect: { mode: deny }, http: { http2FrameSize: 32Ki, http1HeaderCase: preserve, http1IdleTimeout: 1s } }
gateways:
  default: { port: 80, cors: {} }
  tcp: { port: 81, protocol: TCP }
routes:
- policies: { cors: {}, delay: { duration: 1s } }
  backends: [{ host: "a:1", policies: { http: {} } }, { mcp: { targets: [] } }]
tcpRoutes: [{ gateways: tcp, backends: [{ service: { name: ns/a, port: 1 } }] }]
backends: [{ name: tools, mcp: { targets: [{ name: s, stdio: { cmd: x } }] } }]
llm: { models: [{ name: m, provider: openai, auth: { key: k } }] }
policies:
- { name: { name: p, namespace: n }, target: { gateway: { gatewayName: default, gatewayNamespace: default } }, policy: { csrf: {} } }
- { name: { name: q, namespace: n }, target: { listenerSet: { name: l, namespace: n } }, policy: { cors: {} } }
- { name: { name: r, namespace: n }, target: { backend: { service: { hostname: s, namespace: n } } }, policy: { backendAuth: { key: k } } }
- { name: { name: s, namespace: n }, target: { backend: { backend: { name: tools, namespace: "", section: s } } }, policy: { backendAuth: { key: k } } }
`

  it("is told at its place", () => {
    const read = reader(schemas)({ name: "config.yaml", text, env: {} })
    if (!read.ok) return assert.fail(read.problems.map(({ message, path }) => `${path}: ${message}`).join("\n"))
    const { normalised, positions } = read.value
    const available = {
      policies: new Set(["cors", "connect", "backendAuth"]),
      backends: new Set(["host"] as const),
      parts: new Set([])
    }
    const lines = Effect.runSync(missing(normalised, schemas, available))
      .map((complaint) => positions.locate(complaint))
      .map(({ line, path, message }) => `${line} ${path}: ${message}`)
    assert.deepStrictEqual(lines, [
      "2 frontendPolicies.http.http1HeaderCase: preserving the case of header names is not available yet",
      "7 routes[0].policies.delay: policy delay is not available yet",
      "8 routes[0].backends[0].policies.http: policy http is not available yet",
      "9 tcpRoutes[0]: a TCP route is not available yet",
      "9 tcpRoutes[0].backends[0]: backend service is not available yet",
      "10 backends[0]: backend mcp is not available yet",
      "8 routes[0].backends[1]: backend mcp is not available yet",
      "11 llm: backend llm is not available yet",
      "13 policies[0].policy.csrf: policy csrf is not available yet",
      "16 policies[3].target.backend.backend.section: a policy of one target of an MCP backend is not available yet"
    ])
  })

  it("is looked for in a large file with pauses, in which others get their turn", async () => {
    const routes = Array.from(
      { length: 2_000 },
      () => '- { policies: { cors: {} }, backends: [{ host: "a:1" }] }'
    ).join("\n")
    const read = reader(schemas)({
      name: "config.yaml",
      text: `gateways: { default: { port: 80 } }\nroutes:\n${routes}`,
      env: {}
    })
    assert.isTrue(read.ok)
    if (!read.ok) return
    const available = { policies: new Set(["cors"]), backends: new Set<string>(), parts: new Set<never>() }
    const looking = Effect.runFork(
      Effect.provideService(missing(read.value.normalised, schemas, available), Scheduler.MaxOpsBeforeYield, 8)
    )
    let turns = 0
    for (; looking.pollUnsafe() === undefined; turns++) await new Promise(setImmediate)
    assert.isAtLeast(turns, 3)
  })
})
