/** gRPC through a whole proxy, from a client that has HTTP/1.1 alone. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { framed } from "../../src/pipeline/grpc/frames.ts"
import { RawClient } from "../http/raw-client.ts"
import { decode, echoServer, encode } from "./echo.ts"

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

describe("gRPC through the proxy", () => {
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
