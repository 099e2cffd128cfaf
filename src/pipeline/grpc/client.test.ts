import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Address } from "../../../spec/target.ts"
import { decode, echoServer, encode, method } from "../../../test/grpc/echo.ts"
import { upstreamTo } from "../../../test/http/edge.ts"
import { frame, frameBackend, frameTypes, http2Backend, literals } from "../../../test/http2/backend.ts"
import { HeaderList } from "../../http/header-list.ts"
import { RequestHead } from "../../http/message.ts"
import { Exchange } from "../exchange.ts"
import type { Backend } from "../route.ts"
import { callerOf, makeWays } from "../sub-call.ts"
import { callUpstream } from "../upstream-call.ts"
import { type GrpcClient, grpcOver } from "./client.ts"
import { framed } from "./frames.ts"
import { binary, type GrpcOptions } from "./method.ts"
import { codeOf, GrpcFailed } from "./status.ts"

const request = () => {
  const peer = { address: "192.0.2.7", port: 7, rawAddress: "192.0.2.7", rawPort: 7 }
  return new Exchange(
    new RequestHead("GET", "http", "a", "/", new HeaderList()),
    undefined,
    peer,
    Date.now(),
    performance.now()
  )
}

const clientOf = (port: number): Effect.Effect<GrpcClient, never, import("effect").Scope.Scope> =>
  Effect.gen(function* () {
    const address: Address = { kind: "tcp", host: "127.0.0.1", port, tls: false }
    const upstream = yield* upstreamTo(address)
    const backend: Backend = {
      name: "b",
      type: "static",
      protocol: "http",
      target: `127.0.0.1:${port}`,
      steps: [],
      backendResponse: [],
      response: [],
      effective: () => ({}),
      keepsTime: true,
      call: (x, passage) => callUpstream(x, passage, upstream)
    }
    return grpcOver(callerOf(yield* makeWays, backend, address, "http"))
  })

const options: GrpcOptions = { timeout: 5_000 }
const say = method("Say")
const talk = method("Talk")

describe("a client of gRPC", () => {
  it.live("asks a server, and hears its message, headers and trailers", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const client = yield* clientOf(server.port)
      const metadata = new HeaderList(["x-a", "1", "x-b-bin", binary(Uint8Array.of(0, 255))])
      const reply = yield* client.unary(request(), say, "grüß", { ...options, metadata })
      assert.strictEqual(reply.message, "grüß!")
      assert.strictEqual(reply.headers.get("x-header"), "before")
      assert.deepStrictEqual([reply.trailers.get("x-trailer"), reply.trailers.get("x-bytes-bin")], ["behind", "AP8="])
      const [heard] = server.heard
      assert.deepInclude(heard?.metadata, { "x-a": "1" })
      assert.deepStrictEqual(heard?.metadata["x-b-bin"], Buffer.from([0, 255]))
      assert.isBelow(Math.abs((heard?.deadline ?? 0) - Date.now() - 5_000), 2_000)
    })
  )

  it.live("is told every status of a server, with its text and trailers", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const client = yield* clientOf(server.port)
      for (const [number, code] of [
        [3, "INVALID_ARGUMENT"],
        [7, "PERMISSION_DENIED"],
        [14, "UNAVAILABLE"],
        [16, "UNAUTHENTICATED"]
      ] as const) {
        const error = yield* Effect.flip(client.unary(request(), say, `fail:${number}`, options))
        if (!(error instanceof GrpcFailed)) return assert.fail(error.message)
        assert.deepStrictEqual([error.code, error.detail], [code, "größer, 100%"])
        assert.strictEqual(error.metadata.get("x-trailer"), "behind")
      }
      const unknown = yield* Effect.flip(client.unary(request(), method("None"), "a", options))
      assert.strictEqual(codeOf(unknown), "UNIMPLEMENTED")
    })
  )

  it.live("bounds what it reads, and for how long it waits, and ends what nobody waits for", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const client = yield* clientOf(server.port)
      const large = yield* client.unary(request(), say, "large:1000000", options)
      assert.strictEqual(large.message.length, 1_000_000)
      const error = yield* Effect.flip(client.unary(request(), say, "large:1000000", { ...options, maxBytes: 1000 }))
      assert.notStrictEqual(codeOf(error), "OK")
      const late = yield* Effect.flip(client.unary(request(), say, "wait", { timeout: 100 }))
      assert.strictEqual(codeOf(late), "DEADLINE_EXCEEDED")
      const waiting = yield* Effect.forkChild(client.unary(request(), say, "wait", options))
      while (server.heard.length < 4) yield* Effect.sleep(1)
      yield* Fiber.interrupt(waiting)
      yield* Effect.promise(() => server.whenCancelled)
    })
  )

  it.live("refuses metadata that cannot be sent", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(1)
      for (const list of [
        ["grpc-x", "1"],
        ["te", "x"],
        ["a", "b\nc"],
        ["a b", "c"],
        [":path", "/"]
      ]) {
        const error = yield* Effect.flip(
          client.unary(request(), say, "a", { ...options, metadata: new HeaderList(list) })
        )
        assert.match(error.message, /cannot be sent/)
      }
    })
  )

  it.live("says of what is no answer which code it comes to", () =>
    Effect.gen(function* () {
      const message = framed(encode("a"))
      const type = ["content-type", "application/grpc"]
      const ok = [":status", "200", ...type]
      const trailers = ["grpc-status", "0"]
      type Played = readonly [
        head: ReadonlyArray<string>,
        body?: Uint8Array | undefined,
        trailers?: ReadonlyArray<string>
      ]
      const cases: ReadonlyArray<readonly [code: string, answer: Played]> = [
        ["OK", [ok, message, trailers]],
        ["UNAVAILABLE", [[":status", "503"]]],
        ["UNIMPLEMENTED", [[":status", "404", "content-type", "text/html"], Buffer.from("no")]],
        ["UNKNOWN", [[":status", "200", "content-type", "text/plain"], Buffer.from("no")]],
        ["NOT_FOUND", [[...ok, "grpc-status", "5"]]],
        ["NOT_FOUND", [[":status", "500", ...type, "grpc-status", "5"]]],
        ["UNKNOWN", [ok, message]],
        ["UNKNOWN", [ok, message, ["grpc-status", "zero"]]],
        ["UNKNOWN", [ok, message, ["grpc-status", "0", "grpc-status", "0"]]],
        ["UNKNOWN", [ok, message, ["grpc-status", "99"]]],
        ["INTERNAL", [ok, undefined, trailers]],
        ["INTERNAL", [ok, Buffer.concat([message, message]), trailers]],
        ["INTERNAL", [ok, message.subarray(0, 6), trailers]],
        ["INTERNAL", [ok, message.subarray(0, 3), trailers]],
        ["INTERNAL", [ok, Buffer.concat([Buffer.of(1), message.subarray(1)]), trailers]],
        ["INTERNAL", [ok, framed(Buffer.of(255, 255, 255)), trailers]],
        ["RESOURCE_EXHAUSTED", [ok, Buffer.of(0, 255, 255, 255, 255), trailers]]
      ]
      for (const [code, [head, body, last]] of cases) {
        const server = yield* frameBackend(({ type, stream }, socket) => {
          if (type !== frameTypes.headers) return
          const isAll = body === undefined && last === undefined
          socket.write(
            Buffer.concat([
              frame(frameTypes.headers, isAll ? 5 : 4, stream, literals(head)),
              ...(body === undefined ? [] : [frame(frameTypes.data, last === undefined ? 1 : 0, stream, body)]),
              ...(last === undefined ? [] : [frame(frameTypes.headers, 5, stream, literals(last))])
            ])
          )
        })
        const client = yield* clientOf(server.port)
        const unary = yield* Effect.match(client.unary(request(), say, "a", options), {
          onFailure: codeOf,
          onSuccess: () => "OK"
        })
        assert.strictEqual(unary, code, JSON.stringify([head, last]))
        const stream = yield* client.open(request(), talk, options)
        stream.end()
        const received = yield* Effect.match(
          Effect.gen(function* () {
            let last: string | undefined
            for (;;) {
              const next = yield* stream.receive
              if (next === undefined) return last
              last = next
            }
          }),
          { onFailure: codeOf, onSuccess: () => "OK" }
        )
        // How many messages a stream has is its own affair.
        const isOne = code === "INTERNAL" && (body === undefined || body.length === 2 * message.length)
        assert.strictEqual(received, isOne ? "OK" : code, JSON.stringify([head, last]))
      }
    })
  )

  it.live("talks both ways at once, at the pace of each other", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const client = yield* clientOf(server.port)
      const stream = yield* client.open(request(), talk, options)
      for (const text of ["a", "b", ""]) {
        yield* stream.send(text)
        assert.strictEqual(yield* stream.receive, `${text}!`)
      }
      // More than any window holds.
      yield* stream.send("many:300")
      yield* stream.send("c")
      stream.end()
      for (let i = 0; i < 300; i++) assert.match((yield* stream.receive) ?? "", new RegExp(`^${i} b`))
      assert.strictEqual(yield* stream.receive, "c!")
      assert.isUndefined(yield* stream.receive)
      assert.strictEqual(stream.trailers()?.get("grpc-status"), "0")
      const after = yield* Effect.flip(stream.send("d"))
      assert.strictEqual(codeOf(after), "CANCELLED")
    })
  )

  it.live("hears of the end of a stream: by its server, by time, by itself, by nobody being there", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const client = yield* clientOf(server.port)
      const failing = yield* client.open(request(), talk, options)
      yield* failing.send("fail:9")
      assert.strictEqual(codeOf(yield* Effect.flip(failing.receive)), "FAILED_PRECONDITION")
      const late = yield* client.open(request(), talk, { timeout: 100 })
      assert.strictEqual(codeOf(yield* Effect.flip(late.receive)), "DEADLINE_EXCEEDED")
      const given = yield* client.open(request(), talk, options)
      yield* given.send("a")
      assert.strictEqual(yield* given.receive, "a!")
      given.cancel()
      assert.strictEqual(codeOf(yield* Effect.flip(given.receive)), "CANCELLED")
      yield* Effect.promise(() => server.whenCancelled)
      const nobody = yield* clientOf(1)
      const lost = yield* nobody.open(request(), talk, options)
      const error = yield* Effect.flip(lost.receive)
      assert.deepStrictEqual([error._tag, codeOf(error)], ["UpstreamFailed", "UNAVAILABLE"])
      assert.strictEqual(codeOf(yield* Effect.flip(lost.send("a"))), "CANCELLED")
    })
  )

  it.live("breaks with a stream that breaks", () =>
    Effect.gen(function* () {
      const server = yield* http2Backend((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" })
        stream.write(framed(encode("a")))
        stream.on("data", () => stream.close(2))
      })
      const client = yield* clientOf(server.port)
      const stream = yield* client.open(request(), talk, options)
      assert.strictEqual(yield* stream.receive, "a")
      yield* stream.send("b")
      const error = yield* Effect.flip(stream.receive)
      assert.strictEqual(error._tag, "BodyAborted")
      assert.strictEqual(decode(encode("x")), "x")
    })
  )
})
