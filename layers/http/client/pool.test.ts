import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Connection } from "./connection.ts"
import { PoolClosed, PoolExhausted } from "./failures.ts"
import { Pool, type PoolSettings, type Waiter } from "./pool.ts"

/** A pool whose connections come when the test says so, in a time that the test makes pass. */
const world = (changes: Partial<PoolSettings> = {}) => {
  let now = 0
  let timers: Array<{ readonly at: number; readonly action: () => void }> = []
  const dialled: Array<(made: "connection" | Error) => Connection | undefined> = []
  const pool = new Pool({
    dial: (home, done) => {
      dialled.push((made) => {
        if (made instanceof Error) {
          done(made)
          return undefined
        }
        const connection = new Connection(home, new Socket())
        done(connection)
        return connection
      })
    },
    most: undefined,
    idleTimeout: 1000,
    patience: 500,
    now: () => now,
    later: (milliseconds, action) => {
      const timer = { at: now + milliseconds, action }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
    defect: (cause) => {
      throw cause
    },
    ...changes
  })
  const log: Array<string> = []
  const got = new Map<string, Connection>()
  const waiter = (name: string, fresh = false): Waiter => ({
    fresh,
    connected: (connection) => {
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
    waiter,
    ask: (name: string, fresh = false) => pool.acquire(waiter(name, fresh)),
    connect: () => dialled.shift()!("connection")!,
    fail: () => dialled.shift()!(new TypeError("refused")),
    pass: (milliseconds: number) => {
      now += milliseconds
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { action } of due) action()
    }
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

  it("opens no more than it may; the others wait in turn, and not for ever", () => {
    const { ask, connect, log, pool, dialled, pass } = world({ most: 1 })
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
  })

  it("lets 1,024 wait, and refuses the next at once", () => {
    const { ask, connect, log } = world({ most: 1 })
    ask("first")
    connect()
    for (let i = 0; i < 1024; i++) ask(`${i}`)
    assert.deepStrictEqual(log, ["first"])
    ask("last")
    assert.deepStrictEqual(log, ["first", "last: exhausted, queue"])
  })

  it("forgets who waits no longer", () => {
    const { ask, waiter, connect, log, pool, pass } = world({ most: 1 })
    ask("a")
    const only = connect()
    const gone = waiter("gone")
    pool.acquire(gone)
    ask("b")
    pool.forget(gone)
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

  it("closes what is idle, and refuses who comes later; who waits is served", () => {
    const { ask, connect, pool, log } = world()
    ask("a")
    pool.close()
    ask("b")
    connect()
    assert.deepStrictEqual(log, [`b: ${PoolClosed.name}`, "a"])
  })
})
