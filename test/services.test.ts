/** Services over sockets: endpoints that refuse connections, and one that is gone, cost no request. */
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { LiveBackends } from "../spec/live-endpoints.ts"
import { start } from "../src/main/library.ts"
import { send } from "./client.ts"
import { freePort } from "./free-ports.ts"
import { tcpBackend } from "./http/edge.ts"
import { RawClient } from "./http/raw-client.ts"
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

  it.live("tells the admin interface how each of its endpoints does, and no request of it", () =>
    Effect.gen(function* () {
      const server = yield* origin({ body: "there" })
      const dead = `127.0.0.1:${yield* Effect.promise(freePort)}`
      const gateway = yield* start(
        `
gateways: { default: { port: 8080 } }
services: [{ hostname: orders, endpoints: [{ address: "${server.address}" }, { address: "${dead}", capacity: 2 }] }]
routes:
  - backends:
      - service: { name: default/orders, port: 80 }
        policies: { health: { eviction: { duration: 1h } }, backendAuth: { key: told-to-nobody } }
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      for (let at = 0; at < 20; at++)
        yield* Effect.promise(() => send(gateway.port(8080)!, { headers: { "x-secret": "told-to-nobody" } }))
      const { body } = yield* Effect.promise(() => send(gateway.ports.admin!, { path: "/endpoints" }))
      assert.notInclude(body, "told-to-nobody")
      const [backend, ...others] = Schema.decodeUnknownSync(LiveBackends)(JSON.parse(body))
      assert.deepStrictEqual(others, [])
      const { endpoints, ...which } = backend!
      assert.deepStrictEqual(which, { type: "service", name: "default/orders", namespace: "", port: 80 })
      const [good, bad] = endpoints
      assert.deepInclude(good, {
        endpoint: server.address,
        capacity: 1,
        health: 1,
        share: 1,
        requests: 20,
        inFlight: 0,
        evictedMs: null,
        evictedUntil: null
      })
      assert.isAbove(good!.latencyMs!, 0)
      assert.deepInclude(bad, { endpoint: dead, capacity: 2, requests: 1, inFlight: 0 })
      assert.isBelow(bad!.health, 1)
      assert.isBelow(bad!.score, good!.score)
      assert.isAbove(bad!.evictedMs!, 200_000)
      assert.isAbove(Date.parse(bad!.evictedUntil!), Date.now())
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

  it.live("that is asked twice tells nothing on the way to the answer that nobody gets", () =>
    Effect.gen(function* () {
      let both = () => {}
      const asked = new Promise<void>((resolve) => {
        both = resolve
      })
      const sockets: Array<Socket> = []
      const hinting = (socket: Socket) => {
        socket.on("data", () => {
          socket.write("HTTP/1.1 103 Early Hints\r\nlink: </left>\r\n\r\n")
          if (sockets.push(socket) === 2) both()
        })
      }
      const [one, other] = [yield* tcpBackend(hinting), yield* tcpBackend(hinting)]
      const endpoints = [one, other].map((server) => `127.0.0.1:${server.port}`)
      const port = yield* started(configuration(endpoints, "{ retry: { attempts: 0, codes: [], hedgeAfter: 20ms } }"))
      const client = new RawClient(port)
      client.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      yield* Effect.promise(() => asked)
      sockets[1]!.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      yield* Effect.promise(() => client.until(() => client.closed || client.ended))
      assert.match(client.text, /^HTTP\/1\.1 200/)
    })
  )
})
