/** Whose health is whose: what is known of a provider by calls with one key says nothing of calls with another. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"

describe("the health of a provider", () => {
  it.live("is known for each of the keys that it is shown", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const provider = yield* httpBackend((request, response) => {
        const key = String(request.headers.authorization)
        asked.push(key)
        response.writeHead(key === "Bearer used-up" ? 503 : 200, { "content-type": "application/json" })
        response.end("{}")
      })
      const other = yield* httpBackend((_, response) => response.writeHead(204).end())
      const one = (name: string, to: typeof provider) =>
        `{ name: ${name}, provider: { openAI: {} }, hostOverride: "127.0.0.1:${portOf(to.address())}" }`
      const route = (key: string) => `
- matches: [{ path: { pathPrefix: /${key} } }]
  backends:
  - ai: { groups: [{ providers: [${one("first", provider)}] }, { providers: [${one("second", other)}] }] }
    policies: { backendAuth: { key: ${key} }, ai: { routes: { "*": passthrough } }, health: { eviction: { duration: 1h } } }`
      const gateway = yield* start(
        `gateways: { default: { port: 8080 } }\nroutes:${["used-up", "good"].map(route).join("")}`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const status = (path: string) =>
        Effect.promise(async () => (await send(gateway.port(8080)!, { method: "POST", path, body: "{}" })).status)
      assert.deepStrictEqual(
        [yield* status("/used-up"), yield* status("/used-up"), yield* status("/good")],
        [503, 204, 200]
      )
      assert.deepStrictEqual(asked, ["Bearer used-up", "Bearer good"])
    })
  )
})
