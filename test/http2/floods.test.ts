/** Clients of HTTP/2 that do what none needs: their sessions end, are counted by cause, and others are served. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { edge, text } from "../http/edge.ts"
import { eventually } from "../http/raw-client.ts"
import { asking, session } from "./client.ts"
import { field, fields, flag, frame, RawSession, request, resetCode, type } from "./frames.ts"

const opened = fields([":method", "GET"], [":path", "/"], [":scheme", "http"], [":authority", "a"])
const many = Array.from({ length: 150 }, (_, i): [string, string] => [`x-${i}`, "1"])

/** The frames of each turn, and what they are counted as; each turn is at most two frames. */
const floods: ReadonlyArray<readonly [what: string, frames: (turn: number) => ReadonlyArray<Buffer>, cause: RegExp]> = [
  [
    "resets",
    (i) => [request(2 * i + 1, { path: "/never" }), frame(type.reset, 0, 2 * i + 1, resetCode(8))],
    /^(resets|protocol)$/
  ],
  ["pings", () => [frame(type.ping, 0, 0, Buffer.alloc(8))], /^pings$/],
  ["answers to pings", () => [frame(type.ping, flag.ack, 0, Buffer.alloc(8))], /^(protocol|)$/],
  ["settings", () => [frame(type.settings, 0, 0)], /^settings$/],
  [
    "empty pieces of a body",
    (i) => [i === 0 ? request(1, { method: "POST", end: false, path: "/never" }) : frame(type.data, 0, 1)],
    /^(invalid frames|flood|protocol)$/
  ],
  [
    "pieces of fields",
    (i) => [i === 0 ? frame(type.headers, 0, 1, opened) : frame(type.continuation, 0, 1, field("x", "y"))],
    /^continuations$/
  ],
  [
    "empty pieces of fields",
    (i) => [i === 0 ? frame(type.headers, 0, 1, opened) : frame(type.continuation, 0, 1)],
    /^continuations$/
  ],
  ["too many fields", (i) => [request(2 * i + 1, { more: many })], /^malformed requests$/],
  ["requests that are none", (i) => [request(2 * i + 1, { more: [["connection", "x"]] })], /^invalid frames$/],
  ["windows that do not open", () => [frame(type.windowUpdate, 0, 0, Buffer.alloc(4))], /^protocol$/],
  ["bodies of nothing", (i) => [frame(type.data, 0, 2 * i + 1, Buffer.from("x"))], /^protocol$/]
]

describe("a flood of", () => {
  for (const [what, frames, expected] of floods) {
    it.live(`${what} ends its session within 1,000 frames, and no other`, () =>
      Effect.gen(function* () {
        const causes: Array<string> = []
        const { port, bound, outcomes, defects } = yield* edge(
          (x) => (x.request.path === "/never" ? Effect.never : Effect.succeed(text(200, "served"))),
          { http2Ended: (_, cause) => causes.push(cause), limits: { http2: { ...limits, maxHeaderSize: 16_384 } } }
        )
        const other = yield* session(port)
        const raw = new RawSession(port)
        yield* Effect.promise(() => eventually(() => raw.of(type.settings).length > 0))
        const all = Array.from({ length: 1000 }, (_, turn) => frames(turn))
          .flat()
          .slice(0, 1000)
        for (let at = 0; at < all.length && !raw.closed; at += 50) {
          raw.send(...all.slice(at, at + 50))
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        }
        yield* Effect.promise(() => eventually(() => raw.closed && bound.connections() === 1))
        assert.match(causes.join(), expected)
        assert.strictEqual((yield* asking(other, "/")).body, "served")
        assert.isTrue(outcomes.every(({ status, failure }) => status === 200 || failure === "the client went away"))
        assert.deepStrictEqual(defects, [])
      })
    )
  }

  const seldom: ReadonlyArray<readonly [what: string, frames: (turn: number) => Buffer, cause: RegExp]> = [
    [
      "frames that mean nothing",
      () => frame(type.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1])),
      /^meaningless frames$/
    ],
    [
      "too long fields",
      // Each is a reference to the one before it in the table of the session.
      (turn) =>
        frame(
          type.headers,
          flag.endHeaders | flag.endStream,
          2 * turn + 1,
          Buffer.concat([
            turn === 0 ? Buffer.concat([Buffer.from([0x40]), field("x", "y".repeat(2000)).subarray(1)]) : opened,
            Buffer.alloc(12, 0xbe)
          ])
        ),
      /^(header fields|invalid frames)$/
    ]
  ]
  for (const [what, frames, cause] of seldom) {
    it.live(`${what} is ended when the session is looked at`, () =>
      Effect.gen(function* () {
        const causes: Array<string> = []
        const { port } = yield* edge(() => Effect.succeed(text(200, "served")), {
          http2Ended: (_, cause) => causes.push(cause),
          limits: { headTimeout: 80, http2: { ...limits, maxHeaderSize: 16_384 } }
        })
        const raw = new RawSession(port)
        let turn = 0
        yield* Effect.promise(() =>
          eventually(() => {
            raw.send(...Array.from({ length: 200 }, () => frames(turn++)))
            return raw.closed
          })
        )
        assert.match(causes.join(), cause)
      })
    )
  }
})

const limits = {
  window: undefined,
  connectionWindow: undefined,
  frameSize: undefined,
  maxHeaderSize: undefined,
  pingInterval: undefined,
  pingTimeout: 20_000
}
