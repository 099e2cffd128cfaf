/** Backends that do what they may not do between one answer and the next: nobody gets bytes that are not theirs. */
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Fiber, Option, Schema } from "effect"
import { isSource, read } from "../../../src/http/body.ts"
import type { Answer } from "../../../src/http/message.ts"
import { Defects } from "../../../src/services/defects.ts"
import type { Upstream, UpstreamRequest } from "../../../src/services/upstreams.ts"
import { tcpBackend, upstreamRequest, upstreamTo } from "../../../test/http/edge.ts"
import { post } from "../../../test/http/posts.ts"
import { eventually } from "../../../test/http/raw-client.ts"
import { Tap } from "../../../test/http/tap.ts"

const evil = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"
const own = (path: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`

const soon = (action: () => void) => setTimeout(action, 5)

/** What a backend does with the request `/bad`. */
interface Misdeed {
  readonly title: string
  readonly method?: string
  readonly act: (socket: Socket) => void
  /** Whoever asked at once could not tell it from their answer; on an idle connection it is known for what it is. */
  readonly late?: boolean
  /** What the call of `/bad` yields: a status, or no answer. */
  readonly gives: number | "none"
  /** Its body, or that it breaks off. */
  readonly body?: string
}

const says =
  (...pieces: ReadonlyArray<string>) =>
  (socket: Socket) => {
    const [first, ...rest] = pieces
    socket.write(first!, "latin1")
    const next = () => {
      const piece = rest.shift()
      if (piece === undefined || socket.destroyed) return
      socket.write(piece, "latin1")
      soon(next)
    }
    soon(next)
  }

const answered = own("/bad")
const misdeeds: ReadonlyArray<Misdeed> = [
  { title: "a second answer behind the first", act: says(answered + evil), gives: 200, body: "/bad" },
  { title: "a second answer a little later", act: says(answered, evil), late: true, gives: 200, body: "/bad" },
  { title: "half an answer behind the first", act: says(answered + evil.slice(0, 20)), gives: 200, body: "/bad" },
  {
    title: "half an answer a little later",
    act: says(answered, evil.slice(0, 20), evil.slice(20)),
    late: true,
    gives: 200
  },
  { title: "one byte behind the first", act: says(`${answered}\n`), gives: 200, body: "/bad" },
  {
    title: "408 while the connection is idle",
    act: says(answered, "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
    late: true,
    gives: 200
  },
  { title: "a body for HEAD", method: "HEAD", act: says(answered, evil), gives: 200, body: "" },
  {
    title: "chunks for HEAD",
    method: "HEAD",
    act: says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "4\r\nevil\r\n0\r\n\r\n"),
    gives: 200,
    body: ""
  },
  { title: "a body with 204", act: says(`HTTP/1.1 204 X\r\ncontent-length: ${evil.length}\r\n\r\n`, evil), gives: 204 },
  { title: "chunks with 204", act: says("HTTP/1.1 204 X\r\ntransfer-encoding: chunked\r\n\r\n", evil), gives: 204 },
  { title: "a body with 304", act: says(`HTTP/1.1 304 X\r\ncontent-length: ${evil.length}\r\n\r\n`, evil), gives: 304 },
  { title: "chunks with 304", act: says("HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n", evil), gives: 304 },
  { title: "a 101 that nobody asked for", act: says(`HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n${evil}`), gives: "none" },
  { title: "interim answers without end", act: says("HTTP/1.1 102 X\r\n\r\n".repeat(2000)), gives: "none" },
  { title: "a body longer than its length", act: says(`${answered}evil`, evil), late: true, gives: 200, body: "/bad" },
  { title: "a body cut short by the end", act: (socket) => void socket.end(answered.slice(0, -1)), gives: 200 },
  {
    title: "an answer, then the end",
    act: (socket) => {
      socket.write(answered)
      soon(() => socket.end())
    },
    gives: 200,
    body: "/bad"
  },
  {
    title: "an answer that says that it is the last, and another one",
    act: says(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\n/bad`, evil),
    gives: 200,
    body: "/bad"
  },
  {
    title: "an answer up to the end of the connection, with another one in it",
    act: (socket) => void socket.end(`HTTP/1.1 200 OK\r\n\r\n${evil}`),
    gives: 200,
    body: evil
  },
  {
    title: "a length and chunks",
    act: says(`HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${evil}`),
    gives: "none"
  }
]

/** Reads a whole answer. */
const bodyOf = (answer: Answer) =>
  Effect.map(Effect.exit(read(answer.body, 1_000_000)), (exit) =>
    Exit.isSuccess(exit) ? Buffer.from(exit.value.bytes).toString("latin1") : "broken"
  )

/** A backend that answers each path with itself, but `/bad`. */
const backendThat = (act: (socket: Socket) => void) =>
  tcpBackend((socket) => {
    socket.on("end", () => socket.end())
    socket.on("data", (head: Buffer) => {
      const path = /^\S+ (\S+) /.exec(head.toString("latin1"))?.[1]
      if (path === undefined) return
      if (path === "/bad") act(socket)
      else socket.write(own(path))
    })
  })

const ask = (upstream: Upstream, pathAndQuery: string, changes: Partial<UpstreamRequest> = {}) =>
  Effect.flatMap(upstream.send(upstreamRequest({ pathAndQuery, ...changes })), (answer) =>
    Effect.map(bodyOf(answer), (body) => ({ status: answer.status, body }))
  )

/** Whoever comes next, at once and a little later, gets what is theirs. */
const othersAreServed = (upstream: Upstream) =>
  Effect.gen(function* () {
    for (const path of ["/1", "/2", "/3"]) {
      assert.deepStrictEqual(yield* ask(upstream, path), { status: 200, body: path })
      yield* Effect.sleep(7)
    }
    // Not replayed: the connection that it gets is known to be good.
    assert.deepStrictEqual(yield* ask(upstream, "/4", { method: "POST", body: "x" }), { status: 200, body: "/4" })
  })

describe("a backend that sends", () => {
  for (const when of ["at once", "when its connection is gone"])
    it.live.each(misdeeds.filter(({ late }) => when !== "at once" || late !== true))(
      `$title harms nobody else (who asks ${when})`,
      ({ act, method = "GET", gives, body }) =>
        Effect.gen(function* () {
          const { port, sockets } = yield* backendThat(act)
          const upstream = yield* upstreamTo(port, { maxConnections: 1 })
          const outcome = yield* Effect.exit(ask(upstream, "/bad", { method }))
          if (gives === "none") assert.isTrue(Exit.isFailure(outcome))
          else {
            assert(Exit.isSuccess(outcome))
            assert.strictEqual(outcome.value.status, gives)
            if (body !== undefined) assert.strictEqual(outcome.value.body, body)
          }
          const gone = () => sockets[0]!.destroyed || sockets[0]!.readableEnded
          if (when !== "at once") yield* Effect.promise(() => eventually(gone))
          yield* othersAreServed(upstream)
          yield* Effect.promise(() => eventually(gone))
        })
    )
})

describe("a backend that does one thing after the other", () => {
  const step = Arbitrary.schema(Schema.Literals(["nothing", ...misdeeds.map(({ title }) => title)]))
  it.live.prop(
    "gives everybody else what is theirs",
    [Arbitrary.array(step, { minLength: 20, maxLength: 20 })],
    ([titles]) =>
      Effect.gen(function* () {
        let act: Misdeed["act"] = () => {}
        let culprit: Socket | undefined
        const { port, sockets } = yield* backendThat((socket) => {
          culprit = socket
          act(socket)
        })
        const upstream = yield* upstreamTo(port, { maxConnections: 3 })
        for (const [place, title] of titles.entries()) {
          const misdeed = misdeeds.find((one) => one.title === title)
          const paths = ["a", "b", "c"].map((name) => `/${name}${place}`)
          const others = Effect.map(
            Effect.all(
              paths.map((path) => ask(upstream, path)),
              { concurrency: 3 }
            ),
            (told) =>
              assert.deepStrictEqual(
                told,
                paths.map((body) => ({ status: 200, body })),
                `beside ${title}`
              )
          )
          if (misdeed === undefined) yield* others
          else {
            act = misdeed.act
            const bad = Effect.exit(ask(upstream, "/bad", { method: misdeed.method ?? "GET" }))
            // What comes late could be told from an answer by nobody who asked at once.
            if (misdeed.late === true) yield* bad
            else yield* Effect.all([bad, others], { concurrency: 2 })
            yield* Effect.promise(() =>
              eventually(
                () => sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length <= 3
              )
            )
            // It has come, and was known for what it is.
            if (misdeed.late === true)
              yield* Effect.promise(() => eventually(() => culprit!.destroyed || culprit!.readableEnded))
          }
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 50 }, timeout: 60_000 }
  )
})

describe("a connection that is reset", () => {
  const whole =
    "HTTP/1.1 103 X\r\na: b\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n/bad\r\n0\r\nx-t: 1\r\n\r\n"
  const ends: ReadonlyArray<(socket: Socket) => void> = [(socket) => socket.end(), (socket) => socket.resetAndDestroy()]
  it.live(
    "or ended, behind each byte of an answer never passes for whole, and costs one call",
    () =>
      Effect.gen(function* () {
        let at = 0
        let end = ends[0]!
        const { port } = yield* backendThat((socket) => {
          socket.write(whole.slice(0, at), "latin1")
          soon(() => end(socket))
        })
        const upstream = yield* upstreamTo(port, { maxConnections: 1 })
        for (end of ends)
          for (at = 0; at < whole.length; at++) {
            const outcome = yield* Effect.exit(ask(upstream, "/bad", { method: "POST", body: "x" }))
            if (Exit.isSuccess(outcome)) assert.deepStrictEqual(outcome.value, { status: 200, body: "broken" }, `${at}`)
            assert.deepStrictEqual(yield* ask(upstream, "/next"), { status: 200, body: "/next" })
          }
      }),
    30_000
  )
})

describe("a request that is not sent to its end", () => {
  it.live("gets the answer that came before; its source is let go, and its connection is not used again", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat((socket) => socket.write(answered))
      const upstream = yield* upstreamTo(port, { maxConnections: 1 })
      const body = new Tap().push("begun")
      assert.deepStrictEqual(yield* ask(upstream, "/bad", { method: "POST", body }), { status: 200, body: "/bad" })
      assert.isTrue(body.cancelled)
      yield* othersAreServed(upstream)
      assert.strictEqual(sockets.length, 2)
    })
  )

  it.live.each([
    ["more", "7", "too much"],
    ["less", "99", "too little"]
  ] as const)("nor one whose source yields %s than was declared", ([, length, text]) =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat(() => {})
      const upstream = yield* upstreamTo(port)
      const headers = upstreamRequest().headers
      headers.add("content-length", length)
      const failed = yield* Effect.flip(
        upstream.send(
          upstreamRequest({ pathAndQuery: "/bad", method: "POST", headers, body: new Tap().push(text).end() })
        )
      )
      assert.strictEqual(failed.message, "upstream call failed: request: the request cannot be sent")
      yield* Effect.promise(() =>
        eventually(() => sockets.every(({ destroyed, readableEnded }) => destroyed || readableEnded))
      )
    })
  )

  it.live("sends its trailers when it is", () =>
    Effect.gen(function* () {
      let received = ""
      const { port } = yield* tcpBackend((socket) =>
        socket.on("data", (bytes: Buffer) => {
          received += bytes.toString("latin1")
          if (received.endsWith("0\r\nx-sum: 1\r\n\r\n")) socket.write(own("ok"))
        })
      )
      const upstream = yield* upstreamTo(port)
      const trailers = upstreamRequest().headers
      for (const [name, value] of [
        ["x-sum", "1"],
        ["content-length", "3"],
        ["x-evil", "\u010d\u010a"]
      ] as const)
        trailers.add(name, value)
      const body = new Tap().push("abc").end(trailers)
      assert.deepStrictEqual(yield* ask(upstream, "/", { method: "PUT", body }), { status: 200, body: "ok" })
      assert.match(received, /\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n$/)
    })
  )
})

describe("a body that nobody reads", () => {
  it.live("waits in the socket, and the connection goes on when it has been read", () =>
    Effect.gen(function* () {
      const size = 30_000_000
      const { port, sockets } = yield* backendThat((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n${"x".repeat(size)}`)
      )
      const upstream = yield* upstreamTo(port, { maxConnections: 1 })
      const answer = yield* upstream.send(upstreamRequest({ pathAndQuery: "/bad" }))
      assert.isTrue(isSource(answer.body))
      const waiting = yield* Effect.forkChild(ask(upstream, "/next"), { startImmediately: true })
      yield* Effect.sleep(30)
      assert.isAbove(sockets[0]!.writableLength, 0)
      assert.strictEqual((yield* read(answer.body, size)).bytes.length, size)
      assert.deepStrictEqual(yield* Fiber.join(waiting), { status: 200, body: "/next" })
    })
  )
})

describe("a backend that closes connections that are idle", () => {
  it.live(
    "fails no request that cannot be sent twice",
    () =>
      Effect.gen(function* () {
        const closes = 1500
        let posts = 0
        const { port, sockets } = yield* tcpBackend((socket) => {
          socket.on("end", () => socket.end())
          socket.setTimeout(closes, () => socket.destroy())
          socket.on("data", () => {
            posts++
            socket.write(own("ok"))
          })
        })
        const { send } = yield* upstreamTo(port)
        const request = () => upstreamRequest({ method: "POST", body: "x" })
        const { sent, failures } = yield* Effect.promise(() =>
          post({
            count: 1000,
            lanes: 40,
            rests: 3,
            closes,
            send: () => Effect.runPromise(Effect.map(send(request()), ({ status }) => status))
          })
        )
        assert.deepStrictEqual([sent, posts, [...failures]], [1000, 1000, []])
        // Not by making a new one for each of them.
        assert.isBelow(sockets.length, 400)
      }),
    30_000
  )
})

describe("an answer that nobody wants", () => {
  /** The first call is given up once its head is there, and what the backend then says is `rest`, if anything. */
  const droppedThen = (length: number, rest: string | undefined) =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\nb`)
      )
      const upstream = yield* upstreamTo(port, { maxConnections: 1 })
      const { body } = yield* upstream.send(upstreamRequest({ pathAndQuery: "/bad" }))
      assert(isSource(body))
      body.cancel()
      if (rest !== undefined) sockets[0]!.write(rest)
      // The only connection that there may be is given to the next call, or makes room for a new one.
      assert.deepStrictEqual(yield* ask(upstream, "/next"), { status: 200, body: "/next" })
      return sockets.length
    })

  it.live("leaves its connection to the next call when the rest of it is short and comes soon", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* droppedThen(4, "ody"), 1)
      assert.strictEqual(yield* droppedThen(65_000, "x".repeat(64_999)), 1)
    })
  )

  it.live.each([
    ["does not come", 4, undefined],
    ["does not come whole", 4, "od"],
    ["is followed by something else", 4, "ody!"],
    ["is long", 65_538, "x".repeat(65_537)]
  ] as const)("takes it along when the rest %s", ([, length, rest]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* droppedThen(length, rest), 2)
    })
  )

  it.live("takes it along when chunks go on and on", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nb\r\n")
        socket.write(`7000\r\n${"x".repeat(0x7000)}\r\n`.repeat(3))
      })
      const upstream = yield* upstreamTo(port, { maxConnections: 1 })
      const { body } = yield* upstream.send(upstreamRequest({ pathAndQuery: "/bad" }))
      assert(isSource(body))
      body.cancel()
      assert.deepStrictEqual(yield* ask(upstream, "/next"), { status: 200, body: "/next" })
      assert.strictEqual(sockets.length, 2)
    })
  )

  it.live("is not waited for when its head has not come", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat(() => {})
      const upstream = yield* upstreamTo(port)
      const calling = yield* Effect.forkChild(upstream.send(upstreamRequest({ pathAndQuery: "/bad" })), {
        startImmediately: true
      })
      yield* Effect.promise(() => eventually(() => sockets.length === 1 && sockets[0]!.bytesRead > 0))
      yield* Fiber.interrupt(calling)
      yield* Effect.promise(() => eventually(() => sockets[0]!.readableEnded || sockets[0]!.destroyed))
    })
  )
})

describe("a body that is malformed in the packet of its head", () => {
  it.live("is told instead of the head, since nobody has seen that", () =>
    Effect.gen(function* () {
      const { port } = yield* backendThat((socket) =>
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokzz")
      )
      const upstream = yield* upstreamTo(port)
      const failed = yield* Effect.flip(upstream.send(upstreamRequest({ pathAndQuery: "/bad" })))
      assert.deepStrictEqual(
        [failed._tag, failed.status, failed.message],
        ["MalformedBody", 502, "upstream call failed: protocol: the body of the response is not HTTP/1.1"]
      )
    })
  )
})

describe("a connection whose peer says how long it keeps it", () => {
  it.live.each([
    ["timeout=1", 2],
    ["max=9, timeout=3", 1],
    ["TIMEOUT = 0", 2],
    ["nonsense", 1]
  ] as const)("(%s) is used for a second less", ([hint, connections]) =>
    Effect.gen(function* () {
      const { port, sockets } = yield* backendThat((socket) =>
        socket.write(answered.replace("\r\n", `\r\nkeep-alive: ${hint}\r\n`))
      )
      const upstream = yield* upstreamTo(port)
      yield* ask(upstream, "/bad")
      yield* ask(upstream, "/next")
      assert.strictEqual(sockets.length, connections)
    })
  )
})

describe("whoever throws within a call", () => {
  /** Answers `/bad` in two pieces. */
  const inTwoPieces = backendThat(says(answered.slice(0, -2), answered.slice(-2)))
  const opened = (port: number, told: Array<unknown>) =>
    Effect.provideService(upstreamTo(port, { maxConnections: 1 }), Defects, (_, cause) => told.push(cause))

  it.live("at the end of an answer learns that it has broken, and whoever waits for the connection is served", () =>
    Effect.gen(function* () {
      const { port } = yield* inTwoPieces
      const told: Array<unknown> = []
      const upstream = yield* opened(port, told)
      const { body } = yield* upstream.send(upstreamRequest({ pathAndQuery: "/bad" }))
      const next = yield* Effect.forkChild(ask(upstream, "/next"), { startImmediately: true })
      let failed = 0
      if (isSource(body))
        body.start({
          data: () => true,
          end: () => {
            throw new Error("at the end")
          },
          fail: () => {
            failed++
          }
        })
      assert.deepStrictEqual(yield* Fiber.join(next), { status: 200, body: "/next" })
      assert.strictEqual(failed, 1)
      assert.deepStrictEqual(told.map(String), ["Error: at the end"])
    })
  )

  it.live("as its body is begun ends alone, and not the answer that came before it", () =>
    Effect.gen(function* () {
      const { port } = yield* inTwoPieces
      const told: Array<unknown> = []
      const upstream = yield* opened(port, told)
      const first = yield* Effect.forkChild(ask(upstream, "/bad"), { startImmediately: true })
      yield* Effect.sleep(2)
      const thrower = {
        start: () => {
          throw new Error("at the start")
        },
        resume: () => {},
        cancel: () => {}
      }
      const post = upstreamRequest({ pathAndQuery: "/next", method: "POST", body: thrower })
      const second = yield* Effect.forkChild(Effect.exit(upstream.send(post)), { startImmediately: true })
      const outcome = yield* Effect.timeoutOption(Fiber.join(first), 1_000)
      assert.deepStrictEqual(Option.getOrUndefined(outcome), { status: 200, body: "/bad" })
      assert.isTrue(Exit.hasDies(yield* Fiber.join(second)))
      yield* othersAreServed(upstream)
      assert.deepStrictEqual(told.map(String), ["Error: at the start"])
    })
  )
})
