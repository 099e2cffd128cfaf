/** Backends that a request names: over sockets, through a whole gateway. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../src/main/library.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { RawClient } from "./http/raw-client.ts"

const gateway = Effect.map(
  start("gateways: { default: { port: 8080 } }\nroutes: [{ backends: [{ dynamic: {} }] }]", {
    ephemeral: true,
    host: "127.0.0.1"
  }),
  ({ port, ports, reload }) => ({ port: port(8080)!, admin: ports.admin!, reload })
)

/** What a client is told that sends this line and this host. */
const told = (port: number, line: string, host: string) =>
  Effect.promise(async () => {
    const client = new RawClient(port).send(`${line} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    const [answer] = await client.responses(1)
    client.socket.destroy()
    return [answer?.status, answer?.body.toString()] as const
  })

/** A server that answers with what it was asked, and counts its connections. */
const server = Effect.map(
  httpBackend((request, response) => {
    response.end([request.method, request.url, request.headers.host, request.headers.via].join(" "))
  }),
  (backend) => {
    let connections = 0
    backend.on("connection", () => connections++)
    return { address: `127.0.0.1:${portOf(backend.address())}`, connections: () => connections }
  }
)

describe("a dynamic backend", () => {
  it.live("is whatever the host header names, or the request line in the form for proxies", () =>
    Effect.gen(function* () {
      const [{ port }, one, other] = [yield* gateway, yield* server, yield* server]
      const [status, body] = yield* told(port, "GET /a?b=c", one.address)
      assert.strictEqual(status, 200)
      assert.match(body!, new RegExp(`^GET /a\\?b=c ${one.address} 1\\.1 headgate-[0-9a-f]{8}$`))
      const [, absolute] = yield* told(port, `GET http://${other.address}/x`, "elsewhere.example")
      assert.match(absolute!, new RegExp(`^GET /x ${other.address} `))
    })
  )

  it.live("keeps its connections, over a reload, too", () =>
    Effect.gen(function* () {
      const [{ port, reload }, { address, connections }] = [yield* gateway, yield* server]
      for (let i = 0; i < 3; i++) yield* told(port, "GET /", address)
      yield* reload("gateways: { default: { port: 8080 } }\nroutes: [{ name: again, backends: [{ dynamic: {} }] }]")
      yield* told(port, "GET /", address)
      assert.strictEqual(connections(), 1)
    })
  )

  it.live("is not the gateway itself: the request that comes back is refused, once", () =>
    Effect.gen(function* () {
      const { port } = yield* gateway
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
        assert.deepStrictEqual(yield* told(port, "GET /", host), [
          508,
          "the request came back to the gateway that sent it"
        ])
    })
  )

  it.live("is not the admin interface, though it may be any other server of this machine", () =>
    Effect.gen(function* () {
      const { port, admin } = yield* gateway
      for (const line of ["POST /quitquitquit", "GET /config_dump", "POST /logging?level=trace"]) {
        const [status, body] = yield* told(port, line, `127.0.0.1:${admin}`)
        assert.deepStrictEqual([status, body], [403, "requests that a gateway forwards are refused\n"])
      }
    })
  )
})
