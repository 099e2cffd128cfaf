/** Faults at each point of what a backend sends, and between calls that share sessions: nobody gets what is another one's. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Fiber } from "effect"
import { BodyAborted, read } from "../../../src/http/body.ts"
import { driven } from "../../../test/driven-body.ts"
import { upstreamRequest, upstreamTo } from "../../../test/http/edge.ts"
import { frame, frameBackend, frameTypes, literals, number32 } from "../../../test/http2/backend.ts"

const { data, headers, goaway, reset } = frameTypes
const ok = literals([":status", "200"])

const asked = (send: Effect.Success<ReturnType<typeof upstreamTo>>["send"], path: string) =>
  Effect.exit(
    Effect.flatMap(send(upstreamRequest({ method: "POST", pathAndQuery: path, body: path })), ({ body }) =>
      Effect.map(read(body, 1_000_000), ({ bytes }) => Buffer.from(bytes).toString())
    )
  )

describe("a backend that breaks off", () => {
  it.live("behind each byte of an answer is never taken for one that has ended, and costs that call alone", () =>
    Effect.gen(function* () {
      const answer = (stream: number) =>
        Buffer.concat([
          frame(headers, 4, stream, ok),
          frame(data, 0, stream, Buffer.from("ab")),
          frame(data, 0, stream, Buffer.from("cd")),
          frame(headers, 5, stream, literals(["x-t", "1"]))
        ])
      const whole = answer(1).length
      let cut = 0
      const backend = yield* frameBackend(({ type, stream }, socket) => {
        if (type !== headers) return
        const bytes = answer(stream)
        socket.write(bytes.subarray(0, cut))
        if (cut === whole) return
        if (cut % 2 === 0) socket.destroy()
        else socket.end()
      })
      const { send } = yield* upstreamTo(backend.port, { version: "2" })
      for (; cut <= whole; cut++) {
        const exit = yield* asked(send, "/")
        if (cut < whole) {
          assert.strictEqual(exit._tag, "Failure", `${cut}`)
          const error = exit._tag === "Failure" ? Cause.squash(exit.cause) : undefined
          assert.isTrue(error instanceof Error && /reset|ended early/.test(error.message), String(error))
        } else assert.strictEqual(exit._tag === "Success" ? exit.value : "", "abcd")
      }
    })
  )

  it.live("now and then, in any way, gives everybody else what is theirs", () =>
    Effect.gen(function* () {
      let state = 42
      const random = (below: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
        return Math.floor((state / 2 ** 32) * below)
      }
      const backend = yield* frameBackend(({ type, stream, flags, payload }, socket) => {
        if (type !== data || (flags & 1) === 0) return
        const name = payload.toString()
        const begin = frame(headers, 4, stream, ok)
        const rest = frame(data, 1, stream, Buffer.from(name))
        switch (random(80)) {
          case 0:
            socket.write(frame(reset, 0, stream, number32([0, 2, 7, 8][random(4)]!)))
            return
          case 1:
            socket.write(Buffer.concat([begin, frame(reset, 0, stream, number32([0, 2, 8][random(3)]!))]))
            return
          case 2:
            socket.write(frame(goaway, 0, 0, Buffer.concat([number32(stream), number32(0)])))
            socket.write(Buffer.concat([begin, rest]))
            return
          case 3:
            socket.write(
              frame(goaway, 0, 0, Buffer.concat([number32(random(2) === 0 ? 0 : stream), number32(random(3))]))
            )
            socket.end()
            return
          case 4:
            socket.write(Buffer.concat([begin, rest.subarray(0, 10)]))
            socket.destroy()
            return
          case 5:
            socket.write(begin)
            setImmediate(() => socket.writable && socket.write(rest))
            return
          default:
            socket.write(Buffer.concat([begin, rest]))
        }
      })
      const { send } = yield* upstreamTo(backend.port, { version: "2" })
      let well = 0
      for (let round = 0; round < 40; round++) {
        const paths = Array.from({ length: 25 }, (_, i) => `/${round}/${i}`)
        const exits = yield* Effect.all(
          paths.map((path) => asked(send, path)),
          { concurrency: "unbounded" }
        )
        for (const [at, exit] of exits.entries())
          if (exit._tag === "Success") {
            assert.strictEqual(exit.value, paths[at])
            well++
          }
      }
      assert.isAbove(well, 300)
      assert.isBelow(well, 1_000)
    })
  )
})

describe("a request whose body breaks off", () => {
  it.live("is reset, and never looks whole", () =>
    Effect.gen(function* () {
      const body = driven()
      const came = Promise.withResolvers<void>()
      const over = Promise.withResolvers<void>()
      const ends: Array<number> = []
      const backend = yield* frameBackend(({ type, flags }) => {
        if (type === data) {
          ends.push(flags & 1)
          came.resolve()
        }
        if (type === reset) over.resolve()
      })
      const { send } = yield* upstreamTo(backend.port, { version: "2" })
      const sending = yield* Effect.forkChild(Effect.exit(send(upstreamRequest({ method: "POST", body: body.source }))))
      yield* Effect.promise(async () => {
        while (body.sink() === undefined) await new Promise((resolve) => setImmediate(resolve))
        body.sink().data(Buffer.from("half"))
        await came.promise
        body.sink().fail(new BodyAborted({ source: "client", detail: "the client went away" }))
        await over.promise
      })
      assert.strictEqual((yield* Fiber.join(sending))._tag, "Failure")
      assert.deepStrictEqual(ends, [0])
    })
  )
})
