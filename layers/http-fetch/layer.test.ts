import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { HttpFetch } from "../../src/services/http-fetch.ts"
import { connectionPorts } from "../../test/http/edge.ts"
import { layer } from "./layer.ts"

const fetching = Layer.provide(layer, connectionPorts())

/** A server for the time of one test. */
const serving = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer(listener)
        await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

describe("a single call", () => {
  it.live("sends method, headers and body, and yields whatever status came", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const base = yield* serving((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk) => chunks.push(chunk))
        request.on("end", () => {
          response.writeHead(403, { "x-got": `${request.method} ${request.url} ${request.headers["content-type"]}` })
          response.end(Buffer.concat(chunks))
        })
      })
      const headers = new HeaderList(["content-type", "application/json"])
      const answer = yield* fetch({ method: "POST", url: `${base}/a?b=c`, headers, body: '{"a":1}' })
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(answer.headers.get("x-got"), "POST /a?b=c application/json")
      assert.isFalse(answer.headers.has("connection"))
      assert.strictEqual(Buffer.from(answer.body).toString(), '{"a":1}')
    }).pipe(Effect.provide(fetching))
  )

  it.live("does not follow a redirect", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const base = yield* serving((_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end())
      assert.strictEqual((yield* fetch({ method: "GET", url: base })).status, 302)
    }).pipe(Effect.provide(fetching))
  )

  const failing = (listener: RequestListener, limits: { timeout?: number; maxBytes?: number }) =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const base = yield* serving(listener)
      const failed = yield* Effect.flip(fetch({ method: "GET", url: base, ...limits }))
      assert.strictEqual(failed.url, base)
      return failed.detail
    }).pipe(Effect.provide(fetching))

  it.live("fails when the answer is larger than it may be", () =>
    Effect.gen(function* () {
      const endless: RequestListener = (_, response) => {
        const more = () => {
          while (response.write(Buffer.alloc(1000)));
        }
        response.on("drain", more)
        more()
      }
      assert.strictEqual(yield* failing(endless, { maxBytes: 5000 }), "the answer has more than 5000 bytes")
    })
  )

  it.live("fails when no answer comes, or no end of it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* failing(() => {}, { timeout: 50 }), "no whole answer within 50 ms")
      const halting: RequestListener = (_, response) => response.write("beginning")
      assert.strictEqual(yield* failing(halting, { timeout: 50 }), "no whole answer within 50 ms")
    })
  )

  it.live("leaves its connection to the next one", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const ports = new Set<number | undefined>()
      const base = yield* serving((request, response) => {
        ports.add(request.socket.remotePort)
        response.end(request.url)
      })
      for (const path of ["/a", "/b", "/c"])
        assert.strictEqual(Buffer.from((yield* fetch({ method: "GET", url: base + path })).body).toString(), path)
      assert.strictEqual(ports.size, 1)
    }).pipe(Effect.provide(fetching))
  )

  it.live("fails for what is no address", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      for (const url of ["nowhere", "/keys", "file:///keys", "ftp://a/keys"])
        assert.strictEqual((yield* Effect.flip(fetch({ method: "GET", url }))).detail, "not an address of HTTP")
    }).pipe(Effect.provide(fetching))
  )

  it.live("fails when nobody listens", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const failed = yield* Effect.flip(fetch({ method: "GET", url: "http://127.0.0.1:1/" }))
      assert.match(failed.message, /^http:\/\/127\.0\.0\.1:1\/: .*ECONNREFUSED/)
    }).pipe(Effect.provide(fetching))
  )

  it.live("ends with whoever asked for it", () =>
    Effect.gen(function* () {
      const { fetch } = yield* HttpFetch
      const asked = Promise.withResolvers<void>()
      const gone = Promise.withResolvers<void>()
      const base = yield* serving((request) => {
        request.socket.on("close", () => gone.resolve())
        asked.resolve()
      })
      const fiber = yield* Effect.forkChild(fetch({ method: "GET", url: base }))
      yield* Effect.promise(() => asked.promise)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => gone.promise)
    }).pipe(Effect.provide(fetching))
  )
})
