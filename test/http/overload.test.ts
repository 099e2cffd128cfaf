/** What clients see when there is more to do than can be done. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultOverloadLimits, Overload, type OverloadLimits } from "../../layers/http/overload.ts"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { edge, text } from "./edge.ts"
import { eventually, header, parseResponses, RawClient } from "./raw-client.ts"

/** A listener that lets in whom it is told to. */
const bounded = (admits: () => boolean, limits: Partial<OverloadLimits> = {}) =>
  Effect.gen(function* () {
    const turnedAway: Array<string> = []
    const real = new Overload({ ...defaultOverloadLimits, ...limits }, performance.now.bind(performance), () => {})
    let served = 0
    const opened = yield* edge(
      () => {
        served++
        return Effect.succeed(text(200, "served"))
      },
      {
        overload: {
          limits: real.limits,
          enter: (socket) => real.enter(socket),
          admits,
          begin: (beginning) => {
            setImmediate(() => beginning.begins(admits()))
            return false
          },
          enqueue: (beginning) => setImmediate(() => beginning.begins(admits()))
        },
        turnedAway: (what, cause) => turnedAway.push(`${what} ${cause}`)
      }
    )
    return { ...opened, turnedAway, served: () => served, connections: () => real.connections }
  })

const get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
const over = (client: RawClient) => Effect.promise(() => client.until(({ ended, closed }) => ended || closed))

describe("beyond what can be done", () => {
  it.live("a request gets 503 and when to come again; its connection is kept for the next one", () =>
    Effect.gen(function* () {
      const answers = [false, true, false, false, true]
      const { port, turnedAway, served, outcomes } = yield* bounded(() => answers.shift()!)
      const client = new RawClient(port).send(get)
      const [refusal] = yield* Effect.promise(() => client.responses(1))
      assert.deepStrictEqual(
        [refusal?.status, header(refusal, "retry-after"), header(refusal, "connection"), refusal?.body.toString()],
        [503, "1", "keep-alive", "the gateway is overloaded"]
      )
      // Behind one another in a packet, with a body that is there, and one that is served.
      client.send(`${get}POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab${get}${get}`)
      const all = yield* Effect.promise(() => client.responses(5))
      assert.deepStrictEqual(
        all.map(({ status }) => status),
        [503, 200, 503, 503, 200]
      )
      assert.strictEqual(served(), 2)
      assert.strictEqual(outcomes.length, 2)
      assert.deepStrictEqual(turnedAway, Array(3).fill("request LoopDelay"))
      client.socket.destroy()
    })
  )

  it.live("HEAD gets no body; a body that is still on its way, and a last request, cost the connection", () =>
    Effect.gen(function* () {
      const { port, served } = yield* bounded(() => false)
      const head = new RawClient(port).send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* Effect.promise(() => head.until(({ text }) => text.endsWith("\r\n\r\n")))
      head.send("HEAD / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
      yield* over(head)
      for (const request of [
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nab",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        "GET / HTTP/1.0\r\nhost: a\r\n\r\n"
      ]) {
        const client = new RawClient(port).send(request)
        yield* over(client)
        const [refusal, ...more] = parseResponses(client.received)
        assert.deepStrictEqual(
          [refusal?.status, header(refusal, "connection"), more.length],
          [503, "close", 0],
          request
        )
      }
      assert.strictEqual(served(), 0)
    })
  )

  it.live("a connection too many is told so and closed; when another one has gone, the next one is served", () =>
    Effect.gen(function* () {
      for (const limits of [{ maxConnections: 2 }, { maxConnectionsPerAddress: 2 }]) {
        const { port, turnedAway, connections } = yield* bounded(() => true, limits)
        const clients = [new RawClient(port).send(get), new RawClient(port).send(get)]
        for (const client of clients) yield* Effect.promise(() => client.responses(1))
        const third = new RawClient(port)
        yield* over(third)
        const [refusal] = parseResponses(third.received)
        assert.deepStrictEqual([refusal?.status, header(refusal, "retry-after")], [503, "1"])
        assert.strictEqual(turnedAway.length, 1)
        clients[0]!.socket.destroy()
        yield* Effect.promise(() => eventually(() => connections() === 1))
        const next = new RawClient(port).send(get)
        const [answer] = yield* Effect.promise(() => next.responses(1))
        assert.strictEqual(answer?.status, 200)
        for (const client of [...clients, next]) client.socket.destroy()
      }
    })
  )

  it.live("what is turned away is counted by cause", () =>
    Effect.gen(function* () {
      const gateway = yield* start(
        `
config: { overload: { maxConnections: 1 } }
gateways: { default: { port: 8080 } }
routes: [{ policies: { directResponse: { status: 200 } } }]
`,
        { ephemeral: true, host: "127.0.0.1" }
      )
      const port = gateway.port(8080)!
      const first = new RawClient(port).send(get)
      yield* Effect.promise(() => first.responses(1))
      const second = new RawClient(port)
      yield* over(second)
      const { body: scraped } = yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      assert.match(scraped, /^headgate_connections_turned_away_total\{bind="[^"]*",cause="TooManyConnections"\} 1$/m)
      assert.match(scraped, /^headgate_client_connections 1$/m)
      first.socket.destroy()
    })
  )
})
