/** What a client pipelines behind a request cannot end the process, whatever was answered and whatever is asked next. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HeaderList } from "../../src/http/header-list.ts"
import { nowhere } from "../origin.ts"
import { startHeadgate } from "../program.ts"
import { edge, text } from "./edge.ts"
import { drawnPipelines, dripped, faults, kinds, pairs, Slowly } from "./pipelines.ts"
import { eventually, parseResponses, RawClient } from "./raw-client.ts"

describe("pipelines: each request gets its own answer or the connection closes, and nothing else is answered", () => {
  it.live("every kind of request behind every kind of answer, in one packet and in two", () =>
    Effect.gen(function* () {
      const { count, faults: found } = yield* faults(pairs(150))
      assert.deepStrictEqual(found, [])
      assert.isAbove(count, kinds.length ** 2 * 1.5)
    })
  )

  it.live("byte by byte", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* faults(dripped(31))).faults, [])
    })
  )

  it.live("sequences of three to five", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* faults(drawnPipelines(1000, 1))).faults, [])
    })
  )
})

it.live("what was answered before an answer that is cut arrives, though the client reads late and asks for more", () =>
  Effect.gen(function* () {
    // More than a client takes that does not read, and less than the system takes.
    const big = 600_000
    const { port, bound } = yield* edge((x) =>
      Effect.succeed({
        status: 200,
        headers: new HeaderList(),
        body: x.request.path === "/big" ? Buffer.alloc(big, "x") : new Slowly(1, false)
      })
    )
    const client = new RawClient(port)
    client.socket.pause()
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
    client.send(get("/big") + get("/cut"))
    yield* Effect.sleep(100)
    client.send(get("/late"))
    yield* Effect.sleep(20)
    client.socket.resume()
    yield* Effect.promise(() => client.until(({ ended, closed }) => ended || closed))
    const [first, second] = parseResponses(client.received, ["GET", "GET"])
    assert.strictEqual(first?.body.length, big)
    assert.isUndefined(second)
    client.socket.destroy()
    yield* Effect.promise(() => eventually(() => bound.connections() === 0))
  })
)

it.live("a request of RTSP behind one that is still being answered is refused, too", () =>
  Effect.gen(function* () {
    const { port } = yield* edge(() => Effect.delay(Effect.succeed(text(200, "yes")), 10))
    const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / RTSP/1.0\r\nhost: a\r\n\r\n")
    const all = yield* Effect.promise(() => client.toEnd())
    assert.deepStrictEqual(all.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 400"])
  })
)

describe("bytes behind a wish to change the protocol", () => {
  const wish = (protocol: string, version = "1.1") =>
    `GET /wish HTTP/${version}\r\nhost: a\r\nconnection: upgrade, keep-alive\r\nupgrade: ${protocol}\r\n\r\n`
  const hidden = "GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n"
  const upload = `POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: ${hidden.length}\r\n\r\n`

  const withBody = (protocol: string) => wish(protocol).replace("\r\n\r\n", "\r\ncontent-length: 4\r\n\r\nbody")
  const wishes = [
    ["of h2c", wish("h2c")],
    ["of h2c with a body", withBody("h2c")],
    ["of HTTP/1.0", wish("x", "1.0")],
    ["with a body", withBody("x")],
    ["that is declined", wish("x")]
  ] as const
  it.live.each(wishes)("%s: the connection closes behind its answer, also when it came alone", ([, bytes]) =>
    Effect.gen(function* () {
      const { port } = yield* edge(() => Effect.succeed(text(200, "yes")))
      const client = new RawClient(port).send(bytes)
      const all = yield* Effect.promise(() => client.toEnd())
      assert.match(all, /^HTTP\/1\.1 200 [\s\S]*^connection: close\r$/im)
    })
  )

  it.live.each(wishes)("%s are no request, nor is what comes after them", ([, bytes]) =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { port } = yield* edge((x) => {
        seen.push(x.request.path)
        return Effect.delay(Effect.succeed(text(200, "yes")), 20)
      })
      const client = new RawClient(port).send(bytes + upload)
      yield* Effect.sleep(5)
      // The body of an upload whose head was lost, if it was.
      client.send(hidden)
      const all = yield* Effect.promise(() => client.toEnd())
      assert.deepStrictEqual(seen, ["/wish"])
      assert.strictEqual(all.match(/HTTP\/1\.1 200 /g)?.length, 1)
      assert.match(all, /^connection: close\r$/im)
    })
  )
})

describe("a process", () => {
  const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
  const packets: Readonly<Record<string, string>> = {
    "an answer": get,
    "an answer to HEAD": "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n",
    "a refused expectation": "GET / HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n",
    "an answer to HTTP/1.0": "GET / HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n",
    "three answers": get + get + get,
    "an answer of no route": "GET /none HTTP/1.1\r\nhost: a\r\n\r\n",
    "an answer without a key": "GET /key HTTP/1.1\r\nhost: a\r\n\r\n"
  }
  it.live("lives through a wish to change the protocol, CONNECT and noise behind every answer, on every port", () =>
    Effect.gen(function* () {
      const port = yield* nowhere
      const config = `
gateways: { default: { port: ${port} } }
routes:
  - matches: [{ path: { exact: / } }]
    policies: { directResponse: { status: 200, body: yes } }
  - matches: [{ path: { exact: /key } }]
    policies: { apiKey: { keys: [{ key: secret-of-a-test }] }, directResponse: { status: 200 } }
`
      const program = yield* Effect.acquireRelease(
        Effect.promise(() => startHeadgate(["-c", config])),
        (program) => Effect.promise(() => program[Symbol.asyncDispose]())
      )
      const management = [...program.printed().matchAll(/address=\S*:([1-9]\d*) component=/g)]
      assert.strictEqual(management.length, 3, program.printed())
      for (const to of [port, ...management.map(([, found]) => Number(found))])
        for (const [name, first] of Object.entries(packets))
          for (const second of [
            "GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
            "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n",
            "\x16\x03\x01\x02\x00\x01\x00"
          ]) {
            const client = new RawClient(to).send(first + second)
            yield* Effect.promise(() => client.until(({ size, ended, closed }) => size > 0 || ended || closed))
            client.socket.destroy()
            assert.isNull(program.child.exitCode, `${name}, ${JSON.stringify(second)}: ${program.printed()}`)
          }
      const [answer] = yield* Effect.promise(() => new RawClient(port).send(get).responses(1))
      assert.strictEqual(answer?.status, 200)
      assert.notMatch(program.printed(), /\terror\t/)
    })
  )
})
