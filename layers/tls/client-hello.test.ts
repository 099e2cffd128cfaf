import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { longestHello, readHello } from "./client-hello.ts"

/** What the runtime's own client sends first. */
const helloOf = (servername: string) =>
  Effect.promise(
    () =>
      new Promise<Buffer>((resolve) => {
        const server = createServer((socket) => {
          socket.on("error", () => {})
          socket.once("data", (bytes) => {
            socket.destroy()
            server.close()
            if (Buffer.isBuffer(bytes)) resolve(bytes)
          })
        }).listen(0, "127.0.0.1", () => {
          const address = server.address()
          if (typeof address === "object" && address !== null)
            connect({ host: "127.0.0.1", port: address.port, servername }).on("error", () => {})
        })
      })
  )

/** The same message in records of so many bytes. */
const inRecords = (hello: Buffer, size: number): Buffer => {
  const message = hello.subarray(5)
  const records: Array<Buffer> = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part)
  }
  return Buffer.concat(records)
}

describe("the first message of a client", () => {
  it.live("names the server, in as many packets and records as it may come", () =>
    Effect.gen(function* () {
      const named = { _tag: "Hello", serverName: "a.example" } as const
      const hello = yield* helloOf("a.example")
      assert.deepStrictEqual(readHello(hello), named)
      for (let length = 0; length < hello.length; length++)
        assert.strictEqual(readHello(hello.subarray(0, length))._tag, "Unfinished", String(length))
      assert.deepStrictEqual(readHello(Buffer.concat([hello, Buffer.from("more")])), named)
      for (const size of [Math.ceil(hello.length / 32), 300, 301]) {
        const bytes = inRecords(hello, size)
        assert.deepStrictEqual(readHello(bytes), named)
        assert.strictEqual(readHello(bytes.subarray(0, bytes.length - 1))._tag, "Unfinished")
      }
      assert.strictEqual(readHello(inRecords(hello, 2))._tag, "Malformed")
    })
  )

  it.live("may name none, and is not taken for one when it is something else", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(readHello(yield* helloOf("")), { _tag: "Hello", serverName: undefined })
      for (const bytes of [
        "GET / HTTP/1.1\r\n\r\n",
        "\x15\x03\x01\0\x02",
        "\x16\x02",
        "\x16\x03\x01\0\0",
        "\x16\x03\x01\xff\xff"
      ])
        assert.strictEqual(readHello(Buffer.from(bytes, "latin1"))._tag, "Malformed", JSON.stringify(bytes))
      const long = Buffer.concat([
        Buffer.from([22, 3, 1, 0x40, 0, 1, (longestHello + 1) >> 16, 0, 1]),
        randomBytes(100)
      ])
      assert.strictEqual(readHello(long)._tag, "Malformed")
    })
  )

  it.live("with any bytes changed, cut off or put in, is read or refused, and never more than that", () =>
    Effect.gen(function* () {
      const hello = yield* helloOf("a.example")
      const next = pseudoRandom(24)
      const seen = new Set<string>()
      for (let round = 0; round < 20_000; round++) {
        let bytes = Buffer.from(hello)
        for (let changes = next(4) + 1; changes > 0; changes--) {
          const at = next(bytes.length)
          if (next(3) > 0) bytes[at] = next(256)
          else if (next(2) > 0) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + next(40))])
          else bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([next(256), next(256)]), bytes.subarray(at)])
        }
        const read = readHello(bytes)
        seen.add(read._tag)
        if (read._tag === "Hello" && read.serverName !== undefined)
          assert.match(read.serverName, /^[a-z0-9._-]{1,255}$/)
      }
      assert.deepStrictEqual([...seen].sort(), ["Hello", "Malformed", "Unfinished"])
    })
  )
})

/** The same numbers in every run. */
const pseudoRandom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
