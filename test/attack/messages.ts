/**
 * Messages of HTTP/1 as an attacker makes them, out of a seed and its dice: what their lines are drawn from, how they are mutated and cut,
 * and attacks that draw them by batches, which are compared with llhttp.
 */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { type AttackCase, attack } from "./attack.ts"

/** Numbers that only look random: the same seed makes the same messages. */
export const dice = (seed: number) => {
  let state = seed >>> 0
  const below = (count: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }
  const oneOf = <A>(values: ReadonlyArray<A>): A => values[below(values.length)]!
  const chance = (percent: number): boolean => below(100) < percent
  return { below, oneOf, chance }
}
export type Dice = ReturnType<typeof dice>

export const plainLines = [
  ...["Date: Thu, 01 Jan 1970 00:00:00 GMT", "Set-Cookie: a=1", "Set-Cookie: b=2; Path=/", "X-Empty:", "X-Blank: "],
  ...[
    "Server: \xe4\xff",
    "x-padded: \t a \t",
    "X-One:1",
    "Content-Type: text/plain",
    "!#$%&'*+-.^_`|~: token",
    "A: b:c"
  ]
]
export const connectionLines = [
  ...["Connection: close", "Connection: keep-alive", "Connection: X-One, close", "Keep-Alive: timeout=5, max=100"],
  ...["Upgrade: websocket", "Trailer: X-T", "Connection: content-length", "TE: trailers", "Proxy-Connection: close"]
]
export const hostileLines = [
  ...[
    "X : a",
    " folded",
    "\tfolded",
    ": nameless",
    "nonsense",
    "X\xe4: a",
    "X Y: a",
    "X\x00: a",
    "X: a\x00b",
    "X: a\x7fb"
  ],
  ...["Content-Length: 3", "Content-Length: +3", "Content-Length: 3, 3", "Content-Length:", "Content-Length: 0x3"],
  ...["Content-Length: 99999999999999999999999", "Content-Length: 03", "Transfer-Encoding: gzip", "X: a\rb", "X: a\nb"],
  ...[
    "Transfer-Encoding: chunked\t",
    "Content-Length: 3\t",
    "Content-Length:\t3 ",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: xchunked",
    "X: \x0b"
  ],
  ...[
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: CHUNKED",
    "Content-Length: 0"
  ]
]
const chunkExtensions = [";a", ";a=b", ';a="b;c"', "; a = b", " ", ";", ";a\x00", ";\xe4", ";a\n"]
const trailerLines = [
  "X-T: 1",
  "X-U:",
  "Content-Length: 3",
  "Content-Type: x",
  "bad",
  " folded",
  "Transfer-Encoding: chunked"
]
export const oddBytes = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ";",
  ",",
  "0",
  "3",
  "f",
  "\x7f",
  "\x80",
  "\xff",
  "\x0b",
  "H",
  "HTTP/1.1 "
]

export const chunksOf = (body: string, { below, oneOf, chance }: Dice): string => {
  let text = ""
  for (let at = 0; at < body.length; ) {
    const size = 1 + below(body.length - at)
    const digits = size.toString(16)
    const written = chance(10) ? digits.toUpperCase() : chance(5) ? `000${digits}` : digits
    text += `${written}${chance(8) ? oneOf(chunkExtensions) : ""}\r\n${body.slice(at, at + size)}\r\n`
    at += size
  }
  return `${text}0${chance(4) ? oneOf(chunkExtensions) : ""}\r\n${chance(15) ? `${oneOf(trailerLines)}\r\n` : ""}\r\n`
}

export const mutated = (text: string, { below, oneOf, chance }: Dice): string => {
  let changed = text
  for (let i = chance(50) ? 1 + below(3) : 0; i > 0; i--) {
    const at = below(changed.length + 1)
    const length = below(4)
    const put = chance(60) ? oneOf(oddBytes) : changed.slice(below(changed.length + 1)).slice(0, 8)
    changed = changed.slice(0, at) + (chance(70) ? put : "") + changed.slice(at + (chance(50) ? length : 0))
  }
  return changed
}

export const cut = (bytes: Buffer, { below, chance }: Dice): ReadonlyArray<Buffer> => {
  if (chance(30)) return [bytes]
  if (chance(10)) return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
  const places = [0, bytes.length]
  for (let i = 1 + below(5); i > 0; i--) places.push(below(bytes.length + 1))
  places.sort((one, other) => one - other)
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

/** Messages of one seed. */
const batch = 500

interface Batch extends AttackCase {
  readonly seed: number
}

/** An attack that draws messages, or connections of them, and asks of each what speaks against how it was read. */
export const batches = <A>({
  name,
  proves,
  of,
  drawn,
  pieces,
  faultOf
}: {
  readonly name: string
  readonly proves: string
  /** What one of them is, in the plural. */
  readonly of: string
  readonly drawn: (random: Dice) => A
  readonly pieces: (one: A) => ReadonlyArray<Buffer>
  /** `undefined` when nothing speaks against it. */
  readonly faultOf: (one: A) => string | undefined
}) =>
  attack<Batch>({
    class: "smuggling",
    name,
    proves,
    cases: [],
    generated: {
      cases: Arbitrary.map(
        Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 }))),
        (seed) => ({ title: `${batch} ${of} of the seed ${seed}`, seed })
      ),
      few: 100,
      many: 2000
    },
    open: Effect.succeed(({ seed }) =>
      Effect.suspend(() => {
        const random = dice(seed)
        for (let i = 0; i < batch; i++) {
          const one = drawn(random)
          const fault = faultOf(one)
          if (fault === undefined) continue
          const bytes = pieces(one).map((piece) => JSON.stringify(piece.toString("latin1")))
          return Effect.fail(new Error(`${bytes.join(" | ")}: ${fault}`))
        }
        return Effect.void
      })
    )
  })
