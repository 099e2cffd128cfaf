/** How far an attempt got decides what may follow it, what of it reaches the client, and what becomes of its connection. */
import type { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema, type Scope } from "effect"
import type { Plan } from "../../src/pipeline/attempts.ts"
import type { Upstream } from "../../src/services/upstreams.ts"
import { tcpBackend, upstreamTo } from "./edge.ts"
import { planned, thrice } from "./planned.ts"
import { eventually, RawClient } from "./raw-client.ts"

/** Calls back once the head of a request is there, and with whatever comes behind it. */
const atHead = (
  does: (socket: Socket, head: string) => void,
  then: (socket: Socket, more: string) => void = () => {}
) =>
  tcpBackend((socket) => {
    let received = ""
    let headed = false
    socket.on("data", (bytes) => {
      const more = bytes.toString("latin1")
      if (headed) then(socket, more)
      else {
        received += more
        if (!received.includes("\r\n\r\n")) return
        headed = true
        does(socket, received)
      }
    })
  })

/** A port at which nobody listens any more. */
const nobody = Effect.map(Effect.scoped(tcpBackend(() => {})), ({ port }) => port)

/** What an attempt meets, and whether anything of the request was sent before it failed. */
interface Fate {
  readonly sends: boolean
  readonly to: Effect.Effect<Upstream, never, Scope.Scope>
}

const speaking = (does: (socket: Socket, head: string) => void) =>
  Effect.flatMap(atHead(does), ({ port }) => upstreamTo(port))

/** Behind a proxy that is asked for a tunnel, and says so. */
const behind = (says: string) =>
  Effect.flatMap(
    atHead((socket, head) => {
      assert.match(head, /^CONNECT /)
      socket.end(says)
    }),
    ({ port: own }) =>
      upstreamTo(
        { kind: "tcp", host: "127.0.0.1", port: 9, tls: false },
        { tunnel: { proxy: { kind: "tcp", host: "127.0.0.1", port: own, tls: false }, mode: "connect" } }
      )
  )

const fates: Readonly<Record<string, Fate>> = {
  "nobody listens": { sends: false, to: Effect.flatMap(nobody, (port) => upstreamTo(port)) },
  "the tunnel is refused": { sends: false, to: behind("HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n") },
  "the tunnel asks who is there": { sends: false, to: behind("HTTP/1.1 407 who\r\ncontent-length: 0\r\n\r\n") },
  "the tunnel does not speak HTTP": { sends: false, to: behind("SSH-2.0-x\r\n\r\n") },
  "the connection is closed": { sends: true, to: speaking((socket) => socket.destroy()) },
  "the connection is reset": { sends: true, to: speaking((socket) => socket.resetAndDestroy()) },
  "a head is broken off": { sends: true, to: speaking((socket) => socket.end("HTTP/1.1 200 OK\r\nx-a")) },
  "no HTTP is spoken": { sends: true, to: speaking((socket) => socket.end("SSH-2.0-x\r\n\r\n")) },
  "503 is answered": {
    sends: true,
    to: speaking((socket) => socket.end("HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n"))
  },
  "another protocol is agreed": {
    sends: true,
    to: speaking((socket) => socket.end("HTTP/1.1 101 ok\r\nconnection: upgrade\r\nupgrade: another\r\n\r\n"))
  }
}

/** Echoes what comes behind the change of the protocol, or answers a request that asks for none. */
const echoing = Effect.flatMap(
  atHead(
    (socket, head) =>
      socket.write(
        /^upgrade: echo/im.test(head)
          ? "HTTP/1.1 101 ok\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"
          : "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
      ),
    (socket, more) => socket.write(more, "latin1")
  ),
  ({ port }) => upstreamTo(port)
)

/** Whatever may be repeated is. */
const eager = (begun: Array<number>): Plan => ({
  attempts: 3,
  begins: (_, number) => begun.push(number),
  again: ({ error, exchange }) => (error !== undefined || exchange.response?.status === 503 ? 0 : undefined)
})

const upgrade = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"

describe("how far an attempt got", () => {
  it.live.prop(
    "decides whether a wish to change the protocol goes on, and no other request",
    [Arbitrary.schema(Schema.Literals(Object.keys(fates))), Arbitrary.schema(Schema.Literals(Object.keys(fates)))],
    (drawn) =>
      Effect.gen(function* () {
        const [first, second] = [fates[drawn[0]]!, fates[drawn[1]]!]
        const upstreams = [yield* first.to, yield* second.to, yield* echoing] as const
        const wished: Array<number> = []
        const wishing = yield* planned(upstreams, eager(wished))
        const client = new RawClient(wishing.port).send(upgrade)
        if (first.sends || second.sends) {
          yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
          assert.match(client.text, /^HTTP\/1\.1 50[23] /, drawn.join())
          assert.strictEqual(wished.length, first.sends ? 1 : 2, drawn.join())
        } else {
          yield* Effect.promise(() => client.until(({ text }) => text.endsWith("\r\n\r\n")))
          assert.match(client.text, /^HTTP\/1\.1 101 /, drawn.join())
          assert.strictEqual(wished.length, 3)
          client.send("said behind it")
          yield* Effect.promise(() => client.until(({ text }) => text.endsWith("\r\n\r\nsaid behind it")))
        }
        client.socket.destroy()
        // The same without the wish.
        const asked: Array<number> = []
        const asking = yield* planned(upstreams, eager(asked))
        const other = new RawClient(asking.port).send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        assert.match(yield* Effect.promise(() => other.toEnd()), /^HTTP\/1\.1 200 OK/, drawn.join())
        assert.strictEqual(asked.length, 3)
        assert.deepStrictEqual([...wishing.defects, ...asking.defects], [])
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 60 } }
  )

  it.live("is nowhere for CONNECT of a client: no plan ever sees it", () =>
    Effect.gen(function* () {
      const begun: Array<number> = []
      const made = yield* planned([yield* echoing], eager(begun))
      const client = new RawClient(made.port).send("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n")
      assert.match(yield* Effect.promise(() => client.toEnd()), /^HTTP\/1\.1 405 /)
      assert.deepStrictEqual(begun, [])
    })
  )
})

/** Says something once the whole of a chunked body is there. */
const atEnd = (headed: () => void, does: (socket: Socket) => void) => {
  let received = ""
  const take = (socket: Socket, more: string) => {
    received += more
    if (received.endsWith("\r\n0\r\n\r\n")) does(socket)
  }
  const begin = (socket: Socket, head: string) => {
    headed()
    take(socket, head)
  }
  return Effect.flatMap(atHead(begin, take), ({ port }) => upstreamTo(port))
}

const hint = (status: number, attempt: number) => `HTTP/1.1 ${status} hint\r\nx-of: ${attempt}\r\n\r\n`
const hinted = Schema.Struct({
  hints: Schema.Array(Schema.Literals([102, 103, 199])).check(Schema.isMaxLength(3)),
  status: Schema.Literals([503, 503, 503, 200])
})

describe("what a backend says on the way to its answer", () => {
  it.live.prop(
    "reaches the client if no other attempt can follow, in its order, and nothing of it otherwise",
    [Arbitrary.array(Arbitrary.schema(hinted), { minLength: 3, maxLength: 3 }), Arbitrary.schema(Schema.Boolean)],
    ([attempts, once]) =>
      Effect.gen(function* () {
        let heads = 0
        const headed = () => heads++
        const upstreams = yield* Effect.forEach(attempts, ({ hints, status }, at) => {
          const said = hints.map((one) => hint(one, at + 1)).join("")
          return atEnd(headed, (socket) => socket.end(`${said}HTTP/1.1 ${status} end\r\ncontent-length: 0\r\n\r\n`))
        })
        // A body of which nothing may be kept is sent once: then the first attempt is the last one.
        const plan: Plan = { ...thrice, keeps: once ? 0 : undefined }
        const { port, defects } = yield* planned([upstreams[0]!, ...upstreams.slice(1)], plan)
        const client = new RawClient(port).send(
          "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        // Once the first of them has the head: what comes with the head is no body on its way.
        yield* Effect.promise(() => eventually(() => heads > 0))
        client.send("3\r\nabc\r\n0\r\n\r\n")
        yield* Effect.promise(() => client.toEnd())
        const answered = once ? 1 : attempts.findIndex(({ status }) => status === 200) + 1 || 3
        const passed = once || answered === 3
        assert.deepStrictEqual(
          Array.from(client.text.matchAll(/HTTP\/1\.1 (\d+) /g), ([_, status]) => Number(status)),
          [...(passed ? attempts[answered - 1]!.hints : []), attempts[answered - 1]!.status]
        )
        for (const [_, of] of client.text.matchAll(/x-of: (\d)/g)) assert.strictEqual(Number(of), answered)
        assert.deepStrictEqual(defects, [])
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 60 } }
  )
})

describe("a client that waits to be asked for its body", () => {
  const wish = "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n"
  const asks = "HTTP/1.1 100 Continue\r\n\r\n"
  /** Takes the body, and answers with it. */
  const taking = Effect.suspend(() => {
    let body = ""
    return Effect.flatMap(
      atHead(
        (socket, head) => {
          body = head.slice(head.indexOf("\r\n\r\n") + 4)
          if (body.length === 5) socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n${body}`)
        },
        (socket, more) => {
          body += more
          if (body.length === 5) socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n${body}`)
        }
      ),
      ({ port }) => upstreamTo(port)
    )
  })
  /** Sends the body when it is asked for it, and not before. */
  const obliging = (port: number) =>
    Effect.promise(async () => {
      const client = new RawClient(port).send(wish)
      await client.until(({ text }) => text.startsWith(asks))
      client.send("hello")
      const said = await client.responses(2)
      client.socket.destroy()
      return said
    })

  it.live.prop(
    "is asked for it once, whatever the attempts before came to, and all of it arrives at the one that takes it",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals(Object.keys(fates))), { minLength: 1, maxLength: 2 })],
    ([drawn]) =>
      Effect.gen(function* () {
        const failing = yield* Effect.forEach(drawn, (name) => fates[name]!.to)
        const { port, defects, heldBytes } = yield* planned(
          [failing[0]!, ...failing.slice(1), yield* taking],
          eager([])
        )
        const said = yield* obliging(port)
        assert.deepStrictEqual(
          said.map(({ status, body }) => [status, body.toString()]),
          [
            [100, ""],
            [200, "hello"]
          ],
          drawn.join()
        )
        assert.strictEqual(heldBytes.held, 0)
        assert.deepStrictEqual(defects, [])
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 40 } }
  )

  it.live("is not asked where no attempt comes to a connection, and told so at once", () =>
    Effect.gen(function* () {
      const { port } = yield* planned([yield* fates["nobody listens"]!.to], eager([]))
      const client = new RawClient(port).send(wish)
      const text = yield* Effect.promise(() => client.toEnd())
      assert.match(text, /^HTTP\/1\.1 503 [\s\S]*connection: close/i)
      assert.notInclude(text, "100 Continue")
    })
  )
})
