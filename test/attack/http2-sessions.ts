/**
 * Sessions of HTTP/2 as an attacker makes them: frames of every kind, in and out of order, mutated and cut. None of them crashes
 * the listener or leaves anything behind, and an honest client beside them is served.
 */
import { type ClientHttp2Session, connect as connectSession } from "node:http2"
import { connect } from "node:net"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { edge, text } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { ask } from "../http2/client.ts"
import { field, fields, flag, frame, preface, type } from "../http2/frames.ts"
import { attack } from "./attack.ts"
import { type Dice, dice } from "./messages.ts"

/** Sessions of one case, and how many of them are open at once. */
const batch = 200
const abreast = 25

const methods = ["GET", "POST", "HEAD", "CONNECT", "TRACE", "get", ""]
const odd: ReadonlyArray<readonly [name: string, value: string]> = [
  ...([
    [":path", "*"],
    [":path", "/a#b"],
    [":path", ""],
    [":scheme", "ftp"],
    [":authority", "a, b"],
    [":protocol", "websocket"],
    [":status", "200"],
    [":other", "x"]
  ] as const),
  ...([
    ["host", "a"],
    ["host", "b"],
    ["content-length", "3"],
    ["content-length", "-1"],
    ["te", "trailers"],
    ["te", "gzip"],
    ["connection", "close"]
  ] as const),
  ...([
    ["transfer-encoding", "chunked"],
    ["cookie", "a=1"],
    ["Upper", "x"],
    ["x y", "z"],
    ["x", "a\r\nb"],
    ["x", " a"],
    ["expect", "100-continue"]
  ] as const)
]

const integer = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

const block = ({ oneOf, chance, below }: Dice): Buffer => {
  const said: Array<readonly [string, string]> = [
    [":method", chance(80) ? oneOf(["GET", "POST"]) : oneOf(methods)],
    [":path", "/"],
    [":scheme", "http"],
    [":authority", "a"]
  ]
  for (let i = below(3); i > 0; i--) said.splice(chance(70) ? said.length : below(said.length), 0, oneOf(odd))
  if (chance(5)) said.splice(below(said.length), 1)
  const bytes = chance(5) ? Buffer.concat([fields(...said), field("x", "y".repeat(below(3000)))]) : fields(...said)
  return chance(3) ? Buffer.concat([bytes, Buffer.from([0x80 | below(128), 0xff, 0xff, below(256)])]) : bytes
}

const drawnFrame = (random: Dice, next: () => number, last: () => number): Buffer => {
  const { below, oneOf, chance } = random
  const stream = chance(80) ? last() : oneOf([0, 1, 2, 2 ** 31 - 1, last() + 2, Math.max(1, last() - 2)])
  const flags = chance(90) ? oneOf([0, flag.endStream, flag.endHeaders]) : below(256)
  switch (below(12)) {
    case 0:
    case 1:
    case 2:
      return frame(type.headers, flag.endHeaders | (chance(60) ? flag.endStream : 0), next(), block(random))
    case 3:
    case 4:
      return frame(type.data, flags, stream, Buffer.alloc(chance(90) ? below(100) : 16_384 + below(2)))
    case 5:
      return frame(type.reset, 0, stream, integer(below(16)))
    case 6:
      return frame(type.settings, chance(80) ? 0 : 1, 0, setting(random))
    case 7:
      return frame(type.ping, below(2), chance(95) ? 0 : 1, Buffer.alloc(chance(95) ? 8 : below(9)))
    case 8:
      return frame(
        type.windowUpdate,
        0,
        stream,
        integer(chance(80) ? 1 + below(1000) : oneOf([0, 2 ** 31 - 1, 2 ** 31]))
      )
    case 9:
      return frame(type.headers, chance(50) ? flag.endStream | flag.endHeaders : 0, stream, block(random))
    case 10:
      return frame(type.continuation, flag.endHeaders, stream, block(random))
    default:
      return frame(oneOf([type.priority, type.goaway, 5, 10, 200]), flags, stream, Buffer.alloc(below(12), below(256)))
  }
}

const setting = ({ below, oneOf, chance }: Dice): Buffer => {
  if (chance(30)) return Buffer.alloc(chance(80) ? 0 : below(8))
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(below(9))
  integer(oneOf([0, 1, 100, 65_535, 16_384, 2 ** 31, 2 ** 32 - 1])).copy(bytes, 2)
  return bytes
}

const session = (random: Dice): ReadonlyArray<Buffer> => {
  const { below, chance } = random
  let stream = -1
  const next = () => (stream += 2)
  const last = () => Math.max(1, stream)
  const frames: Array<Buffer> = chance(97) ? [preface, frame(type.settings, 0, 0)] : [preface.subarray(0, below(24))]
  for (let i = 1 + below(10); i > 0; i--) frames.push(drawnFrame(random, next, last))
  const bytes = Buffer.concat(frames)
  for (let i = chance(40) ? below(4) : 0; i > 0; i--) bytes[18 + below(bytes.length)] = below(256)
  const at = below(bytes.length)
  return chance(50) ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at)]
}

/** Sends a session, and waits until the listener has closed it. */
const play = (port: number, pieces: ReadonlyArray<Buffer>): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(piece)
      setImmediate(() => socket.end())
    })
    socket.setNoDelay(true)
    socket.on("error", () => {})
    socket.on("close", () => resolve())
    socket.resume()
  })

export const http2Sessions = attack({
  class: "slow and flooding clients",
  name: "sessions of HTTP/2",
  proves: "no sequence of frames crashes the listener or leaves anything behind, and others are served meanwhile",
  cases: [],
  generated: {
    cases: Arbitrary.map(
      Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 }))),
      (seed) => ({ title: `${batch} sessions of the seed ${seed}`, seed })
    ),
    few: 100,
    many: 5000
  },
  patience: 120_000,
  open: Effect.gen(function* () {
    let begun = 0
    const { port, bound, outcomes, defects } = yield* edge((x) => {
      begun++
      const { requestBody } = x
      if (requestBody === undefined) return Effect.succeed(text(200, x.request.uri))
      return begun % 2 === 0
        ? Effect.map(Effect.exit(x.readRequestBody()), () => text(200, "read"))
        : Effect.succeed({ ...text(200, ""), body: requestBody })
    })
    const honest = yield* Effect.acquireRelease(
      Effect.sync((): ClientHttp2Session => connectSession(`http://127.0.0.1:${port}`)),
      (made) => Effect.sync(() => made.destroy())
    )
    return ({ seed }: { readonly seed: number }) =>
      Effect.promise(async () => {
        const random = dice(seed)
        const all = Array.from({ length: batch }, () => session(random))
        const lane = async () => {
          for (let one = all.pop(); one !== undefined; one = all.pop()) await play(port, one)
        }
        await Promise.all(Array.from({ length: abreast }, lane))
        const { status, body } = await ask(honest, "/", { method: "POST", body: "x" })
        if (status !== 200 || (body !== "x" && body !== "read"))
          throw new Error(`the other client got ${status} ${body}`)
        await eventually(() => bound.connections() === 1 && outcomes.length === begun)
        if (defects.length > 0) throw defects[0]
        outcomes.length = begun = 0
      })
  })
})
