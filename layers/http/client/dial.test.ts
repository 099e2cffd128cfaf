import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { createServer as createTlsServer } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import type { Known, Names } from "../../../src/services/names.ts"
import type { Later } from "../../../src/services/timer.ts"
import { portOf } from "../../../test/http/edge.ts"
import { settle } from "../connection-settings.ts"
import type { Connection } from "./connection.ts"
import { dialTo, type Opened } from "./dial.ts"
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
  const { dial } = dialTo(target, settings, later, () => 0, names)
  const home = {
    release: () => assert.fail("nothing is released"),
    lost: () => {},
    later,
    defect: (cause: unknown) => assert.fail(String(cause)),
    contain: (cause: unknown) => assert.fail(String(cause))
  }
  const made: Array<Connection | Opened | Error> = []
  dial(home, "1.1", (one) => made.push(one))
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

describe("a session that a handshake left", () => {
  it("is resumed until the certificate expires that was verified for it", async () => {
    const pem = (name: string) => readFileSync(join(import.meta.dirname, "../../../test/http/fixtures/tls", name))
    const [cert, key, ca] = [pem("server.pem"), pem("server.key"), pem("authority.pem")]
    const resumed: Array<boolean> = []
    const server = createTlsServer({ cert, key }, (socket) => {
      resumed.push(socket.isSessionReused())
      socket.on("error", () => {}).end()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const target = { kind: "tcp", host: "127.0.0.1", port: portOf(server.address()), tls: true } as const
    const settings = settle(target, { connectTimeout: 10_000, tls: { verify: "everything", root: ca.toString() } })
    let now = Date.parse("2027-01-01")
    const { later } = timers()
    const noNames: Names["Service"] = { ask: () => assert.fail("an address"), follow: () => () => {} }
    const { dial } = dialTo(target, settings, later, () => now, noNames)
    const connect = () =>
      new Promise<void>((resolve, reject) => {
        const home = { release: () => {}, lost: () => resolve(), later, defect: reject, contain: reject }
        dial(home, "1.1", (made) => (made instanceof Error ? reject(made) : undefined))
      })
    await connect()
    await connect()
    now = Date.parse(new X509Certificate(cert).validTo)
    await connect()
    assert.deepStrictEqual(resumed, [false, true, false])
    server.close()
  })
})
