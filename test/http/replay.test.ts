import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { tcpBackend, upstreamRequest, upstreamTo } from "./edge.ts"
import { Tap } from "./tap.ts"

describe("a kept connection that the backend has closed", () => {
  /** Answers the first request of its first connection, and closes that one on the second. */
  const closing = (log: Array<string>, before = "") =>
    tcpBackend((socket, index) => {
      let served = 0
      socket.on("data", (head) => {
        log.push(`${index} ${head.toString().split(" ")[0]}`)
        if (index === 0 && served++ > 0) {
          if (before !== "") socket.write(before)
          socket.end()
        } else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      })
    })

  /** An upstream with one connection that has served. */
  const usedOnce = (port: number) =>
    Effect.gen(function* () {
      const upstream = yield* upstreamTo(port)
      yield* upstream.send(upstreamRequest())
      yield* Effect.sleep(5)
      return upstream
    })

  it.live.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])("%s is sent once more", (method) =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const body = method === "PUT" ? "body" : undefined
      const answer = yield* upstream.send(upstreamRequest({ method, body }))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(log, ["0 GET", `0 ${method}`, `1 ${method}`])
    })
  )

  it.live("POST is not: it may have had its effect", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const error = yield* Effect.flip(upstream.send(upstreamRequest({ method: "POST", body: "body" })))
      assert.match(error.message, /^upstream call failed: reset/)
      assert.deepStrictEqual(log, ["0 GET", "0 POST"])
    })
  )

  it.live("but whatever has not left when the end comes is sent, be it a POST", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port, sockets } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      // Its end has come and is not read yet; what is sent now leaves when it was.
      sockets[0]!.destroy()
      const answer = yield* upstream.send(upstreamRequest({ method: "POST", body: "body" }))
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(log, ["0 GET", "1 POST"])
    })
  )

  it.live("nor is a body that has been given away", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log)
      const upstream = yield* usedOnce(port)
      const error = yield* Effect.flip(
        upstream.send(upstreamRequest({ method: "PUT", body: new Tap().push("a").end() }))
      )
      assert.strictEqual(error._tag, "UpstreamFailed")
      assert.deepStrictEqual(log, ["0 GET", "0 PUT"])
    })
  )

  it.live("nor what has begun to be answered", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { port } = yield* closing(log, "HTTP/1.1 2")
      const upstream = yield* usedOnce(port)
      yield* Effect.flip(upstream.send(upstreamRequest()))
      assert.deepStrictEqual(log, ["0 GET", "0 GET"])
    })
  )

  it.live("nor a request on a connection of its own", () =>
    Effect.gen(function* () {
      const log: Array<number> = []
      const { port } = yield* tcpBackend((socket, index) =>
        socket.on("data", () => {
          log.push(index)
          socket.end()
        })
      )
      const upstream = yield* upstreamTo(port)
      yield* Effect.flip(upstream.send(upstreamRequest()))
      assert.deepStrictEqual(log, [0])
    })
  )

  it.live("and never twice", () =>
    Effect.gen(function* () {
      const log: Array<number> = []
      const { port } = yield* tcpBackend((socket, index) => {
        let served = 0
        socket.on("data", () => {
          log.push(index)
          if (served++ === 0 && index < 2)
            setTimeout(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), 20)
          else socket.end()
        })
      })
      const upstream = yield* upstreamTo(port)
      // Two connections that will both be closed when they are used again.
      yield* Effect.all([upstream.send(upstreamRequest()), upstream.send(upstreamRequest())], { concurrency: 2 })
      yield* Effect.sleep(5)
      const error = yield* Effect.flip(upstream.send(upstreamRequest()))
      assert.strictEqual(error._tag, "UpstreamFailed")
      assert.strictEqual(log.length, 4)
    })
  )
})
