/** What is thrown within a callback of node or a child costs what it belongs to, and is told; the listener lives. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layer as stdio } from "../../layers/stdio/layer.ts"
import { type Body, type BodyObserver, isSource, observe } from "../../src/http/body.ts"
import { type DefectPlace, Defects } from "../../src/services/defects.ts"
import { McpStdio } from "../../src/services/mcp-stdio.ts"
import { edge, forward, tcpBackend, text, upstreamTo } from "./edge.ts"
import { eventually, RawClient } from "./raw-client.ts"

const failing = (what: string): BodyObserver => ({
  data: (chunk) => {
    if (Buffer.from(chunk).includes("fail")) throw new Error(what)
  },
  end: () => {}
})
const seen = (body: Body, what: string) => {
  const watched = observe(body, failing(what))
  assert(isSource(watched))
  return watched
}

/** Where defects were told, and a layer that hears of them. */
const hearing = () => {
  const places: Array<DefectPlace> = []
  return { places, layer: Layer.succeed(Defects, (place: DefectPlace) => void places.push(place)) }
}

const lives = (port: number) =>
  Effect.promise(async () => {
    const [answer] = await new RawClient(port).send("GET /ok HTTP/1.1\r\nhost: a\r\n\r\n").responses(1)
    assert.strictEqual(answer?.status, 200)
  })

describe("a reader that throws within a callback", () => {
  it.live.each(["client", "backend"] as const)("of what the %s sends through a tunnel ends the tunnel", (side) =>
    Effect.gen(function* () {
      const { places, layer } = hearing()
      const backend = yield* tcpBackend((socket) =>
        socket.once("data", () =>
          socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
        )
      )
      const upstream = yield* Effect.provide(upstreamTo(backend.port), layer)
      const { port, defects, bound } = yield* edge((x) =>
        x.upgrade === undefined
          ? Effect.succeed(text(200, "yes"))
          : Effect.map(forward(upstream)(x), (answer) => ({
              ...answer,
              body: seen(answer.body, "backend"),
              switched: answer.switched && {
                ...answer.switched,
                outbound: (client) => answer.switched?.outbound(seen(client, "client"))
              }
            }))
      )
      const client = new RawClient(port).send("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes("101 ")))
      if (side === "client") client.send("fail")
      else backend.sockets[0]!.write("fail")
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      yield* Effect.promise(() => eventually(() => bound.connections() === 0))
      assert.strictEqual(defects.length + places.length, 1)
      yield* lives(port)
    })
  )

  it.live("of a request's body ends its connection", () =>
    Effect.gen(function* () {
      const { port, defects } = yield* edge((x) =>
        Effect.suspend(() => {
          if (x.request.method === "GET") return Effect.succeed(text(200, "yes"))
          x.requestBody = seen(x.requestBody, "body")
          return Effect.as(Effect.orDie(x.readRequestBody()), text(200, "read"))
        })
      )
      const client = new RawClient(port).send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nfirst")
      yield* Effect.sleep(20)
      client.send("fail")
      yield* Effect.promise(() => client.until(({ closed, ended }) => closed || ended))
      assert.strictEqual(client.text, "")
      assert.strictEqual(defects.length, 1)
      yield* lives(port)
    })
  )

  it.live("of a child's messages ends the child", () =>
    Effect.gen(function* () {
      const { places, layer } = hearing()
      const service = yield* Effect.provide(McpStdio, Layer.provide(stdio({ graceMillis: 50 }), layer))
      const deaths: Array<string> = []
      service.open(
        { cmd: "/bin/sh", args: ["-c", "echo message; sleep 60"], env: {}, inheritEnv: [], clearEnv: false },
        { backend: "b", backendName: "b", target: "t", principal: "", network: "", most: 1, mostOfNetwork: 1 },
        {
          onMessage: () => {
            throw new Error("bug")
          },
          onOpen: () => {},
          onEnd: () => {},
          onDeath: ({ message }) => deaths.push(message)
        }
      )
      yield* Effect.promise(() => eventually(() => deaths.length === 1))
      assert.deepStrictEqual(places, ["child"])
    })
  )
})
