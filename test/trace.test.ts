/** Traces of a running gateway: who gets which request, what comes over the wire, and what happens when somebody leaves. */
import { Agent } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import { type Headgate, start } from "../src/main/library.ts"
import { traceProblems } from "../src/main/testing.ts"
import { type TraceEvent, type TraceOptions, watch } from "../src/main/trace.ts"
import { type Sent, send } from "./client.ts"
import { httpBackend, portOf } from "./http/edge.ts"
import { eventually, RawClient } from "./http/raw-client.ts"
import { origin } from "./origin.ts"

const direct = `
gateways: { default: { port: 8080 } }
routes: [{ policies: { directResponse: { status: 200, body: hello } } }]
`

interface Open {
  readonly gateway: Headgate
  readonly ask: (sent?: Sent) => Effect.Effect<number>
  /** Watches over the admin interface; the events of the stream so far. */
  readonly watching: (options?: TraceOptions) => Effect.Effect<Watching, never, Scope.Scope>
}

interface Watching {
  readonly events: Array<TraceEvent>
  /** The stream came to its end by itself. */
  readonly whole: Effect.Effect<ReadonlyArray<TraceEvent>>
}

const opened = (text = direct): Effect.Effect<Open, never, Scope.Scope> =>
  Effect.gen(function* () {
    const gateway = yield* Effect.orDie(start(text, { ephemeral: true, host: "127.0.0.1" }))
    return {
      gateway,
      ask: (sent) => Effect.promise(async () => (await send(gateway.port(8080)!, sent)).status),
      watching: (options) =>
        Effect.gen(function* () {
          const events: Array<TraceEvent> = []
          const stream = yield* Effect.orDie(watch(`127.0.0.1:${gateway.ports.admin}`, options))
          const fiber = yield* Effect.forkScoped(
            Effect.orDie(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
          )
          return { events, whole: Effect.as(Effect.orDie(Effect.timeout(Fiber.join(fiber), "3 seconds")), events) }
        })
    }
  })

const pathOf = (events: ReadonlyArray<TraceEvent>): string | undefined => {
  const first = events.find(({ message }) => message.type === "requestSnapshot")?.message
  return first?.type === "requestSnapshot" ? first.requestState.request?.pathAndQuery : undefined
}

/** The raw event stream of the admin interface. */
const rawTrace = (gateway: Headgate, query = "") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new RawClient(gateway.ports.admin!)
      client.send(`POST /debug/trace${query} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`)
      return client.until(({ text }) => text.includes(": ready\n\n"))
    }),
    (client) => Effect.sync(() => client.socket.destroy())
  )

/** The body of a chunked response as far as it has come. */
const chunked = (text: string) =>
  text
    .slice(text.indexOf("\r\n\r\n") + 4)
    .replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, "")
    .replace(/\r\n$/, "")

describe("who gets which request", () => {
  it.live("each watcher gets the next request that it wants, in the order in which they came, and only one", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened()
      const b = yield* watching({ expression: 'request.path == "/b"' })
      const any = yield* watching()
      const posted = yield* watching({ expression: 'request.method == "POST" && request.headers["x-a"] == "1"' })
      yield* ask({ path: "/a" })
      assert.strictEqual(pathOf(yield* any.whole), "/a")
      yield* ask({ path: "/c", method: "POST" })
      assert.deepStrictEqual([b.events, posted.events], [[], []])
      yield* ask({ path: "/c", method: "POST", headers: { "x-a": "1" } })
      assert.strictEqual(pathOf(yield* posted.whole), "/c")
      yield* ask({ path: "/b" })
      assert.strictEqual(pathOf(yield* b.whole), "/b")
      for (const { events } of [b, any, posted]) assert.deepStrictEqual(traceProblems(events), [])
    })
  )

  it.live("an expression is about the request as it was received, and one that fails is false", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened(`
gateways: { default: { port: 8080 } }
routes:
  - policies:
      urlRewrite: { path: { full: /rewritten } }
      directResponse: { status: 200 }
`)
      const failing = yield* watching({ expression: 'request.headers["x-absent"].startsWith("a")' })
      const rewritten = yield* watching({ expression: 'request.path == "/rewritten"' })
      yield* ask({ path: "/a" })
      yield* ask({ path: "/a" })
      assert.deepStrictEqual([failing.events, rewritten.events], [[], []])
    })
  )

  it.live("on a connection that is kept, one request is traced and not the next", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened()
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      yield* ask({ agent, path: "/before" })
      const { whole, events } = yield* watching()
      yield* ask({ agent, path: "/traced" })
      yield* ask({ agent, path: "/after" })
      assert.strictEqual(pathOf(yield* whole), "/traced")
      assert.strictEqual(events.filter(({ message }) => message.type === "requestStarted").length, 1)
      agent.destroy()
    })
  )

  it.live("a watcher that went away leaves the request to the next one", () =>
    Effect.gen(function* () {
      const { gateway, ask, watching } = yield* opened()
      yield* Effect.scoped(rawTrace(gateway))
      // The proxy hears of it when the connection closes.
      yield* Effect.promise(() => eventually(() => !gateway.watchers.waiting))
      const { whole } = yield* watching()
      yield* ask({ path: "/a" })
      assert.strictEqual(pathOf(yield* whole), "/a")
    })
  )

  it.live("what the admin interface is asked is no request of the proxy", () =>
    Effect.gen(function* () {
      const { gateway, watching } = yield* opened()
      const { events } = yield* watching()
      yield* Effect.promise(() => send(gateway.ports.admin!, { path: "/config_dump" }))
      yield* Effect.promise(() => send(gateway.ports.stats!, { path: "/metrics" }))
      assert.deepStrictEqual(events, [])
    })
  )
})

describe("what comes over the wire", () => {
  it.live("server-sent events of data alone: first that the watcher is in place, and signs of life", () =>
    Effect.gen(function* () {
      const { gateway, ask } = yield* opened()
      const client = yield* rawTrace(gateway)
      const [head] = client.text.split("\r\n\r\n")
      assert.match(head!, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(head!, /^content-type: text\/event-stream$/im)
      assert.match(head!, /^cache-control: no-cache$/im)
      assert.strictEqual(chunked(client.text), ": ready\n\n")
      yield* Effect.promise(() => client.until(({ text }) => text.includes(": keepalive\n\n"), 2500))
      yield* ask()
      yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n0\r\n\r\n")))
      const lines = chunked(client.text)
        .replace(/0\r\n$/, "")
        .split("\n\n")
        .filter((line) => line.trim() !== "")
      assert.strictEqual(lines[0], ": ready")
      for (const line of lines.slice(1)) {
        if (line === ": keepalive") continue
        assert.match(
          line,
          /^data: \{"eventStart":(null|\d+),"eventEnd":\d+,"severity":"\w+","message":\{"type":"\w+"[^\n]*\}$/
        )
      }
    })
  )

  it.live("an expression or a rate that is none is refused, with the reason", () =>
    Effect.gen(function* () {
      const { gateway } = yield* opened()
      const post = (query: string) =>
        Effect.promise(() => send(gateway.ports.admin!, { method: "POST", path: `/debug/trace?${query}` }))
      for (const expression of ["request.path ==", "nothing.here", "1 +", ""]) {
        const { status, body, headers } = yield* post(`expression=${encodeURIComponent(expression)}`)
        assert.strictEqual(status, 400, expression)
        assert.match(body, /^invalid expression: .+\n$/)
        assert.match(String(headers["content-type"]), /^text\/plain/)
      }
      for (const rate of ["0", "-1", "1e9", "many"])
        assert.strictEqual((yield* post(`follow=${rate}`)).status, 400, rate)
      assert.isFalse(gateway.watchers.waiting)
    })
  )

  it.live("a reader that does not read slows nobody", () =>
    Effect.gen(function* () {
      const body = "x".repeat(1_500_000)
      const backend = yield* origin({ body })
      const { gateway, ask } = yield* opened(
        `{ gateways: { default: { port: 8080 } }, routes: [{ backends: [{ host: "${backend.address}" }] }] }`
      )
      const client = yield* rawTrace(gateway, "?follow=100000")
      client.socket.pause()
      for (let i = 0; i < 20; i++) assert.strictEqual(yield* ask(), 200)
    })
  )
})

describe("when somebody leaves", () => {
  it.live("the trace of a client that went away before there was an answer ends, and says so", () =>
    Effect.gen(function* () {
      let called = false
      const server = yield* httpBackend(() => {
        called = true
      })
      const { gateway, watching } = yield* opened(
        `{ gateways: { default: { port: 8080 } }, routes: [{ backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }] }`
      )
      const { whole } = yield* watching()
      const leaving = new AbortController()
      const asked = send(gateway.port(8080)!, { signal: leaving.signal }).catch(() => "gone")
      yield* Effect.promise(() => eventually(() => called))
      leaving.abort()
      assert.strictEqual(yield* Effect.promise(() => asked), "gone")
      const events = yield* whole
      assert.deepStrictEqual(traceProblems(events), [])
      const last = events.at(-1)!
      assert.deepStrictEqual(last.message, { type: "requestFinished", status: null, error: "the client went away" })
      assert.strictEqual(last.severity, "error")
      const result = events.find(({ message }) => message.type === "backendCallResult")
      assert.deepStrictEqual(result?.message, {
        type: "backendCallResult",
        status: null,
        error: "the client went away"
      })
    })
  )

  it.live("the trace of a streamed answer ends with its body, or with the client", () =>
    Effect.gen(function* () {
      let push = (_: string | undefined) => {}
      const server = yield* httpBackend((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.flushHeaders()
        push = (text) => (text === undefined ? response.end() : response.write(text))
      })
      const { gateway, watching } = yield* opened(
        `{ gateways: { default: { port: 8080 } }, routes: [{ backends: [{ host: "127.0.0.1:${portOf(server.address())}" }] }] }`
      )
      for (const leaves of [false, true]) {
        const { events, whole } = yield* watching()
        const client = new RawClient(gateway.port(8080)!)
        client.send("GET / HTTP/1.1\r\nhost: a.example\r\n\r\n")
        yield* Effect.promise(() => client.until(({ text }) => text.includes("\r\n\r\n")))
        push("data: one\n\n")
        yield* Effect.promise(() => client.until(({ text }) => text.includes("one")))
        const kinds = () => events.map(({ message }) => ("stage" in message ? message.stage : message.type))
        yield* Effect.promise(() => eventually(() => kinds().includes("final response")))
        assert.notInclude(kinds(), "requestFinished")
        if (leaves) client.socket.destroy()
        else {
          push("data: two\n\n")
          push(undefined)
        }
        const body = (yield* whole).findLast(({ message }) => message.type === "bodySnapshot")?.message
        assert.strictEqual(
          body?.type === "bodySnapshot" && Buffer.from(body.body, "base64").toString(),
          leaves ? "data: one\n\n" : "data: one\n\ndata: two\n\n"
        )
        const last = events.at(-1)!.message
        assert.deepStrictEqual(last, {
          type: "requestFinished",
          status: 200,
          error: leaves ? "the client went away" : null
        })
        client.socket.destroy()
      }
    })
  )
})

describe("following", () => {
  it.live("shows request after request, numbered, and no more events a second than it may", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened()
      const { events } = yield* watching({ follow: 60 })
      const begun = performance.now()
      const shown = () => new Set(events.map(({ request }) => request)).size
      while (performance.now() - begun < 1300 || events.length < 60 || shown() < 4) yield* ask()
      const seconds = Math.ceil((performance.now() - begun) / 1000) + 1
      assert.isAtMost(events.length, 60 * seconds)
      assert.isAtLeast(events.length, 60)
      const requests = Map.groupBy(events, ({ request }) => request)
      assert.isAtLeast(requests.size, 4)
      assert.isFalse(requests.has(undefined))
      const [first] = requests.values()
      assert.deepStrictEqual(traceProblems(first!), [])
    })
  )

  it.live("takes no request from those who wait for one", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened()
      const following = yield* watching({ follow: 1 })
      yield* ask({ path: "/first" })
      const { whole } = yield* watching()
      yield* ask({ path: "/second" })
      assert.strictEqual(pathOf(yield* whole), "/second")
      assert.isAtMost(following.events.length, 2)
    })
  )

  it.live("only what an expression wants", () =>
    Effect.gen(function* () {
      const { ask, watching } = yield* opened()
      const { events } = yield* watching({ follow: 1000, expression: 'request.path.startsWith("/a")' })
      for (const path of ["/a1", "/b", "/a2"]) yield* ask({ path })
      yield* Effect.promise(() =>
        eventually(() => events.filter(({ message }) => message.type === "requestFinished").length === 2)
      )
      const paths = [...Map.groupBy(events, ({ request }) => request).values()].map(pathOf)
      assert.deepStrictEqual(paths, ["/a1", "/a2"])
    })
  )
})
