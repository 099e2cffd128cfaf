/** HTTP/1.1 over TLS is HTTP/1.1: large bodies in both directions, other protocols, and clients that go away. */
import { randomBytes } from "node:crypto"
import { request as requestSecurely } from "node:https"
import { buffer } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { httpBackend, portOf, tcpBackend } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { connected, logged, pem, serving, showing } from "./edge.ts"

const proxying = (port: number) => `
gateways: { default: { port: 8443, tls: { ${showing("server")} } } }
routes: [{ backends: [{ host: "127.0.0.1:${port}" }] }]
`

describe("HTTP over TLS", () => {
  it.live("carries large bodies whole, in both directions", () =>
    Effect.gen(function* () {
      const backend = yield* httpBackend((request, response) => request.pipe(response))
      const { port } = yield* serving(proxying(portOf(backend.address())))
      const sent = randomBytes(3_000_000)
      const received = yield* Effect.promise(
        () =>
          new Promise<Buffer>((resolve, reject) => {
            const options = { port, host: "127.0.0.1", servername: "localhost", ca: pem("authority.pem") }
            const outgoing = requestSecurely({ ...options, method: "POST", agent: false }, (response) => {
              buffer(response).then(resolve, reject)
            })
            outgoing.on("error", reject)
            outgoing.end(sent)
          })
      )
      assert.isTrue(sent.equals(received))
    })
  )

  it.live("may change to another protocol", () =>
    Effect.gen(function* () {
      const backend = yield* tcpBackend((socket) => {
        socket.once("data", () => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
          socket.on("data", (bytes) => socket.write(bytes)).on("end", () => socket.end())
        })
      })
      const { port } = yield* serving(proxying(backend.port))
      const { socket } = yield* connected(port)
      let received = ""
      socket.removeAllListeners("data")
      socket.on("data", (text: string) => {
        received += text
      })
      socket.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
      yield* Effect.promise(() => eventually(() => received.includes("\r\n\r\n")))
      assert.match(received, /^HTTP\/1\.1 101 /)
      socket.write("hello")
      yield* Effect.promise(() => eventually(() => received.endsWith("hello")))
    })
  )

  it.live("a client that goes away ends the call of the backend", () =>
    Effect.gen(function* () {
      let gone = false
      const backend = yield* httpBackend((_, response) => {
        response.write("begins")
        response.on("close", () => {
          gone = true
        })
      })
      const { port, log } = yield* serving(proxying(portOf(backend.address())))
      const { socket } = yield* connected(port)
      socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
      yield* Effect.promise(() => new Promise((resolve) => socket.once("data", resolve)))
      socket.destroy()
      yield* Effect.promise(() => eventually(() => gone))
      yield* logged(log, /the client went away/)
    })
  )

  it.live("what was cut does not look whole", () =>
    Effect.gen(function* () {
      const backend = yield* tcpBackend((socket) => {
        socket.once("data", () => {
          socket.write("HTTP/1.0 200 OK\r\n\r\npart of it", () => setTimeout(() => socket.resetAndDestroy(), 20))
        })
      })
      const { port } = yield* serving(proxying(backend.port))
      const { socket } = yield* connected(port)
      let received = ""
      let failed = false
      socket.removeAllListeners("data")
      socket.on("data", (text: string) => {
        received += text
      })
      socket.on("error", () => {
        failed = true
      })
      socket.write("GET / HTTP/1.0\r\nhost: localhost\r\n\r\n")
      yield* Effect.promise(() => new Promise((resolve) => socket.once("close", resolve)))
      assert.include(received, "part of it")
      assert.isTrue(failed)
    })
  )
})
