/** Services over sockets: endpoints that refuse connections, and one that is gone, cost no request. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { freePort } from "./free-ports.ts"
import { origin } from "./origin.ts"

const configuration = (endpoints: ReadonlyArray<string>, policies = "{}") => `
gateways: { default: { port: 8080 } }
services: [{ hostname: orders, endpoints: [${endpoints.map((address) => `{ address: "${address}" }`)}] }]
routes:
  - policies: ${policies}
    backends: [{ service: { name: default/orders, port: 80 } }]
`

const started = (text: string, lines: Array<string> = []) =>
  Effect.map(
    start(text, { ephemeral: true, host: "127.0.0.1", log: (line) => lines.push(line) }),
    (gateway) => gateway.port(8080)!
  )

const asked = (port: number, method: string, body?: string) =>
  Effect.promise(() => send(port, { method, ...(body === undefined ? {} : { body }) }))

describe("a service", () => {
  it.live("loses no request to an endpoint where nobody listens, whatever the method and the body", () =>
    Effect.gen(function* () {
      const server = yield* origin(({ body }) => ({ body }))
      const dead = `127.0.0.1:${yield* Effect.promise(freePort)}`
      const lines: Array<string> = []
      const port = yield* started(configuration([dead, server.address]), lines)
      const large = "x".repeat(300_000)
      for (let at = 0; at < 20; at++)
        for (const [method, body] of [
          ["GET", undefined],
          ["POST", "small"],
          ["POST", large]
        ] as const) {
          const answer = yield* asked(port, method, body)
          assert.deepStrictEqual([answer.status, answer.body.length], [200, body?.length ?? 0])
        }
      assert.isTrue(lines.some((line) => line.includes(`endpoint=${server.address}`)))
      assert.isFalse(
        lines.some((line) => line.includes(`endpoint=${dead}`)),
        "the endpoint is the one that answered"
      )
    })
  )

  it.live("loses none with retry when an endpoint closes connections without an answer", () =>
    Effect.gen(function* () {
      const good = yield* origin({ body: "there" })
      const bad = yield* origin({ closes: true })
      const port = yield* started(
        configuration(
          [bad.address, good.address, good.address.replace("127.0.0.1", "localhost")],
          "{ retry: { attempts: 2, codes: [] } }"
        )
      )
      for (let at = 0; at < 40; at++) {
        const answer = yield* asked(port, "POST", "small")
        assert.deepStrictEqual([answer.status, answer.body], [200, "there"])
      }
      assert.isAbove(bad.received.length, 0)
    })
  )
})
