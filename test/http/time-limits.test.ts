/** How long calls may take, and for how long their bodies may stand still: with sockets, in a time that the test makes pass. */
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { type BodyAborted, type BodySink, type BodySource, isSource } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { Monotonic } from "../../src/services/monotonic.ts"
import { Timer } from "../../src/services/timer.ts"
import {
  callTimeout,
  type UpstreamOptions,
  type UpstreamRequest,
  type UpstreamTimedOut
} from "../../src/services/upstreams.ts"
import { FakeClock } from "../fake-clock.ts"
import { tcpBackend, upstreamRequest, upstreamTo } from "./edge.ts"
import { eventually } from "./raw-client.ts"

/** A body that the test drives. */
class Driven implements BodySource {
  sink: BodySink | undefined = undefined
  resumed = 0
  cancelled = false
  start(sink: BodySink): void {
    this.sink = sink
  }
  resume(): void {
    this.resumed++
  }
  cancel(): void {
    this.cancelled = true
  }
}

/** A backend that speaks when the test does, and a client of it whose time the test makes pass. */
const world = (options: UpstreamOptions = {}) =>
  Effect.gen(function* () {
    const clock = new FakeClock()
    let received = ""
    let closed = false
    const { port, sockets } = yield* tcpBackend((socket) => {
      socket.on("data", (bytes) => {
        received += bytes.toString("latin1")
      })
      const gone = () => {
        closed = true
      }
      socket.on("end", gone).on("close", gone)
    })
    const upstream = yield* upstreamTo(port, options).pipe(
      Effect.provideService(Monotonic, clock.now),
      Effect.provideService(Timer, clock.after)
    )
    return {
      clock,
      send: (changes: Partial<UpstreamRequest<UpstreamTimedOut>>) =>
        Effect.forkChild(Effect.exit(upstream.send<UpstreamTimedOut>({ ...upstreamRequest(), ...changes })), {
          startImmediately: true
        }),
      until: (condition: (received: string) => boolean) => Effect.promise(() => eventually(() => condition(received))),
      closed: Effect.promise(() => eventually(() => closed)),
      backend: (): Socket => sockets[0]!
    }
  })

const post = (body: BodySource): Partial<UpstreamRequest> => ({
  method: "POST",
  headers: new HeaderList(["content-length", "10"]),
  body
})

/** What comes of a body, as it comes. */
const reading = (body: unknown) => {
  const log: Array<string> = []
  const source = body as BodySource
  assert.isTrue(isSource(source))
  source.start({
    data: (chunk) => {
      log.push(Buffer.from(chunk).toString())
      return true
    },
    end: () => log.push("end"),
    fail: ({ source, detail }: BodyAborted) => log.push(`${source}: ${detail}`)
  })
  return log
}

const reached = (log: ReadonlyArray<string>, count: number) =>
  Effect.promise(() => eventually(() => log.length >= count))

const silence = "nothing has moved for too long"

describe("the time of a try", () => {
  it.live("stands still while the client's body is waited for, and runs again when all of it was sent", () =>
    Effect.gen(function* () {
      const { clock, send, until } = yield* world()
      const body = new Driven()
      const fiber = yield* send({ ...post(body), patience: callTimeout(100) })
      yield* until((text) => text.includes("\r\n\r\n"))
      clock.advance(1_000_000)
      body.sink!.data(Buffer.from("12345"))
      yield* until((text) => text.endsWith("12345"))
      clock.advance(1_000_000)
      assert.isUndefined(fiber.pollUnsafe())
      body.sink!.data(Buffer.from("67890"))
      body.sink!.end()
      yield* until((text) => text.endsWith("67890"))
      clock.advance(99)
      assert.isUndefined(fiber.pollUnsafe())
      clock.advance(1)
      const failure = yield* Effect.flip(yield* Fiber.join(fiber))
      assert.deepStrictEqual([failure.status, failure.message], [504, "upstream call timeout"])
      assert.strictEqual(clock.timers, 0)
    })
  )

  it.live("runs until there is a connection, and that of the request never stands still", () =>
    Effect.gen(function* () {
      const { clock, send, until, closed } = yield* world()
      const waiting = yield* send({ ...post(new Driven()), patience: callTimeout(100) })
      // The connection is made in a later turn of the event loop.
      clock.advance(100)
      assert.strictEqual((yield* Effect.flip(yield* Fiber.join(waiting))).status, 504)
      const body = new Driven()
      const fiber = yield* send({ ...post(body), patience: callTimeout(100), timeout: callTimeout(500) })
      yield* until((text) => text.includes("\r\n\r\n"))
      clock.advance(499)
      assert.isUndefined(fiber.pollUnsafe())
      clock.advance(1)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
      assert.isTrue(body.cancelled)
      assert.strictEqual(clock.timers, 0)
      yield* closed
    })
  )

  it.live("runs while the backend does not take the body", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend } = yield* world()
      const body = new Driven()
      const fiber = yield* send({
        method: "POST",
        headers: new HeaderList(),
        body,
        patience: callTimeout(100)
      })
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().pause()
      const chunk = Buffer.alloc(1_048_576)
      yield* Effect.promise(() => eventually(() => !body.sink!.data(chunk)))
      const { resumed } = body
      clock.advance(100)
      const failure = yield* Effect.flip(yield* Fiber.join(fiber))
      assert.strictEqual(failure.status, 504)
      assert.strictEqual(body.resumed, resumed)
    })
  )
})

describe("a body that stands still", () => {
  it.live("is given up after the limit where the client does not go on: 408, and no fault of the backend", () =>
    Effect.gen(function* () {
      const { clock, send, until, closed } = yield* world({ bodyIdleTimeout: 100 })
      const body = new Driven()
      const fiber = yield* send(post(body))
      yield* until((text) => text.includes("\r\n\r\n"))
      for (const piece of ["1", "2", "3"]) {
        clock.advance(99)
        body.sink!.data(Buffer.from(piece))
      }
      clock.advance(99)
      assert.isUndefined(fiber.pollUnsafe())
      clock.advance(1)
      const failure = yield* Effect.flip(yield* Fiber.join(fiber))
      assert.deepStrictEqual([failure._tag, failure.status, failure.source], ["UpstreamIdle", 408, "client"])
      assert.isTrue(body.cancelled)
      assert.strictEqual(clock.timers, 0)
      yield* closed
    })
  )

  it.live("is given up where the backend does not take it: 504", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend } = yield* world({ bodyIdleTimeout: 100 })
      const body = new Driven()
      const fiber = yield* send({ method: "POST", headers: new HeaderList(), body })
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().pause()
      const chunk = Buffer.alloc(1_048_576)
      yield* Effect.promise(() => eventually(() => !body.sink!.data(chunk)))
      clock.advance(100)
      const failure = yield* Effect.flip(yield* Fiber.join(fiber))
      assert.deepStrictEqual([failure._tag, failure.status, failure.source], ["UpstreamIdle", 504, "backend"])
      assert.strictEqual(failure.message, "upstream call timeout")
    })
  )

  it.live("says nothing of the wait for an answer", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend } = yield* world({ bodyIdleTimeout: 100 })
      const body = new Driven()
      const fiber = yield* send(post(body))
      yield* until((text) => text.includes("\r\n\r\n"))
      body.sink!.data(Buffer.from("1234567890"))
      body.sink!.end()
      yield* until((text) => text.endsWith("1234567890"))
      clock.advance(1_000_000)
      backend().write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
      const exit = yield* Fiber.join(fiber)
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(clock.timers, 0)
    })
  )

  it.live("that is an answer is cut after the limit, and its connection with it", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend, closed } = yield* world({ bodyIdleTimeout: 100 })
      const fiber = yield* send({})
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none")
      const answer = yield* yield* Fiber.join(fiber)
      // Nobody reads it yet, and it is nobody's turn.
      clock.advance(1_000_000)
      const log = reading(answer.body)
      clock.advance(99)
      backend().write("two")
      yield* reached(log, 2)
      clock.advance(99)
      assert.deepStrictEqual(log, ["one", "two"])
      clock.advance(1)
      assert.deepStrictEqual(log, ["one", "two", `backend: ${silence}`])
      yield* closed
      assert.strictEqual(clock.timers, 0)
    })
  )

  it.live("that is an answer may end in time", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend } = yield* world({ bodyIdleTimeout: 100 })
      const fiber = yield* send({})
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\none")
      const log = reading((yield* yield* Fiber.join(fiber)).body)
      clock.advance(99)
      backend().write("two")
      yield* reached(log, 3)
      assert.deepStrictEqual(log, ["one", "two", "end"])
      assert.strictEqual(clock.timers, 0)
    })
  )

  it.live("is any direction of a connection that has left HTTP, while neither moves", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend, closed } = yield* world({ bodyIdleTimeout: 100 })
      const fiber = yield* send({ upgrade: "x" })
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
      const answer = yield* yield* Fiber.join(fiber)
      const client = new Driven()
      answer.switched!.outbound(client)
      const log = reading(answer.body)
      clock.advance(99)
      client.sink!.data(Buffer.from("of the client"))
      yield* until((text) => text.endsWith("of the client"))
      clock.advance(99)
      backend().write("of the backend")
      yield* reached(log, 1)
      clock.advance(99)
      assert.deepStrictEqual(log, ["of the backend"])
      assert.isFalse(client.cancelled)
      clock.advance(1)
      assert.deepStrictEqual(log, ["of the backend", `client: ${silence}`])
      assert.isTrue(client.cancelled)
      yield* closed
      assert.strictEqual(clock.timers, 0)
    })
  )

  it.live("may do so for any time where nobody says otherwise", () =>
    Effect.gen(function* () {
      const { clock, send, until, backend } = yield* world()
      const fiber = yield* send({})
      yield* until((text) => text.includes("\r\n\r\n"))
      backend().write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\none")
      const log = reading((yield* yield* Fiber.join(fiber)).body)
      assert.strictEqual(clock.timers, 0)
      backend().write("two")
      yield* reached(log, 3)
      assert.deepStrictEqual(log, ["one", "two", "end"])
    })
  )
})
