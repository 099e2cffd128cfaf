import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { upstreamTo } from "../../../../test/http/edge.ts"
import { callerTo } from "../../../../test/mcp-caller.ts"
import { until } from "../../../../test/program.ts"
import type { Answer } from "../../../http/message.ts"
import type { StageError } from "../../../pipeline/stage.ts"
import type { McpEventMark, McpTransport, TargetFailure } from "../../../services/mcp-transport.ts"
import { UpstreamFailed } from "../../../services/upstreams.ts"
import type { McpCaller, McpHttpDialogue } from "./contract.ts"
import { endpointPath } from "./legacy-sse.ts"
import { makeServers } from "./server.ts"
import type { UpstreamLimits } from "./target-call.ts"

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

interface Reports {
  readonly messages: Array<readonly [text: string, stream: number | undefined, mark: McpEventMark | undefined]>
  readonly opened: Array<number>
  readonly ends: Array<readonly [stream: number, failure: TargetFailure | undefined]>
  readonly deaths: Array<TargetFailure>
}

/** A target, and a transport to it. */
const begin = async (
  handler: Handler,
  dialogue: Partial<McpHttpDialogue> = {},
  limits: Partial<UpstreamLimits> = {},
  run: <A>(effect: Effect.Effect<A>) => Promise<A> = Effect.runPromise
) => {
  const seen: Array<{
    readonly method: string
    readonly url: string
    readonly headers: IncomingMessage["headers"]
    readonly body: string
  }> = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body })
    handler(request, response, body)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const scope = Scope.makeUnsafe()
  const serverOf = await run(makeServers(limits))
  const to = async (port: number) =>
    callerTo(await run(Scope.provide(upstreamTo(port), scope)), `http://127.0.0.1:${port}`)
  const straight = await to(port)
  const connect = (
    session?: string,
    more: Partial<McpHttpDialogue> = {},
    caller: McpCaller = straight
  ): Reports & { readonly transport: McpTransport } => {
    const reports: Reports = { messages: [], opened: [], ends: [], deaths: [] }
    const spoken: McpHttpDialogue = { protocol: "streamable", path: "/mcp", ...dialogue, ...more }
    const transport = serverOf(caller).open(spoken, session, {
      onMessage: (text, stream, mark) => reports.messages.push([text, stream, mark]),
      onOpen: (stream) => reports.opened.push(stream),
      onEnd: (stream, failure) => reports.ends.push([stream, failure]),
      onDeath: (failure) => reports.deaths.push(failure)
    })
    return { ...reports, transport }
  }
  return {
    seen,
    connect,
    to,
    straight,
    port,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

const outgoing = (
  stream: number,
  method: string | undefined = "tools/call",
  expectsAnswer = true,
  headers: ReadonlyArray<string> = []
) => ({
  message: `{"stream":${stream}}`,
  stream,
  expectsAnswer,
  method,
  headers
})

describe("streamable HTTP to a target", () => {
  it("posts the message with the client's headers, and reads a JSON answer", async () => {
    const target = await begin((_, response) =>
      response.setHeader("content-type", "application/json; charset=utf-8").end(' {"é":1}\n')
    )
    const { transport, messages, ends } = target.connect("s1")
    transport.send(outgoing(5, "tools/call", true, ["authorization", "Bearer x", "x-twice", "1", "x-twice", "2"]))
    await until("the end", () => ends.length > 0)
    assert.deepStrictEqual(messages, [['{"é":1}', 5, undefined]])
    assert.deepStrictEqual(ends, [[5, undefined]])
    const { headers, ...rest } = target.seen[0]!
    assert.deepStrictEqual(rest, { method: "POST", url: "/mcp", body: '{"stream":5}' })
    assert.strictEqual(headers["content-type"], "application/json")
    assert.strictEqual(headers.accept, "text/event-stream, application/json")
    assert.strictEqual(headers["mcp-session-id"], "s1")
    assert.strictEqual(headers.authorization, "Bearer x")
    assert.strictEqual(headers["x-twice"], "1, 2")
    await target.close()
  })

  it("reads an event stream as it comes, with ids and reconnection times", async () => {
    let write: (text: string) => void = () => {}
    let end = () => {}
    const target = await begin((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
      write = (text) => void response.write(text)
      end = () => void response.end()
    })
    const { transport, messages, opened, ends } = target.connect()
    transport.send(outgoing(1))
    await until("the head", () => opened.length > 0)
    write("id: e1\nretry: 50\ndata: \n\n: comment\n\nevent: message\nda")
    await until("the priming event", () => messages.length > 0)
    write('ta: {"a":\ndata: 1}\n\nevent: other\ndata: no\n\n')
    await until("the message", () => messages.length > 1)
    assert.deepStrictEqual(messages, [
      ["", 1, { id: "e1", retry: 50 }],
      ['{"a":\n1}', 1, undefined]
    ])
    assert.deepStrictEqual(ends, [])
    end()
    await until("the end", () => ends.length > 0)
    assert.deepStrictEqual(ends, [[1, undefined]])
    await target.close()
  })

  it("takes the session from the answer to initialize alone, and ends it with DELETE", async () => {
    const target = await begin((_, response) =>
      response.writeHead(202, { "mcp-session-id": `given-${target.seen.length}` }).end()
    )
    const { transport, ends } = target.connect()
    transport.send(outgoing(1, "tools/list"))
    await until("1", () => ends.length === 1)
    assert.isUndefined(transport.sessionId())
    transport.send(outgoing(2, "initialize"))
    await until("2", () => ends.length === 2)
    assert.strictEqual(transport.sessionId(), "given-2")
    transport.send(outgoing(3, undefined, false))
    await until("3", () => ends.length === 3)
    transport.close(["authorization", "Bearer x"])
    await until("the DELETE", () => target.seen.length === 4)
    assert.strictEqual(target.seen[2]?.headers["mcp-session-id"], "given-2")
    assert.strictEqual(target.seen[3]?.method, "DELETE")
    assert.strictEqual(target.seen[3]?.headers["mcp-session-id"], "given-2")
    assert.strictEqual(target.seen[3]?.headers.authorization, "Bearer x")
    await target.close()
  })

  it("without a session, or without a farewell, nothing is deleted", async () => {
    const target = await begin((_, response) => response.writeHead(202).end())
    target.connect().transport.close([])
    target.connect("s").transport.close(undefined)
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.deepStrictEqual(target.seen, [])
    await target.close()
  })

  it("202 and 204 take a message, and null is no answer", async () => {
    const target = await begin((request, response) => {
      const status = Number(request.headers["x-status"])
      if (status === 200) response.setHeader("content-type", "application/json").end("null")
      else response.writeHead(status).end()
    })
    const { transport, messages, ends } = target.connect()
    for (const [stream, status] of [
      [1, "202"],
      [2, "204"],
      [3, "200"]
    ] as const)
      transport.send(outgoing(stream, "notifications/initialized", false, ["x-status", status]))
    await until("all", () => ends.length === 3)
    assert.deepStrictEqual(messages, [])
    assert.isTrue(ends.every(([, failure]) => failure === undefined))
    await target.close()
  })

  it("hands on a refusal as it came, up to a limit", async () => {
    const target = await begin(
      (request, response) =>
        void response
          .writeHead(401, [
            ["www-authenticate", "Bearer a"],
            ["www-authenticate", "Basic b"],
            ["content-type", "text/x"]
          ] as never)
          .end(request.url === "/long" ? "x".repeat(100) : "no"),
      {},
      { errorBytes: 10 }
    )
    const { transport, ends } = target.connect()
    transport.send(outgoing(1))
    await until("the end", () => ends.length > 0)
    const failure = ends[0]![1] as Extract<TargetFailure, { _tag: "TargetStatus" }>
    assert.strictEqual(failure.status, 401)
    assert.strictEqual(Buffer.from(failure.body).toString(), "no")
    assert.deepStrictEqual(failure.headers.slice(0, 6), [
      "www-authenticate",
      "Bearer a",
      "www-authenticate",
      "Basic b",
      "content-type",
      "text/x"
    ])
    const long = target.connect(undefined, { path: "/long" })
    long.transport.send(outgoing(1))
    await until("the end", () => long.ends.length > 0)
    assert.strictEqual((long.ends[0]![1] as typeof failure).body.length, 10)
    await target.close()
  })

  it("undoes compression that nobody asked for, in answers and streams", async () => {
    const encodings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
    const target = await begin((request, response) => {
      const encoding = request.headers["x-encoding"] as keyof typeof encodings
      const sse = request.headers["x-sse"] === "1"
      const body = sse ? 'data: {"a":1}\n\n' : '{"a":1}'
      response.setHeader("content-type", sse ? "text/event-stream" : "application/json")
      response.setHeader("content-encoding", encoding)
      response.end(encodings[encoding]?.(body) ?? body)
    })
    for (const encoding of [...Object.keys(encodings), "unheard-of"])
      for (const sse of ["0", "1"]) {
        const { transport, messages, ends } = target.connect()
        transport.send(outgoing(1, "tools/call", true, ["x-encoding", encoding, "x-sse", sse]))
        await until(`${encoding} ${sse}`, () => ends.length > 0)
        if (encoding === "unheard-of") assert.strictEqual(ends[0]?.[1]?.message, "upstream sent an undecodable body")
        else assert.deepStrictEqual(messages, [['{"a":1}', 1, undefined]])
      }
    await target.close()
  })

  it("refuses other content, and messages over the limit", async () => {
    const big = `{"a":"${"x".repeat(2000)}"}`
    const target = await begin(
      (request, response) => {
        const type = request.headers["x-type"] as string
        response.setHeader("content-type", type).end(type === "text/event-stream" ? `data: ${big}\n\n` : big)
      },
      {},
      { messageChars: 1000 }
    )
    const table = [
      ["text/html", "unexpected content type"],
      ["application/json", "upstream sent a message over the limit"],
      ["text/event-stream", "upstream sent a message over the limit"]
    ] as const
    for (const [type, message] of table) {
      const { transport, ends, messages } = target.connect()
      transport.send(outgoing(1, "tools/call", true, ["x-type", type]))
      await until(type, () => ends.length > 0)
      assert.deepStrictEqual(ends, [[1, { _tag: "TargetBroken", status: 500, message }]])
      assert.deepStrictEqual(messages, [])
    }
    await target.close()
  })

  it("says that a target is not there, and that it broke off", async () => {
    const target = await begin((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write("data: {}\n\n", () => response.destroy())
    })
    const broken = target.connect()
    broken.transport.send(outgoing(1))
    await until("the end", () => broken.ends.length > 0)
    assert.strictEqual(broken.messages.length, 1)
    assert.strictEqual(broken.ends[0]?.[1]?._tag, "TargetUnreachable")
    const absent = target.connect(undefined, {}, await target.to(1))
    absent.transport.send(outgoing(1))
    await until("the end", () => absent.ends.length > 0)
    assert.deepStrictEqual(absent.ends[0]?.[1], {
      _tag: "TargetUnreachable",
      status: 503,
      message: "upstream call failed: connection refused: ECONNREFUSED"
    })
    await target.close()
  })

  it("a header that cannot be sent is a failure, not a crash", async () => {
    const target = await begin((_, response) => response.writeHead(202).end())
    const { transport, ends } = target.connect()
    transport.send(outgoing(1, "tools/call", true, ["x-bad", "a\nb"]))
    await until("the end", () => ends.length > 0)
    assert.strictEqual(ends[0]?.[1]?._tag, "TargetBroken")
    await target.close()
  })

  it("listens with the last event id, and says when it is refused", async () => {
    const target = await begin((request, response) => {
      if (request.headers["last-event-id"] === undefined) response.writeHead(405).end()
      else response.writeHead(200, { "content-type": "text/event-stream" }).end('id: 2\ndata: {"x":1}\n\n')
    })
    const { transport, messages, opened, ends } = target.connect("s")
    transport.listen(1, ["x", "y"], undefined)
    transport.listen(2, [], "e:1")
    await until("both", () => ends.length === 2)
    assert.deepStrictEqual(opened, [2])
    assert.deepStrictEqual(messages, [['{"x":1}', 2, { id: "2", retry: undefined }]])
    assert.strictEqual((ends.find(([stream]) => stream === 1)![1] as { status: number }).status, 405)
    assert.isUndefined(ends.find(([stream]) => stream === 2)![1])
    const resumed = target.seen.find(({ headers }) => headers["last-event-id"] === "e:1")!
    assert.strictEqual(resumed.method, "GET")
    assert.strictEqual(resumed.headers.accept, "text/event-stream")
    await target.close()
  })

  it("nothing is heard of what was abandoned or closed, and its connection ends", async () => {
    let closed = 0
    const target = await begin((_, response) => {
      response.on("close", () => closed++)
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write("data: {}\n\n")
    })
    const { transport, messages, ends } = target.connect()
    transport.send(outgoing(1))
    transport.send(outgoing(2))
    transport.send(outgoing(3))
    await until("three", () => messages.length === 3)
    transport.abandon(1)
    await until("one closed", () => closed === 1)
    transport.close(undefined)
    await until("all closed", () => closed === 3)
    assert.deepStrictEqual(ends, [])
    await target.close()
  })

  it("an answered stream that goes on is dropped when it has had its time, and nothing waits for one that ends", async () => {
    const streams: Array<ServerResponse> = []
    let closed = 0
    const target = await begin((_, response) => {
      streams.push(response.writeHead(200, { "content-type": "text/event-stream" }))
      response.on("close", () => closed++)
      response.write("data: {}\n\n")
    })
    const { transport, messages, ends } = target.connect()
    const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const fake = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
    /** What began to wait for as long as answered streams have, and what waits no more. Spies of `vi` would leave the fakes behind. */
    const started: Array<unknown> = []
    const stopped: Array<unknown> = []
    Object.assign(globalThis, {
      setTimeout: (...given: Parameters<typeof setTimeout>) => {
        const timer = fake.setTimeout(...given)
        if (given[1] === 5_000) started.push(timer)
        return timer
      },
      clearTimeout: (timer: NodeJS.Timeout) => {
        stopped.push(timer)
        fake.clearTimeout(timer)
      }
    })
    const waits = () => started.length
    /** `until` of a time that stands still. */
    const turns = async (what: string, condition: () => boolean) => {
      for (let i = 0; i < 2_000; i++) {
        if (condition()) return
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.fail(`it did not happen: ${what}`)
    }
    const answered = async (stream: number) => {
      transport.send(outgoing(stream))
      await turns("the message", () => messages.length === stream)
      transport.release(stream)
      return waits()
    }
    try {
      assert.strictEqual(await answered(1), 1)
      streams[0]!.end()
      await turns("the end of what was answered", () => closed === 1)
      await turns("the end of the timer", () => stopped.includes(started[0]))
      assert.strictEqual(await answered(2), 2)
      vi.advanceTimersByTime(4_999)
      assert.strictEqual(await answered(3), 2)
      vi.advanceTimersByTime(5_000)
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
      assert.strictEqual(closed, 1)
      // What is left of a stream has a little time to come.
      vi.advanceTimersByTime(1)
      vi.advanceTimersByTime(100)
      await turns("the end of both", () => closed === 3)
      assert.strictEqual(waits(), 3)
      assert.deepStrictEqual(ends, [])
    } finally {
      vi.useRealTimers()
      Object.assign(globalThis, real)
    }
    await target.close()
  })

  it("a paused stream is not read", async () => {
    let sent = 0
    const target = await begin((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const more = () => {
        while (sent < 40_000_000) {
          sent += 100_000
          if (!response.write(`data: ${"x".repeat(100_000)}\n\n`)) return void response.once("drain", more)
        }
        response.end()
      }
      more()
    })
    const { transport, messages, ends } = target.connect()
    transport.send(outgoing(1))
    await until("the first", () => messages.length > 0)
    transport.pause(1)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const paused = messages.length
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.strictEqual(messages.length, paused)
    assert.isBelow(sent, 40_000_000)
    transport.resume(1)
    await until("the end", () => ends.length > 0)
    assert.strictEqual(messages.length, 400)
    await target.close()
  })

  it("a paused stream is not expanded, however much a few bytes of it hold", async () => {
    const frame = `data: ${"x".repeat(100_000)}\n\n`
    const target = await begin((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
      response.end(gzipSync(frame.repeat(400)))
    })
    const { transport, messages, ends } = target.connect()
    transport.send(outgoing(1))
    transport.pause(1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.isBelow(messages.length, 10)
    transport.resume(1)
    await until("the end", () => ends.length > 0)
    assert.strictEqual(messages.length, 400)
    await target.close()
  })

  it("a body that says nothing is not read to its end, which may never come", async () => {
    let cut = 0
    const target = await begin((_, response) => {
      response.on("close", () => cut++)
      response.writeHead(202)
      const more = () => {
        while (response.write("x".repeat(100_000)));
      }
      response.on("drain", more)
      more()
    })
    const { transport, ends } = target.connect("session")
    transport.send(outgoing(1, "notifications/initialized", false))
    await until("the end", () => ends.length > 0)
    assert.deepStrictEqual(ends, [[1, undefined]])
    await until("the cut", () => cut === 1)
    transport.close([])
    await until("the cut of the farewell", () => cut === 2)
    await target.close()
  })

  it("what the policies of a target make of a call is told as what it is", async () => {
    const target = await begin((_, response) => response.writeHead(202).end())
    const { call, origin } = target.straight
    const through = (change: (answer: Effect.Effect<Answer, StageError>) => Effect.Effect<Answer, StageError>) =>
      target.connect(undefined, {}, { origin, call: (...asked) => change(call(...asked)) })
    const slow = through((answer) => Effect.andThen(Effect.sleep("5 millis"), answer))
    const refused = through(() => Effect.fail({ _tag: "Refused", status: 403, message: "not you", source: "client" }))
    const keyless = through(() => Effect.fail({ _tag: "NoKey", status: 503, message: "no key", source: "proxy" }))
    const down = through(() => Effect.fail(new UpstreamFailed({ kind: "reset", detail: "it", reached: "sent" })))
    const wrong = through(() => Effect.die("bug"))
    const all = [slow, refused, keyless, down, wrong]
    for (const { transport } of all) transport.send(outgoing(1))
    await until("all", () => all.every(({ ends }) => ends.length > 0))
    assert.deepStrictEqual(
      all.map(({ ends }) => ends[0]?.[1]),
      [
        undefined,
        {
          _tag: "TargetStatus",
          status: 403,
          message: "not you",
          headers: ["content-type", "text/plain"],
          body: Buffer.from("not you")
        },
        { _tag: "TargetBroken", status: 500, message: "no key" },
        { _tag: "TargetUnreachable", status: 503, message: "upstream call failed: reset: it" },
        { _tag: "TargetBroken", status: 500, message: "internal error" }
      ]
    )
    assert.strictEqual(target.seen.length, 1)
    await target.close()
  })

  it("an empty path becomes /mcp or /sse", async () => {
    const target = await begin((_, response) => response.writeHead(202).end(), { path: "" })
    target.connect().transport.send(outgoing(1))
    target.connect(undefined, { protocol: "sse" }).transport.send(outgoing(1))
    await until("both", () => target.seen.length === 2)
    assert.sameMembers(
      target.seen.map(({ url }) => url),
      ["/mcp", "/sse"]
    )
    await target.close()
  })

  it("repeats what does no harm when a kept connection broke, and never a call", async () => {
    const asked: Array<string> = []
    let connections = 0
    const server = createTcpServer((socket: Socket) => {
      const connection = ++connections
      let answered = false
      // Each connection breaks with its second request.
      socket.on("data", (data) => {
        asked.push(`${connection} ${/"stream":(\d)/.exec(data.toString())?.[1]}`)
        if (answered) socket.destroy()
        else socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        answered = true
      })
      socket.on("error", () => {})
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const target = await begin(() => {})
    const { transport, ends } = target.connect(undefined, {}, await target.to(port))
    for (const [stream, method] of [
      [1, "tools/call"],
      [2, "tools/list"],
      [3, "tools/call"],
      [4, "tools/call"]
    ] as const) {
      transport.send(outgoing(stream, method))
      await until(`the end of ${stream}`, () => ends.length === stream)
    }
    assert.deepStrictEqual(
      ends.map(([stream, failure]) => [stream, failure?._tag]),
      [
        [1, undefined],
        [2, undefined],
        [3, "TargetUnreachable"],
        [4, undefined]
      ]
    )
    assert.deepStrictEqual(asked, ["1 1", "1 2", "2 2", "2 3", "3 4"])
    server.close()
    await target.close()
  })
})

describe("legacy HTTP+SSE to a target", () => {
  it("the endpoint is a path of the same origin, in every form that a target may write", () => {
    const origin = "http://h:80"
    const table: ReadonlyArray<readonly [data: string, path: string | undefined]> = [
      ["/messages?sessionId=1", "/messages?sessionId=1"],
      ["messages?x=1", "/messages?x=1"],
      ["?sessionId=1", "/base/sse?sessionId=1"],
      ["http://h/m?s=1", "/m?s=1"],
      ["http://h:80/m", "/m"],
      ["http://other/m", undefined],
      ["https://h/m", undefined],
      ["//other/m", undefined],
      ["file:///etc/passwd", undefined],
      ["http://", undefined]
    ]
    for (const [data, path] of table) assert.strictEqual(endpointPath(origin, "/base/sse?a=1", data), path, data)
  })

  const sse = (
    handle: (stream: ServerResponse, body: string, response: ServerResponse) => void,
    endpoint = "/messages?s=1"
  ): Handler => {
    let stream: ServerResponse | undefined
    return (request, response, body) => {
      if (request.method === "GET") {
        stream = response
        response.writeHead(200, { "content-type": "text/event-stream" }).write(`event: endpoint\ndata: ${endpoint}\n\n`)
      } else handle(stream!, body, response)
    }
  }

  it("opens the stream with the first message, and posts when it knows where", async () => {
    const target = await begin(
      sse((stream, body, response) => {
        response.writeHead(202).end()
        stream.write(`event: message\ndata: ${JSON.stringify({ got: body })}\n\n`)
      }),
      { protocol: "sse", path: "/sse" }
    )
    const { transport, messages, ends } = target.connect()
    assert.isTrue(transport.shared)
    transport.send(outgoing(1, "initialize", true, ["authorization", "Bearer x"]))
    transport.send(outgoing(2, "notifications/initialized", false))
    await until("both", () => messages.length === 2)
    assert.deepStrictEqual(messages[0], ['{"got":"{\\"stream\\":1}"}', undefined, undefined])
    await until("the notification's end", () => ends.length > 0)
    assert.deepStrictEqual(ends, [[2, undefined]])
    assert.deepStrictEqual(
      target.seen.map(({ method, url }) => `${method} ${url}`),
      ["GET /sse", "POST /messages?s=1", "POST /messages?s=1"]
    )
    assert.strictEqual(target.seen[0]?.headers.authorization, "Bearer x")
    transport.close(undefined)
    await target.close()
  })

  it("a refused post fails its message; the end of the stream is the target's death", async () => {
    const target = await begin(
      sse((stream, body, response) => {
        if (body.includes("2")) stream.end()
        response.writeHead(400).end("bad")
      }),
      { protocol: "sse", path: "/sse" }
    )
    const { transport, ends, deaths } = target.connect()
    transport.send(outgoing(1))
    await until("the refusal", () => ends.length > 0)
    assert.strictEqual((ends[0]![1] as { status: number }).status, 400)
    transport.send(outgoing(2))
    await until("the death", () => deaths.length > 0)
    assert.strictEqual(deaths[0]?.message, "upstream closed on receive")
    await target.close()
  })

  it("an endpoint elsewhere, or no stream at all, is the target's death", async () => {
    const elsewhere = await begin(
      sse(() => {}, "http://elsewhere.example/m"),
      { protocol: "sse", path: "/sse" }
    )
    const html = await begin((_, response) => response.end("<html>"), { protocol: "sse", path: "/sse" })
    const refusing = await begin((_, response) => response.writeHead(403).end(), { protocol: "sse", path: "/sse" })
    for (const [target, message] of [
      [elsewhere, "upstream named an endpoint of another origin"],
      [html, "unexpected content type"],
      [refusing, "upstream answered with status 403"]
    ] as const) {
      const { transport, deaths } = target.connect()
      transport.send(outgoing(1))
      await until(message, () => deaths.length > 0)
      assert.strictEqual(deaths[0]?.message, message)
      await target.close()
    }
  })

  it("keeps what waits for the endpoint up to a limit", async () => {
    const handlers: Array<() => void> = []
    const target = await begin(
      (request, response) => {
        if (request.method === "POST") return response.writeHead(202).end()
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
        handlers.push(() => response.write("event: endpoint\ndata: /messages\n\n"))
      },
      { protocol: "sse", path: "/sse" },
      { queuedChars: 2 * outgoing(1).message.length }
    )
    const { transport, ends } = target.connect()
    for (const stream of [1, 2, 3, 4]) transport.send(outgoing(stream, undefined, false))
    const notTaken = { _tag: "TargetBusy", status: 503, message: "upstream does not take its messages" } as const
    assert.deepStrictEqual(ends.splice(0), [
      [3, notTaken],
      [4, notTaken]
    ])
    await until("the stream", () => handlers.length > 0)
    handlers[0]!()
    await until("what waited", () => ends.length === 2)
    assert.deepStrictEqual(target.seen.map(({ body }) => body).sort(), ["", '{"stream":1}', '{"stream":2}'])
    transport.close(undefined)
    await target.close()
  })

  it.effect("a target that names no endpoint in time is dead, and no other", () =>
    Effect.gen(function* () {
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      const endpoint = { protocol: "sse", path: "/sse" } as const
      const start = (handler: Handler) => Effect.promise(() => begin(handler, endpoint, { endpointMillis: 3_000 }, run))
      const silent = yield* start((_, response) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
      )
      const naming = yield* start(sse((_stream, _body, response) => response.writeHead(202).end()))
      const [dying, closed, living] = [silent.connect(), silent.connect(), naming.connect()]
      for (const { transport } of [dying, closed, living]) transport.send(outgoing(1, undefined, false))
      yield* Effect.promise(() => until("the endpoint", () => living.ends.length > 0))
      closed.transport.close(undefined)
      yield* TestClock.adjust(2_999)
      assert.deepStrictEqual(dying.deaths, [])
      yield* TestClock.adjust(1)
      const late = { _tag: "TargetTimeout", status: 504, message: "upstream named no endpoint in time" }
      assert.deepStrictEqual(dying.deaths, [late])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([closed.deaths, living.deaths], [[], []])
      living.transport.close(undefined)
      yield* Effect.promise(() => Promise.all([silent.close(), naming.close()]))
    })
  )
})
