/** Node's parser takes requests of RTSP and ICE for those of HTTP: none of them is served, however its bytes come. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { edge, text } from "./edge.ts"
import { RawClient } from "./raw-client.ts"

/** Long enough for a packet to be read before the next one leaves. */
const gap = 3

/** What a client is told that sends these packets, one after the other. */
const answersTo = (port: number, packets: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    const client = new RawClient(port)
    for (const packet of packets) {
      client.send(packet)
      await new Promise((resolve) => setTimeout(resolve, gap))
    }
    const all = await client.toEnd()
    return all.match(/HTTP\/1\.1 \d+|not HTTP$/g) ?? []
  })

/** The text in two packets, cut at each byte up to the end of the line at `from`; and byte by byte up to there. */
const cuts = (before: string, line: string, rest: string): ReadonlyArray<ReadonlyArray<string>> => {
  const bytes = before + line + rest
  const places = Array.from({ length: line.length + 3 }, (_, i) => before.length + i)
  return [
    [bytes],
    ...places.filter((at) => at > 0).map((at) => [bytes.slice(0, at), bytes.slice(at)]),
    [before, ...line, rest].filter((packet) => packet !== "")
  ]
}

/** Every way to send it gets the same answers. */
const each = (port: number, before: string, line: string, rest: string, answers: ReadonlyArray<string>) =>
  Effect.forEach(
    cuts(before, line, rest),
    (packets) =>
      Effect.map(answersTo(port, packets), (got) => assert.deepStrictEqual(got, answers, JSON.stringify(packets))),
    { concurrency: 40, discard: true }
  )

const proxy = edge(() => Effect.succeed(text(200, "yes")))
const get = "GET /first HTTP/1.1\r\nhost: a\r\n\r\n"
const upload = "POST /first HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc"
const chunks = "POST /first HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
const older = "GET /first HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n"
const served = "HTTP/1.1 200"
const refused = ["HTTP/1.1 400", "not HTTP"]

const lines = [
  "GET / RTSP/1.0",
  "POST / RTSP/1.0",
  "OPTIONS * RTSP/1.0",
  "DESCRIBE /x RTSP/1.0",
  "SOURCE / ICE/1.0",
  "SOURCE / ICE/1.1"
]

describe("a request of another protocol is refused wherever it is cut", () => {
  it.live.each(lines)("%s", (line) =>
    Effect.gen(function* () {
      const { port } = yield* proxy
      const rest = "\r\nhost: a\r\n\r\n"
      yield* each(port, "", line, rest, refused)
      yield* each(port, "\r\n", line, rest, refused)
      for (const before of [get, upload, chunks]) yield* each(port, before, line, rest, [served, ...refused])
    })
  )

  it.live("though the rest of it looks like a line of HTTP", () =>
    Effect.gen(function* () {
      const { port } = yield* proxy
      const like = "GET / HTTP/1.0"
      for (const before of ["", get, upload])
        for (const rest of ["\r\n\r\n", `\r\nx: ${like}\r\n\r\n`, `\r\n${like}: b\r\n\r\n`]) {
          const line = "GET / RTSP/1.0\r\nhost: a\r\nx: "
          const got = yield* Effect.forEach(cuts(before, line, like + rest), (packets) => answersTo(port, packets), {
            concurrency: 40
          })
          // Node's parser has its own words for a space within a name, and none behind the last answer.
          for (const answers of got)
            assert.deepStrictEqual(
              answers.filter((answer) => answer === served),
              before === "" ? [] : [served]
            )
        }
    })
  )
})

describe("a request of HTTP/1.0 is served wherever it is cut", () => {
  const line = "GET /some HTTP/1.0"
  it.live("alone, behind an empty line, and on a connection that is kept", () =>
    Effect.gen(function* () {
      const { port } = yield* proxy
      yield* each(port, "", line, "\r\nhost: a\r\n\r\n", [served])
      yield* each(port, "\r\n", line, "\r\nx: y\r\nhost: a\r\n\r\n", [served])
      for (const before of [older, get, upload, chunks]) {
        const whole = cuts("", line, "\r\nx: y\r\nhost: a\r\n\r\n")
        for (const packets of whole)
          assert.deepStrictEqual(yield* answersTo(port, [before, ...packets]), [served, served])
        yield* each(port, before, line, "\r\nx: y\r\nhost: a\r\n\r\n", [served, served])
        yield* each(port, `${before}\r\n`, line, "\r\nx: y\r\nhost: a\r\n\r\n", [served, served])
      }
    })
  )
})
