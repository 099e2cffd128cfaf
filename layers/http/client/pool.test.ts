import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { FakeClock } from "../../../test/fake-clock.ts"
import type { Waiter } from "./carrier.ts"
import { Connection } from "./connection.ts"
import { PoolClosed, PoolExhausted } from "./failures.ts"
import { Pool, type PoolSettings } from "./pool.ts"

/** A pool whose connections come when the test says so, in a time that the test makes pass. */
const world = (changes: Partial<PoolSettings> = {}) => {
  const clock = new FakeClock()
  const dialled: Array<(made: "connection" | Error, address?: string) => Connection | undefined> = []
  const sockets = new Map<Connection, Socket>()
  const followers = new Set<(addresses: ReadonlySet<string>) => void>()
  const refused: Array<string> = []
  const pool = new Pool({
    dial: (home, done) => {
      dialled.push((made, address = "192.0.2.1") => {
        if (made instanceof Error) {
          done(made)
          return undefined
        }
        const socket = new Socket()
        const connection = new Connection(home, socket, address)
        sockets.set(connection, socket)
        done(connection)
        return connection
      })
    },
    most: undefined,
    idleTimeout: 1000,
    acquireTimeout: 500,
    now: clock.now,
    later: clock.after,
    follow: (changed) => {
      followers.add(changed)
      return () => followers.delete(changed)
    },
    defect: (cause) => {
      throw cause
    },
    refused: (limit) => refused.push(limit),
    ...changes
  })
  const log: Array<string> = []
  const got = new Map<string, Connection>()
  const waiter = (name: string, fresh = false, repeatable = true): Waiter => ({
    fresh,
    repeatable,
    connected: (connection) => {
      assert.instanceOf(connection, Connection)
      got.set(name, connection)
      log.push(name)
    },
    refused: (error) =>
      log.push(`${name}: ${error instanceof PoolExhausted ? `exhausted, ${error.limit}` : error.constructor.name}`)
  })
  return {
    pool,
    log,
    got,
    dialled,
    closed: (connection: Connection) => sockets.get(connection)!.destroyed,
    followers,
    refused,
    waiter,
    ask: (name: string, fresh = false) => pool.acquire(waiter(name, fresh)),
    /** Asks for what cannot be sent twice. */
    askOnce: (name: string) => pool.acquire(waiter(name, false, false)),
    connect: (address?: string) => dialled.shift()!("connection", address)!,
    /** Its call is over. */
    free: (connection: Connection) => {
      connection.served = true
      pool.release(connection)
    },
    /** The name stands for other addresses from now on. */
    move: (...addresses: ReadonlyArray<string>) => {
      for (const changed of followers) changed(new Set(addresses))
    },
    fail: () => dialled.shift()!(new TypeError("refused")),
    pass: (milliseconds: number) => clock.advance(milliseconds)
  }
}

describe("a pool", () => {
  it("makes a connection for whoever finds none, and gives the one used last to the next", () => {
    const { ask, connect, log, got, pool, dialled } = world()
    ask("a")
    ask("b")
    const [first, second] = [connect(), connect()]
    assert.deepStrictEqual(log, ["a", "b"])
    pool.release(second)
    pool.release(first)
    ask("c")
    assert.strictEqual(got.get("c"), first)
    assert.strictEqual(dialled.length, 0)
  })

  it("gives a connection that is free to who has waited longest, whoever it was made for", () => {
    const { ask, connect, log, pool } = world()
    ask("a")
    const first = connect()
    ask("b")
    ask("c")
    pool.release(first)
    assert.deepStrictEqual(log, ["a", "b"])
    connect()
    assert.deepStrictEqual(log, ["a", "b", "c"])
  })

  it("tells whoever a connection is being made for what becomes of that, and not that all are busy", () => {
    const { ask, dialled, fail, log, pass, refused } = world({ most: 1 })
    ask("a")
    pass(100)
    ask("b")
    ask("c")
    pass(400)
    assert.deepStrictEqual(log, [])
    fail()
    assert.deepStrictEqual([log, dialled.length], [["a: TypeError"], 1])
    pass(100)
    assert.deepStrictEqual(log.slice(1), ["c: exhausted, time"])
    fail()
    assert.deepStrictEqual(log.slice(2), ["b: TypeError"])
    assert.deepStrictEqual(refused, ["time"])
  })

  it("opens no more than it may; the others wait in turn, and not for ever", () => {
    const { ask, connect, log, pool, dialled, pass, refused } = world({ most: 1 })
    ask("a")
    const only = connect()
    ask("b")
    pass(300)
    ask("c")
    assert.strictEqual(dialled.length, 0)
    pool.release(only)
    assert.deepStrictEqual(log, ["a", "b"])
    pass(499)
    assert.deepStrictEqual(log, ["a", "b"])
    pass(1)
    assert.deepStrictEqual(log, ["a", "b", "c: exhausted, time"])
    assert.deepStrictEqual(refused, ["time"])
  })

  it("lets 1,024 wait, and refuses the next at once", () => {
    const { ask, connect, log, pool, refused } = world({ most: 1 })
    ask("first")
    connect()
    for (let i = 0; i < 1024; i++) ask(`${i}`)
    assert.deepStrictEqual(log, ["first"])
    ask("last")
    assert.deepStrictEqual(log, ["first", "last: exhausted, queue"])
    assert.deepStrictEqual(refused, ["queue"])
    assert.strictEqual(pool.waiting, 1024)
  })

  it("forgets who waits no longer", () => {
    const { ask, waiter, connect, log, pool, pass } = world({ most: 1 })
    ask("a")
    const only = connect()
    const gone = waiter("gone")
    pool.acquire(gone)
    ask("b")
    assert.strictEqual(pool.waiting, 2)
    pool.forget(gone)
    assert.strictEqual(pool.waiting, 1)
    pool.release(only)
    pass(10_000)
    assert.deepStrictEqual(log, ["a", "b"])
  })

  it("tells one of those who wait that a connection could not be made, and tries for the others", () => {
    const { ask, connect, fail, log } = world({ most: 1 })
    ask("a")
    ask("b")
    fail()
    assert.deepStrictEqual(log, ["a: TypeError"])
    connect()
    assert.deepStrictEqual(log, ["a: TypeError", "b"])
  })

  it("tells nobody when whoever it was for has another one", () => {
    const { ask, connect, fail, log, pool } = world()
    ask("a")
    const first = connect()
    ask("b")
    pool.release(first)
    fail()
    assert.deepStrictEqual(log, ["a", "b"])
  })

  it("makes a new one for who wants no used one, and room for it", () => {
    const { ask, connect, log, got, pool, dialled } = world({ most: 1 })
    ask("a")
    const used = connect()
    pool.release(used)
    ask("b", true)
    assert.strictEqual(dialled.length, 1)
    assert.deepStrictEqual(log, ["a"])
    connect()
    assert.notStrictEqual(got.get("b"), used)
  })

  it("makes that room as soon as the connection in its place is free", () => {
    const { ask, connect, log, got, pool, dialled } = world({ most: 1 })
    ask("a")
    const used = connect()
    ask("b", true)
    ask("c")
    assert.strictEqual(dialled.length, 0)
    pool.release(used)
    assert.deepStrictEqual(log, ["a"])
    connect()
    assert.deepStrictEqual(log, ["a", "b"])
    pool.release(got.get("b")!)
    assert.deepStrictEqual(log, ["a", "b", "c"])
  })

  it("knows of a connection that was made for somebody who left that its peer may have closed it", () => {
    const { ask, waiter, connect, got, pool } = world()
    const gone = waiter("gone")
    pool.acquire(gone)
    pool.forget(gone)
    assert.isTrue(connect().used)
    ask("a")
    assert.isTrue(got.get("a")?.used)
  })

  it("replaces what is lost for those who wait", () => {
    const { ask, connect, log, dialled } = world({ most: 1 })
    ask("a")
    const only = connect()
    ask("b")
    only.destroy()
    assert.strictEqual(dialled.length, 1)
    connect()
    assert.deepStrictEqual(log, ["a", "b"])
  })

  it("drops what has been idle for as long as it may, and gives out nothing that is older", () => {
    const { ask, connect, pool, dialled, pass, got } = world({ later: () => () => {} })
    ask("a")
    pool.release(connect())
    pass(1000)
    ask("b")
    assert.isFalse(got.has("b"))
    assert.strictEqual(dialled.length, 1)
    const timed = world()
    timed.ask("a")
    const idle = timed.connect()
    timed.pool.release(idle)
    timed.pass(999)
    timed.ask("b")
    assert.strictEqual(timed.got.get("b"), idle)
    timed.pool.release(idle)
    timed.pass(500)
    timed.pass(500)
    timed.ask("c")
    assert.isFalse(timed.got.has("c"))
  })

  it("gives out no connection to an address that the backend has no more, and closes those that are idle", () => {
    const { ask, connect, got, pool, move, closed } = world()
    for (const name of ["a", "b", "c"]) ask(name)
    const [idle, busy, other] = [connect("192.0.2.1"), connect("192.0.2.1"), connect("192.0.2.2")]
    pool.release(other)
    pool.release(idle)
    move("192.0.2.2", "192.0.2.3")
    assert.isTrue(closed(idle))
    pool.release(busy)
    assert.isTrue(closed(busy))
    ask("d")
    assert.strictEqual(got.get("d"), other)
    // An address that comes back helps no connection that was given up.
    move("192.0.2.1")
    move("192.0.2.2")
    pool.release(other)
    assert.isTrue(closed(other))
  })

  it("replaces one that is busy when its address goes, for who waits", () => {
    const { ask, connect, log, pool, move } = world({ most: 1 })
    ask("a")
    const old = connect("192.0.2.1")
    ask("b")
    move("192.0.2.2")
    pool.release(old)
    assert.deepStrictEqual(log, ["a"])
    connect("192.0.2.2")
    assert.deepStrictEqual(log, ["a", "b"])
  })

  it("lets one that was made to an address that went meanwhile serve once", () => {
    const { ask, connect, got, pool, move, closed } = world()
    ask("a")
    connect("192.0.2.2")
    move("192.0.2.2")
    ask("b")
    const late = connect("192.0.2.1")
    assert.strictEqual(got.get("b"), late)
    pool.release(late)
    assert.isTrue(closed(late))
  })

  it("gives what cannot be repeated no connection that has been idle for longer than its peer may keep it", () => {
    const { ask, askOnce, connect, got, free, pass, dialled } = world({ idleTimeout: 90_000 })
    ask("a")
    const first = connect()
    free(first)
    pass(1000)
    askOnce("b")
    assert.strictEqual(got.get("b"), first)
    free(first)
    pass(10_000)
    // Nobody knows whether it still stands. It stays idle, and shows how long others may be.
    askOnce("c")
    assert.isFalse(got.has("c"))
    const second = connect()
    free(second)
    pass(10_000)
    askOnce("d")
    assert.strictEqual(got.get("d"), second)
    free(second)
    // Its peer closes the first.
    pass(2000)
    first.destroy()
    pass(9000)
    askOnce("e")
    assert.strictEqual(got.get("e"), second)
    free(second)
    pass(11_500)
    askOnce("f")
    assert.isFalse(got.has("f"))
    assert.strictEqual(dialled.length, 1)
  })

  it("takes a short life of an idle connection for that of the others, too", () => {
    const { ask, askOnce, connect, got, free, pass } = world({ idleTimeout: 90_000 })
    for (const name of ["a", "b"]) ask(name)
    const [first, second] = [connect(), connect()]
    free(first)
    pass(3000)
    free(second)
    pass(3000)
    // The first has been idle for six seconds.
    askOnce("c")
    assert.strictEqual(got.get("c"), second)
    free(second)
    first.destroy()
    pass(3000)
    askOnce("d")
    assert.strictEqual(got.get("d"), second)
    free(second)
    pass(3500)
    askOnce("e")
    assert.isFalse(got.has("e"))
  })

  it("makes room for what can take no idle one", () => {
    const { ask, askOnce, connect, got, free, pass } = world({ most: 1, idleTimeout: 90_000 })
    ask("a")
    const first = connect()
    free(first)
    pass(5000)
    askOnce("b")
    assert.notStrictEqual(connect(), first)
    assert.isTrue(got.has("b"))
  })

  it("learns nothing of a connection that never served: before its first request its peer may be more patient", () => {
    const { ask, askOnce, connect, got, pool, pass, free } = world({ idleTimeout: 90_000 })
    for (const name of ["a", "b"]) ask(name)
    const [unused, used] = [connect(), connect()]
    pool.release(unused)
    pass(10_000)
    free(used)
    pass(2000)
    askOnce("c")
    assert.isFalse(got.has("c"))
    used.destroy()
    askOnce("d")
    assert.isFalse(got.has("d"))
  })

  it("follows its name only while it has connections", () => {
    const { ask, connect, fail, followers, got } = world()
    ask("a")
    fail()
    assert.strictEqual(followers.size, 0)
    for (const name of ["b", "c"]) ask(name)
    connect()
    connect()
    assert.strictEqual(followers.size, 1)
    got.get("b")!.destroy()
    assert.strictEqual(followers.size, 1)
    got.get("c")!.destroy()
    assert.strictEqual(followers.size, 0)
  })

  it("gives out no connection that is ten minutes old", () => {
    const minutes = 60_000
    const { ask, connect, got, pool, pass, closed } = world({ idleTimeout: 60 * minutes })
    ask("a")
    const first = connect()
    pool.release(first)
    pass(9 * minutes)
    ask("b")
    assert.strictEqual(got.get("b"), first)
    ask("c")
    const second = connect()
    pass(minutes)
    pool.release(first)
    assert.isTrue(closed(first))
    pool.release(second)
    ask("d")
    assert.strictEqual(got.get("d"), second)
    pool.release(second)
    pass(9 * minutes)
    assert.isTrue(closed(second))
  })

  it("closes what is idle, and refuses who comes later; who waits is served", () => {
    const { ask, connect, pool, log } = world()
    ask("a")
    pool.close()
    ask("b")
    connect()
    assert.deepStrictEqual(log, [`b: ${PoolClosed.name}`, "a"])
  })
})
