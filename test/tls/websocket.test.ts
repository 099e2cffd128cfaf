/** WebSockets over TLS through a whole proxy: a real client and a real server, with messages of every kind and an end that both agree on. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { portOf } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { logged, serving, showing } from "./edge.ts"

describe("a WebSocket over TLS", () => {
  it.live("passes messages, pings, and how it was closed, and has one line in the log", () =>
    Effect.gen(function* () {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: true })
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const closed: Array<string> = []
      server.on("connection", (socket) => {
        socket.on("message", (data, binary) => socket.send(data, { binary }))
        socket.on("close", (code, reason) => closed.push(`${code} ${reason}`))
      })
      yield* Effect.promise(() => eventually(() => server.address() !== null))
      const { port, log } = yield* serving(`
gateways: { default: { port: 8443, tls: { ${showing("server")} } } }
routes: [{ backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }]
`)
      const client = new WebSocket(`wss://127.0.0.1:${port}/chat`, { rejectUnauthorized: false })
      const received: Array<string> = []
      let pongs = 0
      client
        .on("message", (data: Buffer, binary) => received.push(`${binary} ${data.length}`))
        .on("pong", () => pongs++)
        .on("error", (error) => received.push(error.message))
      yield* Effect.promise(() => eventually(() => client.readyState === WebSocket.OPEN))
      client.send("x".repeat(100))
      client.send(Buffer.alloc(2_000_000, 1))
      client.send("")
      client.ping()
      yield* Effect.promise(() => eventually(() => received.length === 3 && pongs === 1))
      assert.deepStrictEqual(received, ["false 100", "true 2000000", "false 0"])
      client.close(4711, "enough")
      yield* Effect.promise(() => eventually(() => client.readyState === WebSocket.CLOSED && closed.length === 1))
      assert.deepStrictEqual(closed, ["4711 enough"])
      yield* logged(log, /http\.path=\/chat .*http\.status=101/)
    })
  )
})
