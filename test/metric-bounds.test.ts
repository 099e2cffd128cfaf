/** Whatever clients and backends make up, in every place where they can: the series of a process stay within bounds. */
import { Agent, METHODS } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { initialize, mcpHeaders, mcpOrigin } from "./attack/mcp-origin.ts"
import { type Sent, send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { nowhere } from "./origin.ts"
import { startHeadgate } from "./program.ts"

/** Of each family: the series that one place (a route with its backend) may come to. */
const bounds: Readonly<Record<string, number>> = {
  // A thousand names that a server answered for, and what is counted together.
  mcp_requests_total: 1_050,
  // Five hundred pairs of models, and the rest; of tokens there are four kinds.
  gen_ai_client_token_usage: 4 * 501,
  gen_ai_client_cost_usd_total: 501,
  gen_ai_server_request_duration: 501,
  gen_ai_server_time_to_first_token: 501,
  gen_ai_server_time_per_output_token: 501,
  cost_catalog_lookups_total: 3 * 501
}
/** Two hundred outcomes of each of the places below, and what is counted together of them. */
const otherwise = 1_000

/** How many series each family has. */
const familiesOf = (text: string): ReadonlyMap<string, number> => {
  const series = new Map<string, Set<string>>()
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^headgate_(\w+)(?:\{(.*)\})? /.exec(line) ?? []
    if (name === undefined) continue
    const family = name.replace(/_(?:bucket|sum|count)$/, "")
    series.set(family, (series.get(family) ?? new Set()).add(labels.replace(/(?:^|,)le="[^"]*"$/, "")))
  }
  return new Map([...series].map(([family, all]) => [family, all.size]))
}

describe("the series of a process", () => {
  it.live(
    "are bounded, whatever methods, hosts, paths, statuses, models, tools, resources and users there are",
    () =>
      Effect.gen(function* () {
        const backend = yield* httpBackend((request, response) => {
          response.writeHead(Number(request.headers["x-status"] ?? 200)).end()
        })
        const [port, tools] = [yield* nowhere, yield* mcpOrigin]
        const program = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startHeadgate([
              "-c",
              `
gateways: { default: { port: ${port} } }
routes:
- { name: http, matches: [{ path: { pathPrefix: /http } }], backends: [{ host: "127.0.0.1:${portOf(backend.address())}" }] }
- { name: keys, matches: [{ path: { pathPrefix: /keys } }], policies: { apiKey: { mode: strict, keys: [] }, directResponse: { status: 200 } } }
- { name: tools, matches: [{ path: { pathPrefix: /tools } }], backends: [{ mcp: { targets: [{ name: t, mcp: { host: "http://127.0.0.1:${tools}/mcp" } }] } }] }
llm: { gateways: [default], models: [{ name: "*", provider: mock }] }
`
            ])
          ),
          (one) => Effect.promise(() => one[Symbol.asyncDispose]())
        )
        const agent = new Agent({ keepAlive: true, maxSockets: 16 })
        yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
        const ask = (sent: Sent) => send(port, { ...sent, agent })
        const stats = Number(/established address=\S+:(\d+) component=stats/.exec(program.printed())![1])
        const session = String(
          (yield* Effect.promise(() =>
            ask({ method: "POST", path: "/tools", headers: mcpHeaders, body: JSON.stringify(initialize) })
          )).headers["mcp-session-id"]
        )
        const rpc = (method: string, params: object): Sent => ({
          method: "POST",
          path: "/tools",
          headers: { ...mcpHeaders, "mcp-session-id": session },
          body: JSON.stringify({ jsonrpc: "2.0", id: Math.random(), method, params })
        })
        const methods = METHODS.filter((method) => !["CONNECT", "TRACE", "HEAD"].includes(method))
        const hostile = (i: number): ReadonlyArray<Sent> => [
          {
            method: methods[i % methods.length]!,
            path: `/http/${i}`,
            headers: { "x-status": String(200 + (i % 400)) }
          },
          { method: methods[i % methods.length]!, path: `/nowhere/${i}`, headers: { host: `h${i}.example` } },
          { path: `/keys/${i}`, headers: { authorization: `Bearer user-${i}` } },
          {
            method: "POST",
            path: "/v1/chat/completions",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: `model-${i}`, user: `user-${i}`, messages: [{ role: "user", content: "x" }] })
          },
          rpc("tools/call", { name: `made-up-${i}`, arguments: {} }),
          rpc("tools/call", { name: `real-${i}`, arguments: {} }),
          rpc("prompts/get", { name: `made-up-${i}` }),
          rpc("resources/read", { uri: `made:up/${i}` }),
          rpc(`made/up-${i}`, {})
        ]
        for (let i = 0; i < 1_200; i += 20)
          yield* Effect.promise(() =>
            Promise.all(Array.from({ length: 20 }, (_, k) => Promise.all(hostile(i + k).map(ask))))
          )
        const { body } = yield* Effect.promise(() => send(stats, { path: "/metrics" }))
        const families = familiesOf(body)
        for (const [family, most] of Object.entries(bounds)) {
          if (families.has(family)) continue
          // Whatever has a bound of its own has to be there, but for what the provider of the test has no numbers of.
          assert.include(
            [
              "gen_ai_server_time_to_first_token",
              "gen_ai_server_time_per_output_token",
              "gen_ai_client_cost_usd_total"
            ],
            family,
            `${most}`
          )
        }
        for (const [family, count] of families) assert.isAtMost(count, bounds[family] ?? otherwise, family)
        // They were tried: the bounds that bite were reached.
        assert.isAtLeast(families.get("mcp_requests_total")!, 1_000)
        assert.isAtLeast(families.get("gen_ai_server_request_duration")!, 500)
        assert.isAtLeast(families.get("requests_total")!, 200)
        assert.notInclude(body, "made-up")
        assert.notInclude(body, "made/up")
      }),
    120_000
  )
})
