import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, httpBackend, portOf, proxyTo, tcpBackend } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"
import { Tap } from "./tap.ts"

const mebibyte = 1024 * 1024
const total = 64 * mebibyte
/** What the buffers of the system and of node may hold together; a proxy that does not wait holds all of it. */
const buffered = 32 * mebibyte
const piece = Buffer.alloc(mebibyte / 4, "0123456789abcdef")

/** Waits until a number has not grown for a while. */
const settled = async (value: () => number) => {
  let before = -1
  while (value() !== before) {
    before = value()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return before
}

describe("back-pressure", () => {
  it.live.each(["content-length", "chunked"])("a client that does not read makes the backend wait (%s)", (framing) =>
    Effect.gen(function* () {
      let written = 0
      const backend = yield* httpBackend((_, response) => {
        if (framing === "content-length") response.setHeader("content-length", total)
        const more = () => {
          while (written < total) {
            written += piece.length
            if (!response.write(piece)) return
          }
          response.end()
        }
        response.on("drain", more)
        more()
      })
      const { port, outcomes } = yield* proxyTo(portOf(backend.address()))
      let received = 0
      const client = connect(port, "127.0.0.1")
      client.on("data", (chunk: Buffer) => {
        received += chunk.length
      })
      client.pause()
      client.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      yield* Effect.promise(() => eventually(() => written > 0))
      const rested = yield* Effect.promise(() => settled(() => written))
      assert.isBelow(rested, buffered)
      client.resume()
      yield* Effect.promise(() => eventually(() => client.readableEnded))
      assert.strictEqual(written, total)
      assert.isAtLeast(received, total)
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: undefined }])
      client.destroy()
    })
  )

  it.live.each(["content-length", "chunked"])("a backend that does not read makes the client wait (%s)", (framing) =>
    Effect.gen(function* () {
      const { port, sockets } = yield* tcpBackend((socket) => socket.pause())
      const proxy = yield* proxyTo(port)
      const client = connect(proxy.port, "127.0.0.1")
      let written = 0
      const more = () => {
        while (written < total) {
          written += piece.length
          if (framing === "chunked") client.write(`${piece.length.toString(16)}\r\n`)
          const free = client.write(piece)
          if (framing === "chunked") client.write("\r\n")
          if (!free) return
        }
        if (framing === "chunked") client.write("0\r\n\r\n")
      }
      client.on("drain", more)
      client.write(
        `POST / HTTP/1.1\r\nhost: a\r\n${framing === "chunked" ? "transfer-encoding: chunked" : `content-length: ${total}`}\r\n\r\n`
      )
      more()
      const rested = yield* Effect.promise(() => settled(() => written))
      assert.isBelow(rested, buffered)
      const socket = sockets[0]!
      let received = 0
      socket.on("data", (chunk: Buffer) => {
        received += chunk.length
        if (received >= total) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
      socket.resume()
      yield* Effect.promise(() => eventually(() => client.bytesRead > 0))
      assert.strictEqual(written, total)
      client.destroy()
    })
  )

  it.live("a source is asked to go on exactly when the client has caught up", () =>
    Effect.gen(function* () {
      const body = new Tap()
      const { port } = yield* edge(() => Effect.succeed({ status: 200, headers: new HeaderList(), body }))
      const client = new RawClient(port)
      client.socket.pause()
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.sleep(30)
      let pushed = 0
      const pump = setInterval(() => {
        for (let i = 0; i < 16 && body.flowing && pushed < total; i++) {
          body.push(piece)
          pushed += piece.length
        }
      }, 1)
      const rested = yield* Effect.promise(() => settled(() => pushed))
      assert.isFalse(body.flowing)
      assert.isBelow(rested, buffered)
      client.socket.resume()
      yield* Effect.promise(() => eventually(() => pushed === total))
      clearInterval(pump)
      client.socket.destroy()
      yield* Effect.promise(() => eventually(() => body.cancelled))
    })
  )

  it.live("a client that pipelines without end is made to wait", () =>
    Effect.gen(function* () {
      let begun = 0
      const { port } = yield* edge(() => {
        begun++
        return Effect.never
      })
      const client = connect(port, "127.0.0.1")
      client.on("error", () => {})
      const request = Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(10_000))
      let written = 0
      const more = () => {
        while (written < total) {
          written += request.length
          if (!client.write(request)) return
        }
      }
      client.on("drain", more)
      more()
      yield* Effect.promise(() => eventually(() => begun > 0))
      assert.isBelow(yield* Effect.promise(() => settled(() => written)), buffered)
      assert.strictEqual(begun, 1)
      client.destroy()
    })
  )
})
