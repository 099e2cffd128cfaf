import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { portOf } from "../../test/http/edge.ts"
import { eventually } from "../../test/http/raw-client.ts"
import { lasting, readShared } from "./shared-reads.ts"

/** Both ends of a connection; the accepted one is read as a listener does. */
const accepted = async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = connect(portOf(server.address()), "127.0.0.1")
  const [socket]: [Socket] = (await once(server, "connection")) as [Socket]
  const events: Array<string> = []
  socket.on("data", (bytes) => events.push(`data ${bytes}`)).on("end", () => events.push("end"))
  const close = () => {
    client.destroy()
    socket.destroy()
    server.close()
  }
  return { client, socket, events, close }
}

describe("reads into the shared buffer", () => {
  it("follow what was read before, and end as others do", async () => {
    const { client, socket, events, close } = await accepted()
    client.write("a")
    await eventually(() => events.length === 1)
    // The runtime that is pinned has what it takes.
    assert.isTrue(readShared(socket, (bytes) => events.push(`shared ${bytes}`)))
    client.write("b")
    await eventually(() => events.length === 2)
    client.end("c")
    await eventually(() => events.length === 4)
    assert.deepStrictEqual(events, ["data a", "shared b", "shared c", "end"])
    close()
  })

  it("stop while the socket is paused", async () => {
    const { client, socket, events, close } = await accepted()
    assert.isTrue(readShared(socket, (bytes) => events.push(`shared ${bytes}`)))
    client.write("a")
    await eventually(() => events.length === 1)
    socket.pause()
    await new Promise((resolve) => client.write("b", resolve))
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.deepStrictEqual(events, ["shared a"])
    socket.resume()
    await eventually(() => events.length === 2)
    close()
  })

  it("bring bytes that last only when they are asked to", async () => {
    const { client, socket, close } = await accepted()
    const kept: Array<Buffer> = []
    assert.isTrue(readShared(socket, (bytes) => kept.push(bytes, lasting(bytes))))
    client.write("a")
    await eventually(() => kept.length === 2)
    client.write("b")
    await eventually(() => kept.length === 4)
    assert.deepStrictEqual(kept.map(String), ["b", "a", "b", "b"])
    assert.strictEqual(lasting(kept[1]!), kept[1])
    close()
  })

  it("are left alone where there is nothing to read from", async () => {
    const { socket, close } = await accepted()
    socket.destroy()
    await once(socket, "close")
    assert.isFalse(readShared(socket, () => assert.fail("nobody sends")))
    close()
  })
})
