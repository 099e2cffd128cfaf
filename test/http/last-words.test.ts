/** How connections end that cannot go on: nobody is answered twice, and none stays open. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { BodyAborted, type BodySink } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { edge, proxyTo, tcpBackend } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"

const post = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"

describe("last words", () => {
  it.live.each([
    { how: "turns out malformed", spoil: (client: RawClient) => client.send("zz\r\n") },
    { how: "ends too early", spoil: (client: RawClient) => client.socket.end() }
  ])("a request that was answered gets no second answer when its body $how", ({ spoil }) =>
    Effect.gen(function* () {
      const { port, sockets } = yield* tcpBackend((socket) =>
        socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"))
      )
      const proxy = yield* proxyTo(port)
      const client = new RawClient(proxy.port).send(post)
      // The body is still wanted when the answer begins, and no more when it ends.
      yield* Effect.promise(() => client.until(({ text }) => text.endsWith("\r\n\r\no")))
      sockets[0]?.write("k")
      yield* Effect.promise(() => client.responses(1))
      spoil(client)
      const text = yield* Effect.promise(() => client.toEnd())
      assert.match(text, /^HTTP\/1\.1 200 [\s\S]*connection: keep-alive\r\n\r\nok$/)
      yield* Effect.promise(() => eventually(() => proxy.bound.connections() === 0))
      assert.deepStrictEqual(proxy.defects, [])
    })
  )

  it.live("a client that ends its side with its request gets what is known at once", () =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Exit.succeed({ status: 200, headers: new HeaderList(), body: "known" }))
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      client.socket.end()
      assert.match(yield* Effect.promise(() => client.toEnd()), /^HTTP\/1\.1 200 [\s\S]*\r\n\r\nknown$/)
    })
  )

  it.live(
    "a client that has ended its side, and takes nothing, holds no connection open when its answer is broken off",
    () =>
      Effect.gen(function* () {
        let sink: BodySink | undefined
        const { bound, port, outcomes } = yield* edge(() =>
          Effect.succeed({
            status: 200,
            headers: new HeaderList(),
            body: {
              start: (to: BodySink) => {
                sink = to
                to.data(Buffer.alloc(64 << 20))
              },
              resume: () => {},
              cancel: () => {}
            }
          })
        )
        const client = new RawClient(port)
        client.socket.pause()
        client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        yield* Effect.promise(() => eventually(() => sink !== undefined))
        client.socket.end()
        yield* Effect.sleep(100)
        sink?.fail(new BodyAborted({ source: "backend", detail: "reset" }))
        yield* Effect.promise(() => eventually(() => bound.connections() === 0, 3_000))
        assert.lengthOf(outcomes, 1)
        client.socket.destroy()
      })
  )

  it.live.each(["bytes", "declared", "chunks"])("an answer that was cut on its way is not told as sent (%s)", (kind) =>
    Effect.gen(function* () {
      const bytes = Buffer.alloc(64 << 20)
      const source = {
        start: (sink: BodySink) => {
          sink.data(bytes)
          sink.end()
        },
        resume: () => {},
        cancel: () => {}
      }
      let asked = false
      const { bound, port, outcomes } = yield* edge(() => {
        asked = true
        const headers = new HeaderList(kind === "declared" ? ["content-length", String(bytes.length)] : [])
        return Effect.succeed({ status: 200, headers, body: kind === "bytes" ? bytes : source })
      })
      const client = new RawClient(port)
      client.socket.pause()
      client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => eventually(() => asked))
      client.socket.resetAndDestroy()
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      assert.deepStrictEqual(outcomes, [{ status: 200, failure: "the client went away" }])
    })
  )
})
