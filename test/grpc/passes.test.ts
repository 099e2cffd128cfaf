/** gRPC through a whole proxy, between Google's own client and server, and from a client that has HTTP/1.1 alone. */

import { assert, describe, it } from "@effect/vitest"
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { framed } from "../../src/pipeline/grpc/frames.ts"
import { RawClient } from "../http/raw-client.ts"
import { decode, echoServer, encode, service } from "./echo.ts"

const proxy = (port: number, policies = "{}", log?: (line: string) => void) =>
  start(
    `
gateways: { default: { port: 8080 } }
routes:
- policies: ${policies}
  backends: [{ host: "127.0.0.1:${port}" }]
`,
    { ephemeral: true, host: "127.0.0.1", log }
  )

/** A client of Google's, and how its calls end. */
const clientAt = (port: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Client(`127.0.0.1:${port}`, credentials.createInsecure())),
      (client) => Effect.sync(() => client.close())
    ),
    (client) => ({
      say: (text: string, metadata = new Metadata(), deadline = Date.now() + 10_000) =>
        Effect.promise(
          () =>
            new Promise<{
              readonly text: string | undefined
              readonly code: number
              readonly details: string
              readonly headers: Readonly<Record<string, unknown>>
              readonly trailers: Readonly<Record<string, unknown>>
            }>((resolve) => {
              let headers: Readonly<Record<string, unknown>> = {}
              let reply: string | undefined
              const { path, requestSerialize, responseDeserialize } = service.Say
              const call = client.makeUnaryRequest(
                path,
                requestSerialize,
                responseDeserialize,
                text,
                metadata,
                { deadline },
                (_: ServiceError | null, value?: string) => {
                  reply = value
                }
              )
              call.on("metadata", (received) => {
                headers = received.getMap()
              })
              call.on("status", ({ code, details, metadata: behind }) =>
                setImmediate(() => resolve({ text: reply, code, details, headers, trailers: behind.getMap() }))
              )
            })
        ),
      talk: () => {
        const { path, requestSerialize, responseDeserialize } = service.Talk
        return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize)
      }
    })
  )

describe("gRPC through the proxy", () => {
  it.live("passes whole: messages, metadata, trailers, status, deadlines", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const lines: Array<string> = []
      const gateway = yield* proxy(server.port, "{}", (line) => lines.push(line))
      const client = yield* clientAt(gateway.port(8080)!)
      const metadata = new Metadata()
      metadata.set("x-a", "1")
      metadata.set("x-b-bin", Buffer.from([0, 255]))
      const well = yield* client.say("hello", metadata)
      assert.deepStrictEqual([well.text, well.code], ["hello!", status.OK])
      assert.strictEqual(well.headers["x-header"], "before")
      assert.deepStrictEqual(
        [well.trailers["x-trailer"], well.trailers["x-bytes-bin"]],
        ["behind", Buffer.from([0, 255])]
      )
      assert.deepInclude(server.heard[0]?.metadata, { "x-a": "1" })
      assert.deepStrictEqual(server.heard[0]?.metadata["x-b-bin"], Buffer.from([0, 255]))
      const failed = yield* client.say("fail:5")
      assert.deepStrictEqual([failed.code, failed.details, failed.trailers["x-trailer"]], [5, "größer, 100%", "behind"])
      const large = yield* client.say("large:3000000")
      assert.strictEqual(large.text?.length, 3_000_000)
      const late = yield* client.say("wait", new Metadata(), Date.now() + 200)
      assert.strictEqual(late.code, status.DEADLINE_EXCEEDED)
      yield* Effect.promise(() => server.whenCancelled)
      const ofCalls = lines.filter((line) => line.includes("/test.Echo/"))
      assert.match(ofCalls[0] ?? "", /http.version=HTTP\/2 http.status=200 grpc.status=0 /)
      assert.match(ofCalls[1] ?? "", /http.status=200 grpc.status=5 /)
    })
  )

  it.live("streams both ways at once", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const gateway = yield* proxy(server.port)
      const client = yield* clientAt(gateway.port(8080)!)
      const call = client.talk()
      const received: Array<string> = []
      let more = () => {}
      call.on("data", (text: string) => {
        received.push(text)
        more()
      })
      const ended = new Promise<number>((resolve) => call.on("status", ({ code }) => resolve(code)))
      call.on("error", () => {})
      const until = (count: number) =>
        Effect.promise(async () => {
          while (received.length < count)
            await new Promise<void>((resolve) => {
              more = resolve
            })
        })
      for (const [at, text] of ["a", "b", "c"].entries()) {
        call.write(text)
        yield* until(at + 1)
      }
      call.write("many:200")
      call.end()
      assert.strictEqual(yield* Effect.promise(() => ended), status.OK)
      assert.deepStrictEqual(received.slice(0, 3), ["a!", "b!", "c!"])
      assert.strictEqual(received.length, 203)
      const given = client.talk()
      given.on("error", () => {})
      const first = new Promise((resolve) => given.once("data", resolve))
      given.write("x")
      yield* Effect.promise(() => first)
      given.cancel()
      yield* Effect.promise(() => server.whenCancelled)
    })
  )

  it.live("is told errors of the proxy as statuses", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const code = (policies: string, port = server.port) =>
        Effect.gen(function* () {
          const gateway = yield* proxy(port, policies)
          return (yield* (yield* clientAt(gateway.port(8080)!)).say("a")).code
        })
      assert.strictEqual(yield* code("{ apiKey: { mode: strict, keys: [{ key: k }] } }"), status.UNAUTHENTICATED)
      assert.strictEqual(yield* code("{ authorization: { rules: [{ deny: 'true' }] } }"), status.PERMISSION_DENIED)
      assert.strictEqual(yield* code("{}", 1), status.UNAVAILABLE)
      assert.strictEqual(server.heard.length, 0)
    })
  )

  it.live("comes whole to a client over HTTP/1.1, with its trailers", () =>
    Effect.gen(function* () {
      const server = yield* echoServer
      const lines: Array<string> = []
      const gateway = yield* proxy(server.port, "{}", (line) => lines.push(line))
      const client = new RawClient(gateway.port(8080)!)
      const message = framed(encode("hello"))
      client
        .send(
          `POST /test.Echo/Say HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: te\r\ncontent-type: application/grpc\r\ncontent-length: ${message.length}\r\n\r\n`
        )
        .send(message)
      yield* Effect.promise(() => client.until(({ text }) => /\r\n0\r\n.*\r\n\r\n$/s.test(text)))
      client.socket.destroy()
      assert.match(client.text, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(client.text, /\r\n0\r\n(.*\r\n)*grpc-status: 0\r\n/)
      const body = Buffer.from(client.text.slice(client.text.indexOf("\r\n\r\n") + 4), "latin1")
      const begins = body.indexOf("\r\n") + 2
      assert.strictEqual(decode(body.subarray(begins + 5, begins + 5 + body.readUInt32BE(begins + 1))), "hello!")
      assert.match(lines.find((line) => line.includes("/test.Echo/")) ?? "", /http.status=200 grpc.status=0 /)
    })
  )
})
