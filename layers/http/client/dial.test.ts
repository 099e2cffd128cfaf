import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import type { Known, Names } from "../../../src/services/names.ts"
import type { Later } from "../../../src/services/timer.ts"
import { portOf } from "../../../test/http/edge.ts"
import { settle } from "../connection-settings.ts"
import type { Connection } from "./connection.ts"
import { dialTo } from "./dial.ts"
import { ConnectTimedOut } from "./failures.ts"

/** Timers that go off when a test says so. */
const timers = () => {
  const set = new Map<() => void, number>()
  const later: Later = (milliseconds, action) => {
    set.set(action, milliseconds)
    return () => set.delete(action)
  }
  return { set, later }
}

/** A server that says nothing, a name that is known when the test says so, and a connection that is being made to it. */
const dialled = async (connectTimeout: number) => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const target = { kind: "tcp", host: "silent.example", port: portOf(server.address()), tls: true } as const
  const { set, later } = timers()
  let hear: ((known: Known) => void) | undefined
  let forgotten = 0
  const names: Names["Service"] = {
    ask: (_, _families, told) => {
      hear = told
      return () => forgotten++
    },
    follow: () => () => {}
  }
  const settings = settle(target, { connectTimeout, tls: { verify: "nothing" } })
  const { dial } = dialTo(target, settings, later, names)
  const home = {
    release: () => assert.fail("nothing is released"),
    lost: () => {},
    later,
    defect: (cause: unknown) => assert.fail(String(cause)),
    contain: (cause: unknown) => assert.fail(String(cause))
  }
  const made: Array<Connection | Error> = []
  dial(home, (one) => made.push(one))
  await new Promise((resolve) => setImmediate(resolve))
  /** The one limit of connecting: whatever else is set are parts of the race between addresses. */
  const limit = () => [...set].filter(([, milliseconds]) => milliseconds === connectTimeout).map(([action]) => action)
  return { server, made, limit, hear: () => hear!({ v4: ["127.0.0.1"], v6: [] }), forgotten: () => forgotten }
}

describe("the time in which a connection must stand", () => {
  it("runs while its name is looked up", async () => {
    const { server, made, limit, forgotten } = await dialled(777)
    assert.lengthOf(limit(), 1)
    limit()[0]!()
    assert.instanceOf(made[0], ConnectTimedOut)
    assert.strictEqual(forgotten(), 1)
    server.close()
  })

  it("is the same for name, connection and handshake, and what is half made is closed when it is over", async () => {
    const { server, made, limit, hear } = await dialled(777)
    const [only] = limit()
    hear()
    const [socket] = (await once(server, "connection")) as [Socket]
    const [hello] = (await once(socket, "data")) as [Buffer]
    assert.strictEqual(hello[0], 0x16)
    assert.deepStrictEqual(limit(), [only])
    assert.lengthOf(made, 0)
    const closed = once(
      socket.on("error", () => {}),
      "close"
    )
    only!()
    assert.instanceOf(made[0], ConnectTimedOut)
    await closed
    assert.lengthOf(limit(), 0)
    assert.lengthOf(made, 1)
    server.close()
  })
})
