import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { type Container, ignore } from "../../src/services/contained.ts"
import { portOf } from "../../test/http/edge.ts"
import { pem } from "../../test/tls/edge.ts"
import { passOn } from "./passed-on.ts"
import { type Broken, Pump } from "./pump.ts"

const container: Container = {
  contain: (cause) => {
    throw cause
  }
}

const listening = async (connected: (socket: Socket) => void): Promise<Server> => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, connected).listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

const to = (server: Server): Socket =>
  connect({ port: portOf(server.address()), host: "127.0.0.1", allowHalfOpen: true })

/** Numbers below 1 that are the same in every run. */
const numbers = (seed: number) => () => {
  seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const random = numbers(1)
const block = Buffer.from(Uint8Array.from({ length: 1 << 20 }, () => random() * 256))

/** Sends so many bytes in pieces of any size, now and then after a while; the digest of all. */
const sends = (socket: Socket, size: number, seed: number): Promise<string> =>
  new Promise((resolve) => {
    const next = numbers(seed)
    const hash = createHash("sha1")
    let left = size
    const send = () => {
      while (left > 0) {
        const length = Math.min(left, 1 + Math.floor(next() * (next() < 0.5 ? 3_000 : 300_000)))
        const start = Math.floor(next() * (block.length - length))
        const piece = block.subarray(start, start + length)
        hash.update(piece)
        left -= length
        if (!socket.write(piece)) {
          socket.once("drain", send)
          return
        }
        if (next() < 0.1) {
          setImmediate(send)
          return
        }
      }
      socket.end()
      resolve(hash.digest("hex"))
    }
    send()
  })

/** Takes what comes up to the end, and takes nothing now and then; the digest of all. */
const takes = (socket: Socket, slowness: number, seed: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const next = numbers(seed)
    const hash = createHash("sha1")
    const goOn = () => socket.resume()
    socket
      .on("data", (bytes) => {
        hash.update(bytes)
        if (next() >= slowness) return
        socket.pause()
        setTimeout(goOn, next() * 4)
      })
      .on("error", reject)
      .on("end", () => resolve(hash.digest("hex")))
  })

describe("bytes that are passed on", () => {
  it("are what was sent, in both directions of many connections at once, however slowly they are taken", async () => {
    const each = 8 * 1024 * 1024
    const count = 8
    const over: Array<Broken | undefined> = []
    const digests: Array<Promise<readonly [string, string]>> = []
    const both = (socket: Socket, seed: number) => {
      const slowness = [0, 0.3, 0.02, 0.1][seed % 4]!
      return [sends(socket, each, seed), takes(socket, slowness, seed)] as const
    }
    const atBackend: Array<ReturnType<typeof both>> = []
    const backend = await listening((socket) => atBackend.push(both(socket, atBackend.length + 50)))
    const pumps: Array<Pump> = []
    const relay = await listening((client) => {
      const towards = to(backend)
      towards.once("connect", () => {
        const pump = new Pump(
          client,
          towards,
          (broken) => over.push(broken),
          (cause) => assert.fail(String(cause))
        )
        pumps.push(pump)
        pump.begin()
      })
    })
    const clients = Array.from({ length: count }, (_, i) => both(to(relay), i))
    for (const one of clients) digests.push(Promise.all(one))
    const told = await Promise.all(digests)
    const backends = await Promise.all(atBackend.map((one) => Promise.all(one)))
    const pairs = (all: ReadonlyArray<readonly [string, string]>, which: 0 | 1) => all.map((one) => one[which]).sort()
    assert.lengthOf(backends, count)
    assert.deepStrictEqual(pairs(backends, 1), pairs(told, 0))
    assert.deepStrictEqual(pairs(told, 1), pairs(backends, 0))
    for (const { received, sent } of pumps) assert.deepStrictEqual([received, sent], [each, each])
    relay.close()
    backend.close()
    await Promise.all([once(relay, "close"), once(backend, "close")])
    assert.deepStrictEqual(over, Array(count).fill(undefined))
  }, 60_000)

  it("are read into memory of our own where neither side has TLS", async () => {
    const sockets: Array<Socket> = []
    const server = await listening((socket) => sockets.push(socket))
    const [one, two] = [to(server), to(server)]
    await Promise.all([once(one, "connect"), once(two, "connect")])
    assert.isTrue(passOn(container, one, two, ignore))
    const secured = new TLSSocket(two, { isServer: true, cert: pem("server.pem"), key: pem("server.key") })
    assert.isFalse(passOn(container, one, secured, ignore))
    assert.isFalse(passOn(container, secured, one, ignore))
    for (const socket of [one, secured, two, ...sockets]) socket.on("error", ignore).destroy()
    server.close()
  })
})
