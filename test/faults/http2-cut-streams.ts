/**
 * A program that clients try to end: a listener whose answers are streamed, with trailers and without, and clients beside it that
 * reset streams, close windows and connections, and stop reading, at every moment, while the proxy cuts answers for reasons of its
 * own. The runtime's assertions end a whole process, so this is one. `node http2-cut-streams.ts SESSIONS SEED`.
 */
import { connect, type Socket } from "node:net"
import { Effect } from "effect"
import { BodyAborted, type BodySink, type BodySource } from "../../src/http/body.ts"
import { HeaderList } from "../../src/http/header-list.ts"
import { type Dice, dice } from "../attack/messages.ts"
import { edge } from "../http/edge.ts"
import { frame, preface, request, resetCode, type } from "../http2/frames.ts"

const [sessions = "200", seed = "1"] = process.argv.slice(2)

/** Sessions that are open at once. */
const abreast = 20

/** A body of some pieces, each given now or in another turn, that ends in one of all ways. */
class Pieces implements BodySource {
  readonly #random: Dice
  #sink: BodySink | undefined
  #left: number

  constructor(random: Dice) {
    this.#random = random
    this.#left = random.oneOf([0, 1, 1, 2, 5, 30])
  }

  start(sink: BodySink): void {
    this.#sink = sink
    this.#next()
  }

  resume(): void {
    this.#next()
  }

  cancel(): void {
    this.#sink = undefined
  }

  #next(): void {
    const { oneOf } = this.#random
    switch (oneOf([0, 0, 1, 2, 3])) {
      case 0:
        this.#give()
        break
      case 1:
        process.nextTick(() => this.#give())
        break
      case 2:
        setImmediate(() => this.#give())
        break
      default:
        setTimeout(() => this.#give(), this.#random.below(4))
    }
  }

  #give(): void {
    const sink = this.#sink
    if (sink === undefined) return
    const { oneOf } = this.#random
    if (this.#left-- > 0) {
      if (sink.data(Buffer.alloc(oneOf([1, 10, 1000, 16_384, 40_000, 200_000]), 0x61))) this.#next()
      return
    }
    this.#sink = undefined
    switch (oneOf(["end", "end", "trailers", "trailers", "fail"])) {
      case "end":
        sink.end()
        break
      case "trailers":
        sink.end(new HeaderList(["x-sum", "1"]))
        break
      default:
        sink.fail(new BodyAborted({ source: "backend", detail: "reset" }))
    }
  }
}

const integer = (value: number): Buffer => resetCode(value)

/** What a client does next; the streams that it has opened are 1, 3, … up to `last`. */
const deed = ({ oneOf, below, chance }: Dice, last: () => number, next: () => number): Buffer => {
  const stream = 1 + 2 * below((last() + 1) / 2)
  switch (below(9)) {
    case 0:
    case 1:
    case 2:
      return request(next(), { method: chance(80) ? "GET" : "POST", end: chance(80), more: [["te", "trailers"]] })
    case 3:
    case 4:
      return frame(type.reset, 0, stream, integer(oneOf([0, 2, 5, 7, 8, 8, 8])))
    case 5:
      return frame(type.windowUpdate, 0, stream, integer(oneOf([1, 100, 16_384, 100_000])))
    case 6:
      return frame(type.windowUpdate, 0, 0, integer(oneOf([1, 100, 16_384, 1_000_000])))
    case 7:
      return frame(type.settings, 0, 0, initialWindow(oneOf([0, 1, 100, 16_384, 65_535, 1_000_000])))
    default:
      return chance(3)
        ? frame(type.data, below(2), stream, Buffer.alloc(below(100)))
        : frame(type.ping, 0, 0, Buffer.alloc(8))
  }
}

const initialWindow = (bytes: number): Buffer => Buffer.concat([Buffer.from([0, 4]), integer(bytes)])

const turn = (random: Dice): Promise<unknown> =>
  new Promise((resolve) => {
    if (random.chance(60)) setImmediate(resolve)
    else setTimeout(resolve, random.below(6))
  })

const play = async (port: number, random: Dice): Promise<void> => {
  const { below, chance, oneOf } = random
  const socket: Socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  socket.resume()
  const over = new Promise((resolve) => socket.on("close", resolve))
  let stream = -1
  const next = () => (stream += 2)
  const last = () => Math.max(1, stream)
  const window = initialWindow(oneOf([0, 1, 100, 16_384, 65_535, 65_535, 1_000_000]))
  socket.write(Buffer.concat([preface, frame(type.settings, 0, 0, window)]))
  for (let i = 1 + below(30); i > 0; i--) socket.write(request(next(), { more: [["te", "trailers"]] }))
  for (let turns = below(20); turns > 0 && !socket.destroyed; turns--) {
    const frames = Array.from({ length: 1 + below(12) }, () => deed(random, last, next))
    socket.write(Buffer.concat(frames))
    if (chance(10)) socket.pause()
    else if (chance(30)) socket.resume()
    await turn(random)
  }
  if (chance(30)) {
    // All of them at once, in one read of the proxy.
    const resets = Array.from({ length: (last() + 1) / 2 }, (_, i) => frame(type.reset, 0, 2 * i + 1, integer(8)))
    if (!socket.destroyed) socket.write(Buffer.concat(resets))
    await turn(random)
  }
  // The runtime ends a session of whoever goes away with a reason, and its streams with that.
  if (chance(30) && !socket.destroyed) {
    const more = chance(50) ? [frame(type.settings, 0, 0, initialWindow(1_000_000))] : []
    const goaway = frame(type.goaway, 0, 0, Buffer.concat([integer(0), integer(oneOf([0, 2, 8, 8, 8]))]))
    socket.write(Buffer.concat([...more, goaway]))
    await turn(random)
  }
  if (chance(30)) socket.resetAndDestroy()
  else if (chance(50)) socket.destroy()
  else {
    socket.resume()
    socket.end()
  }
  await over
}

const program = Effect.gen(function* () {
  const random = dice(Number(seed))
  const ended = new Map<string, number>()
  const { port, bound, defects, outcomes } = yield* edge(
    (x) => {
      const headers = new HeaderList(random.chance(10) ? ["content-length", String(random.below(50_000))] : [])
      const body = new Pieces(random)
      if (x.requestBody !== undefined && random.chance(20))
        return Effect.succeed({ status: 200, headers, body: x.requestBody })
      return random.chance(50)
        ? Effect.succeed({ status: 200, headers, body })
        : Effect.delay(
            Effect.sync(() => ({ status: 200, headers, body })),
            random.below(5)
          )
    },
    {
      http2Ended: (_, cause) => ended.set(cause, (ended.get(cause) ?? 0) + 1),
      limits: { stallTimeout: 40, idleTimeout: 60, maxConnectionDuration: 150 }
    }
  )
  let left = Number(sessions)
  const lane = async () => {
    while (left-- > 0) await play(port, random)
  }
  const cutter = setInterval(() => bound.cutRequests(() => random.chance(5), "withdrawn"), 7)
  yield* Effect.promise(() => Promise.all(Array.from({ length: abreast }, lane)))
  clearInterval(cutter)
  const sums = new Map<string, number>()
  for (const { failure } of outcomes) sums.set(failure ?? "whole", (sums.get(failure ?? "whole") ?? 0) + 1)
  console.log(`survived: ${outcomes.length} answers, ${JSON.stringify(Object.fromEntries([...sums, ...ended]))}`)
  if (defects.length > 0) throw defects[0]
})

await Effect.runPromise(Effect.scoped(program))
