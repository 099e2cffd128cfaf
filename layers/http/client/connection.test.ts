import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { FakeClock } from "../../../test/fake-clock.ts"
import { portOf } from "../../../test/http/edge.ts"
import { settle } from "../connection-settings.ts"
import type { Caller } from "./carrier.ts"
import { Connection } from "./connection.ts"
import { dialTo, Opened } from "./dial.ts"

/** A connection to a server of the test, by a clock that stands still; both ends of it, and whether it is free again. */
const connected = async () => {
  const clock = new FakeClock()
  const sockets: Array<Socket> = []
  const server = createServer((socket) => {
    socket.on("error", () => {})
    socket.resume()
    sockets.push(socket)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const target = { kind: "tcp", host: "127.0.0.1", port: portOf(server.address()), tls: false } as const
  const ended = Promise.withResolvers<"released" | "lost">()
  const fail = (cause: unknown) => assert.fail(String(cause))
  const home = {
    release: () => ended.resolve("released"),
    lost: () => ended.resolve("lost"),
    later: clock.after,
    defect: fail,
    contain: fail
  }
  const unasked = { ask: () => assert.fail("an address needs no name"), follow: () => () => {} }
  const connection = await new Promise<Connection | Error>((done) =>
    dialTo(target, settle(target, {}), clock.after, () => 0, unasked).dial(home, "1.1", (made) =>
      done(made instanceof Opened ? new Error("HTTP/2") : made)
    )
  )
  assert.instanceOf(connection, Connection)
  while (sockets.length === 0) await new Promise(setImmediate)
  return { clock, connection, peer: sockets[0]!, ended: ended.promise, close: () => server.close() }
}

/** Gives up its answer as soon as anything of it has come. */
const dropping = (connection: () => Connection, dropped: () => void): Caller => {
  const caller: Caller = {
    head: "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
    fields: [],
    body: undefined,
    declared: 0,
    bodiless: false,
    upgrading: false,
    onInterim: () => {},
    onHead: () => {},
    onBody: () => assert.fail("nothing of the body has come yet"),
    onEnd: () => {},
    onPiece: () => {
      connection().abandon(caller)
      dropped()
    },
    onSwitch: () => assert.fail("nobody asked for it"),
    onFailure: (error) => assert.fail(error.message),
    contain: (cause) => assert.fail(String(cause))
  }
  return caller
}

/** The same, of which the head of an answer has come, and that it is dropped was heard. */
const dropped = async () => {
  const all = await connected()
  const heard = Promise.withResolvers<void>()
  all.connection.send(dropping(() => all.connection, heard.resolve))
  all.peer.write("HTTP/1.1 503 no\r\ntransfer-encoding: chunked\r\n\r\n")
  await heard.promise
  return all
}

/** The rest of the answer, of so many bytes on the wire. */
const restOf = (bytes: number) => {
  const end = "\r\n0\r\n\r\n"
  const size = bytes - "00000\r\n".length - end.length
  return `${size.toString(16).padStart(5, "0")}\r\n${"x".repeat(size)}${end}`
}

const gone = (peer: Socket) => new Promise<void>((resolve) => peer.once("close", () => resolve()))

describe("a request that leaves at the end of the turn", () => {
  it("is not taken to be answered by what comes before that", async () => {
    const { peer, ended, connection, close } = await connected()
    let received = 0
    peer.on("data", (bytes) => {
      received += bytes.length
    })
    const failures: Array<ReadonlyArray<unknown>> = []
    const caller = {
      ...dropping(
        () => connection,
        () => {}
      ),
      onFailure: (...told: Array<unknown>) => failures.push(told)
    }
    const closed = gone(peer)
    connection.send(caller)
    const surplus = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    connection.received(surplus, surplus.length)
    assert.strictEqual(await ended, "lost")
    await closed
    assert.strictEqual(received, 0)
    assert.lengthOf(failures, 1)
    assert.deepStrictEqual(failures[0]!.slice(1), [false, true])
    close()
  })

  it("does not leave when it was given up, and its connection serves nobody else", async () => {
    const { peer, ended, connection, close } = await connected()
    let received = 0
    peer.on("data", (bytes) => {
      received += bytes.length
    })
    const caller = dropping(
      () => connection,
      () => {}
    )
    const closed = gone(peer)
    connection.send(caller)
    connection.abandon(caller)
    assert.strictEqual(await ended, "lost")
    await closed
    assert.strictEqual(received, 0)
    close()
  })
})

describe("the connection of an answer that is dropped", () => {
  it("serves another call when the rest is 64 KiB", async () => {
    const { peer, ended, connection, close } = await dropped()
    peer.write(restOf(65_536))
    assert.strictEqual(await ended, "released")
    connection.destroy()
    await gone(peer)
    close()
  })

  it("is closed, as its backend sees, when the rest is a byte longer, though it has ended", async () => {
    const { peer, ended, close } = await dropped()
    const closed = gone(peer)
    peer.write(restOf(65_537))
    assert.strictEqual(await ended, "lost")
    await closed
    close()
  })

  it("is closed when more comes than that and there is no end of it", async () => {
    const { peer, ended, close } = await dropped()
    const closed = gone(peer)
    for (let at = 0; at < 17; at++) peer.write(`1000\r\n${"x".repeat(0x1000)}\r\n`)
    assert.strictEqual(await ended, "lost")
    await closed
    close()
  })

  it("waits 50 ms for the rest", async () => {
    const { clock, peer, ended, connection, close } = await dropped()
    clock.advance(49)
    peer.write("0\r\n\r\n")
    assert.strictEqual(await ended, "released")
    assert.strictEqual(clock.timers, 0)
    connection.destroy()
    await gone(peer)
    close()
  })

  it("is closed, as its backend sees, when they are over", async () => {
    const { clock, peer, ended, close } = await dropped()
    const closed = gone(peer)
    clock.advance(50)
    assert.strictEqual(await ended, "lost")
    await closed
    close()
  })
})
