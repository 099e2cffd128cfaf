import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../src/main/library.ts"
import { send } from "../client.ts"
import { httpBackend, portOf } from "../http/edge.ts"
import { until } from "../program.ts"

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: unknown
}

/** An MCP server that leaves the answer to a call to the test. */
const target = (
  call: (message: Message, response: ServerResponse, request: IncomingMessage) => void,
  notified: (message: Message) => void = () => {}
) =>
  Effect.map(
    httpBackend(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end()
      const message = (await json(request)) as Message
      if (message.method === "tools/call") return call(message, response, request)
      if (message.id === undefined) {
        notified(message)
        return void response.writeHead(202).end()
      }
      const result =
        message.method === "initialize"
          ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } }
          : { tools: [{ name: "work", inputSchema: { type: "object" } }] }
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
    }),
    (server) => portOf(server.address())
  )

const answer = (response: ServerResponse, { id }: Message) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } }))
}

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
const working = (name: string) => ({
  method: "POST",
  path: "/mcp",
  body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name, arguments: {} } })
})

/** A gateway in front of the targets, and a session in it. */
const opened = (ports: Readonly<Record<string, number>>, lines: Array<string> = []) =>
  Effect.gen(function* () {
    const targets = Object.entries(ports).map(
      ([name, port]) => `{ name: ${name}, mcp: { host: "http://127.0.0.1:${port}/mcp" } }`
    )
    const gateway = yield* start(`mcp: { port: 8080, targets: [${targets.join(", ")}] }`, {
      ephemeral: true,
      host: "127.0.0.1",
      log: (line) => lines.push(line)
    })
    const port = gateway.port(8080)!
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
    const begun = yield* Effect.promise(() =>
      send(port, {
        method: "POST",
        path: "/mcp",
        headers,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
      })
    )
    const session = { ...headers, "mcp-session-id": String(begun.headers["mcp-session-id"]) }
    return { port, session, call: (name: string) => send(port, { ...working(name), headers: session }) }
  })

const messagesOf = (body: string) =>
  body.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []))

describe("an MCP server behind HTTP", () => {
  it.live("that resets in the middle of a stream fails that call, as a message; the session and others go on", () =>
    Effect.gen(function* () {
      let broken = true
      const progress = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "so far" } }
      const frail = yield* target((message, response) => {
        if (!broken) return answer(response, message)
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(`event: message\ndata: ${JSON.stringify(progress)}\n\nevent: message\ndata: {"jsonrpc":`)
        setTimeout(() => response.socket?.resetAndDestroy(), 50)
      })
      const sound = yield* target((message, response) => answer(response, message))
      const lines: Array<string> = []
      const { call } = yield* opened({ frail, sound }, lines)
      yield* Effect.promise(async () => {
        const cut = await call("frail_work")
        assert.strictEqual(cut.status, 200)
        const [said, failed, ...rest] = messagesOf(cut.body)
        assert.deepStrictEqual([said, rest], [progress, []])
        assert.deepStrictEqual([failed.id, failed.error.code], [7, -32603])
        assert.match(failed.error.message, /upstream call failed: \w+/)
        await until("the line of the log", () => lines.some((line) => line.includes("mcp.error.code=-32603")))
        broken = false
        for (const name of ["sound_work", "frail_work"])
          assert.strictEqual(messagesOf((await call(name)).body)[0].result.content[0].text, "done")
      })
    })
  )

  it.live("that resets before it answers is not called twice: nobody knows what the first call did", () =>
    Effect.gen(function* () {
      let calls = 0
      const frail = yield* target((_, response) => {
        calls++
        response.socket?.resetAndDestroy()
      })
      const { call } = yield* opened({ frail })
      const failed = yield* Effect.promise(() => call("work"))
      assert.strictEqual(failed.status, 503)
      assert.match(failed.body, /^upstream call failed: /)
      assert.strictEqual(calls, 1)
    })
  )

  it.live("that has forgotten the session says so itself, and the client hears it", () =>
    Effect.gen(function* () {
      const forgetful = yield* target((_, response) => response.writeHead(404).end("Session not found"))
      const { call } = yield* opened({ forgetful })
      assert.deepInclude(yield* Effect.promise(() => call("work")), { status: 404, body: "Session not found" })
    })
  )
})

describe("an MCP client that goes away in the middle of a call", () => {
  it.live("does not cancel it: only a cancellation does", () =>
    Effect.gen(function* () {
      const state: { held: (() => void) | undefined; closed: boolean; finished: boolean } = {
        held: undefined,
        closed: false,
        finished: false
      }
      const slow = yield* target((message, response) => {
        response.on("close", () => {
          state.closed = true
        })
        response.on("finish", () => {
          state.finished = true
        })
        state.held = () => answer(response, message)
      })
      const lines: Array<string> = []
      const { port, session, call } = yield* opened({ slow }, lines)
      yield* Effect.promise(async () => {
        const { body, ...sent } = working("work")
        const leaving = request({ host: "127.0.0.1", port, ...sent, headers: session, agent: new Agent() })
        leaving.on("error", () => {})
        leaving.end(body)
        await until("the call arrives", () => state.held !== undefined)
        leaving.destroy()
        const access = () => lines.filter((line) => line.includes("\trequest "))
        await until("the gateway noticed", () => access().length === 2)
        assert.include(access().at(-1), "mcp.method.name=tools/call mcp.target=slow")
        assert.isFalse(state.closed)
        state.held!()
        await until("the target has answered", () => state.finished)
        // The session lives.
        state.held = undefined
        const next = call("work")
        await until("the next call arrives", () => state.held !== undefined)
        state.held!()
        assert.strictEqual(messagesOf((await next).body)[0].result.content[0].text, "done")
      })
    })
  )

  it.live("or cancels it, which the target hears, and which ends the call at both ends", () =>
    Effect.gen(function* () {
      const state = { called: false, closed: false, heard: [] as Array<unknown> }
      const other = yield* target((message, response) => answer(response, message))
      const slow = yield* target(
        (_, response) => {
          state.called = true
          response.on("close", () => {
            state.closed = true
          })
        },
        ({ method, params }) => {
          if (method === "notifications/cancelled") state.heard.push(params)
        }
      )
      const { port, session, call } = yield* opened({ other, slow })
      yield* Effect.promise(async () => {
        const waiting = call("slow_work")
        await until("the call arrives", () => state.called)
        const params = { requestId: 7, reason: "enough" }
        const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })
        const { status } = await send(port, { method: "POST", path: "/mcp", headers: session, body })
        assert.strictEqual(status, 202)
        // There is no answer to what was cancelled.
        assert.deepStrictEqual(messagesOf((await waiting).body), [])
        await until("the call of the target ends", () => state.closed)
        assert.deepStrictEqual(state.heard, [params])
      })
    })
  )
})
