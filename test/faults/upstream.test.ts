import { once } from "node:events"
import { Agent, get } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { httpBackend, portOf, tcpBackend } from "../http/edge.ts"
import { until } from "../program.ts"

const quiet = { ephemeral: true, host: "127.0.0.1" }

const route = (port: number) => `
gateways: { default: { port: 8080 } }
routes:
  - name: all
    backends:
      - host: 127.0.0.1:${port}
`

const openai = (port: number) => `
llm:
  port: 8080
  models:
    - name: "*"
      provider: openai
      params: { apiKey: k, baseUrl: "http://127.0.0.1:${port}/v1" }
`

const chunk = (content: string) =>
  `data: ${JSON.stringify({
    id: "1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: { content }, finish_reason: null }]
  })}\n\n`

const question = { model: "m", messages: [{ role: "user" as const, content: "Hello" }] }

/** An upstream that resets the connection in the middle of its body, once asked for more than the beginning. */
const resetting = (head: string, beginning: string) =>
  tcpBackend((socket) => {
    socket.once("data", () => {
      socket.write(`${head}\r\n\r\n${beginning}`)
      setTimeout(() => socket.resetAndDestroy(), 50)
    })
  })

describe("an upstream that resets the connection in the middle of a body", () => {
  it.live("cuts the answer short instead of passing it off as whole", () =>
    Effect.gen(function* () {
      const { port } = yield* resetting("HTTP/1.1 200 OK\r\ncontent-length: 100", "half")
      const lines: Array<string> = []
      const gateway = yield* start(route(port), { ...quiet, log: (line) => lines.push(line) })
      const failure = yield* Effect.promise(() => send(gateway.port(8080)!).then(() => undefined, String))
      assert.match(String(failure), /aborted|ECONNRESET/)
      yield* Effect.promise(() => until("the line of the log", () => lines.some((line) => line.includes("\trequest "))))
      assert.match(lines.at(-1)!, /http\.status=200 .*error="body ended early: reset"/)
    })
  )

  it.live("is an error for the OpenAI client that reads a stream, and the gateway goes on", () =>
    Effect.gen(function* () {
      const { port } = yield* resetting(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked",
        `${Buffer.byteLength(chunk("first ")).toString(16)}\r\n${chunk("first ")}\r\n`
      )
      const gateway = yield* start(openai(port), quiet)
      const client = new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port(8080)}/v1`, apiKey: "x", maxRetries: 0 })
      const read = async () => {
        let text = ""
        try {
          for await (const part of await client.chat.completions.create({ ...question, stream: true }))
            text += part.choices[0]?.delta.content ?? ""
        } catch (error) {
          return { text, error }
        }
        return { text, error: undefined }
      }
      for (let i = 0; i < 2; i++) {
        const { text, error } = yield* Effect.promise(read)
        assert.strictEqual(text, "first ")
        assert.isDefined(error)
      }
    })
  )
})

describe("a client that goes away in the middle of a stream", () => {
  /** An upstream that streams until somebody closes the connection. */
  const endless = (type: string, piece: string) =>
    Effect.gen(function* () {
      const state = { open: 0, closed: 0 }
      const server = yield* httpBackend((request, response) => {
        state.open++
        request.resume()
        response.writeHead(200, { "content-type": type })
        const timer = setInterval(() => response.write(piece), 10)
        response.on("close", () => {
          clearInterval(timer)
          state.closed++
        })
      })
      return { state, port: portOf(server.address()) }
    })

  it.live("ends the call of the upstream", () =>
    Effect.gen(function* () {
      const { state, port } = yield* endless("text/plain", "more")
      const gateway = yield* start(route(port), quiet)
      yield* Effect.promise(async () => {
        const request = get({ host: "127.0.0.1", port: gateway.port(8080), agent: new Agent({ keepAlive: false }) })
        request.on("error", () => {})
        const [response] = await once(request, "response")
        response.on("error", () => {})
        await once(response, "data")
        assert.deepStrictEqual(state, { open: 1, closed: 0 })
        request.destroy()
        await until("the call of the upstream ends", () => state.closed === 1)
      })
    })
  )

  it.live("ends the call of the provider", () =>
    Effect.gen(function* () {
      const { state, port } = yield* endless("text/event-stream", chunk("more "))
      const gateway = yield* start(openai(port), quiet)
      const client = new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port(8080)}/v1`, apiKey: "x", maxRetries: 0 })
      yield* Effect.promise(async () => {
        const stream = await client.chat.completions.create({ ...question, stream: true })
        for await (const part of stream) {
          assert.strictEqual(part.choices[0]?.delta.content, "more ")
          // Leaving the loop closes the connection.
          break
        }
        await until("the call of the provider ends", () => state.closed === 1)
        assert.strictEqual(state.open, 1)
      })
    })
  )
})
